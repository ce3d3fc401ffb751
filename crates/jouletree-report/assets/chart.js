// One track of power over time: axes, lines, marks of stages and steps, and how the pointer reads and zooms it.

const LEFT = 62;
const RIGHT = 8;
const TALL = 200;
const LOW = 110;
/** The heights of the strips of stages and of steps. */
const STAGE_STRIP = 18;
const STEP_STRIP = 12;

function chart(tracks, { what, length }, range, spans, width, { isFirst, isTall }) {
  const room = Math.max(100, width - LEFT - RIGHT);
  const hasStages = what === "run" && isFirst && STAGES.length > 0;
  const hasSteps = what === "run" && STRETCHES.length > 0;
  const above = hasStages ? STAGE_STRIP : 2;
  const tall = isTall ? TALL : LOW;
  const below = above + tall;
  const height = below + (hasSteps ? STEP_STRIP + 4 : 0) + 20;
  const most = ceiling(Math.max(1e-9, ...tracks.flatMap((track) => track.watts.map((value) => value ?? 0))));
  const x = (part) => LEFT + ((part - range.from) / (range.to - range.from)) * room;
  const y = (value) => above + 6 + (1 - value / most) * (tall - 12);
  const clip = `clip-${tracks[0].device.replaceAll(/\W/g, "-")}`;
  const picture = drawn("svg", { width: LEFT + room + RIGHT, height, viewBox: `0 0 ${LEFT + room + RIGHT} ${height}`, class: "chart", role: "img", "aria-label": `Power of ${tracks[0].device}`, "data-room": room },
    drawn("clipPath", { id: clip }, drawn("rect", { x: LEFT, y: 0, width: room, height })));
  for (const value of [0, most / 2, most]) {
    picture.append(drawn("line", { class: "grid", x1: LEFT, x2: LEFT + room, y1: y(value), y2: y(value) }),
      drawn("text", { class: "tick", x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, watts(value)));
  }
  const plot = drawn("g", { "clip-path": `url(#${clip})` });
  const box = (from, to, attributes) => {
    if (to < range.from || from > range.to) return;
    plot.append(drawn("rect", { x: x(from).toFixed(1), width: Math.max(0.7, x(to) - x(from)).toFixed(1), ...attributes }));
  };
  for (const [from, to] of spans) box(from, to, { class: "moment", y: above, height: tall });
  for (const track of [...tracks].reverse()) {
    plot.append(drawn("path", { class: track.ours ? "line ours" : "line device", d: stairs(track, (time) => x(time / length), y, range, length) }));
  }
  if (hasStages) markStages(picture, plot, x, length, below, room);
  if (hasSteps) markSteps(plot, box, x, length, below + 3);
  plot.append(drawn("g", { class: "cursor", style: { display: "none" } }, drawn("line", { x1: 0, x2: 0, y1: above, y2: below + (hasSteps ? STEP_STRIP + 3 : 0) })));
  picture.append(plot);
  for (let tick = 0; tick <= 4; tick += 1) {
    const time = (range.from + ((range.to - range.from) * tick) / 4) * length;
    picture.append(drawn("text", { class: "tick", x: LEFT + (room * tick) / 4, y: height - 5, "text-anchor": tick === 4 ? "end" : tick ? "middle" : "start" }, seconds(time)));
  }
  return element("figure", {}, element("figcaption", {}, tracks[0].device, " ", kindMark(tracks[0].kind)), picture);
}

/** The borders and names of stages. */
function markStages(picture, plot, x, length, below, room) {
  for (const { name, from, to } of stageSpans(length)) {
    const [begin, end] = [Math.max(LEFT, x(from / length)), Math.min(LEFT + room, x(to / length))];
    if (end <= begin) continue;
    plot.append(drawn("line", { class: "border", x1: begin, x2: begin, y1: 2, y2: below }));
    const letters = Math.floor((end - begin - 8) / 6.5);
    if (letters >= 4) plot.append(drawn("text", { class: "tick", x: begin + 5, y: 12 }, shortened(name || BEFORE_STAGES, letters)));
  }
}

/** What the program did: a strip of recorded steps, other steps, start-up and the rest, in the colours of the bar of all joules. */
function markSteps(plot, box, x, length, top) {
  for (const stretch of STRETCHES) {
    // A gap between steps that are wide enough to be seen.
    const isWide = stretch.isStep && x(stretch.to / length) - x(stretch.from / length) > 4;
    box(stretch.from / length, stretch.to / length, { class: `strip ${colourOf(stretch)}${isWide ? " step" : ""}`, y: top, height: STEP_STRIP });
  }
}

/** The keys of the strip of steps. */
function legendKeys() {
  const used = new Set(STRETCHES.map(colourOf));
  const names = [["recorded", STRETCHES.some((stretch) => stretch.isStep) ? "recorded steps" : "operations"], ...data.bar.map((segment) => [segment.segment, segment.name])];
  return names.filter(([name]) => used.has(name)).map(([name, text]) => element("span", { class: `key ${name}` }, text));
}

/** The colour of a stretch: that of its segment, and one for recorded steps, which hold several. */
const colourOf = (stretch) => ((stretch.isStep && stretch.recorded) || !stretch.segment ? "recorded" : stretch.segment);

/** The line of a track; it is broken where nothing is known. */
function stairs(track, x, y, range, length) {
  const first = Math.max(0, Math.floor((range.from * length) / track.piece) - 1);
  const last = Math.min(track.watts.length, Math.ceil((range.to * length) / track.piece) + 1);
  let way = "";
  let isDown = false;
  for (let piece = first; piece < last; piece += 1) {
    const value = track.watts[piece];
    if (value === null) {
      isDown = false;
      continue;
    }
    way += `${isDown ? "L" : "M"}${x(piece * track.piece).toFixed(1)} ${y(value).toFixed(1)}H${x((piece + 1) * track.piece).toFixed(1)}`;
    isDown = true;
  }
  return way;
}

/** The next round number. */
function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((step) => step >= value * 1.02) ?? 10 * power;
}

/** The pointer reads the value below it; a stretch that is drawn with the mouse is shown alone. */
function readsPointer(charts, range, read, show) {
  let begun = null;
  const part = (event) => {
    const picture = charts.querySelector("svg");
    if (!picture) return null;
    const at = picture.getBoundingClientRect();
    const inside = (event.clientX - at.left - LEFT) / Number(picture.dataset.room);
    return range.from + Math.min(1, Math.max(0, inside)) * (range.to - range.from);
  };
  charts.addEventListener("pointermove", (event) => read(part(event)));
  charts.addEventListener("pointerleave", () => { begun = null; if (document.activeElement !== charts) read(null); });
  charts.addEventListener("pointerdown", (event) => { begun = event.pointerType === "mouse" ? part(event) : null; read(part(event)); });
  charts.addEventListener("pointerup", (event) => {
    if (begun === null) return;
    const [from, to] = [Math.min(begun, part(event)), Math.max(begun, part(event))];
    begun = null;
    if (to - from > 0.01 * (range.to - range.from)) show(from, to);
  });
}
