// Power over time: the whole run with its stages and steps, or one step with the moments of the chosen layer. The pointer and the
// arrow keys read values; every device is a track, and all zoom as one.

function timeline() {
  const made = section("timeline", "Power over time");
  if (data.power.run.length === 0) {
    made.append(nothing("No power over time is known."));
    return;
  }
  const step = data.power.step;
  const chosen = () => state.time;
  const range = { from: 0, to: 1 };
  // The time that is read, as a part of all.
  let cursor = null;
  const charts = element("div", { class: "charts", tabindex: 0, role: "application", "aria-label": "Power over time. Arrow keys read values, with Shift they move; plus and minus zoom, 0 shows all.", "aria-describedby": "readout" });
  const readout = element("p", { id: "readout", role: "status" });
  const about = element("p", { class: "hint" });
  const move = (from, to) => {
    const width = Math.max(1e-4, Math.min(1, to - from));
    range.from = Math.min(Math.max(0, from), 1 - width);
    range.to = range.from + width;
    draw();
  };
  const zoom = (factor, middle = cursor === null ? 0.5 : (cursor - range.from) / (range.to - range.from)) => {
    const width = Math.min(1, (range.to - range.from) * factor);
    const from = range.from + middle * (range.to - range.from - width);
    move(from, from + width);
  };
  const legend = element("p", { class: "legend" }, ...legendKeys());
  const button = (text, label, act) => element("button", { type: "button", "aria-label": label, onclick: act }, text);
  const times = step ? choice("Time", "data-time", [["run", "the whole run"], ["step", stepTitle(step.name)]], chosen(), (time) => go({ time })) : null;
  made.append(element("div", { class: "bar" }, times,
    element("div", { class: "choice", role: "group", "aria-label": "Zoom" }, button("−", "zoom out", () => zoom(2)), button("+", "zoom in", () => zoom(0.5)), button("all", "show all", () => move(0, 1)))),
  readout, charts, legend, about);
  let shown = null;
  const draw = () => {
    shown = timesOf(chosen());
    const width = paperWidth ?? charts.clientWidth;
    const spans = chosen() === "step" ? momentsOf(state.layer, 0, shown.length) : shownSpans(shown.length);
    const groups = byDevice(shown.tracks);
    charts.replaceChildren(...groups.map((group, at) => chart(group, shown, range, spans, width, { isFirst: at === 0, isTall: groups.length < 3 })));
    about.textContent = wordsOf(chosen());
    legend.hidden = chosen() === "step" || STRETCHES.length === 0;
    readAt(cursor);
  };
  const readAt = (part) => {
    cursor = part;
    readout.textContent = part === null ? "Point at the chart, or move with arrow keys, to read values." : reading(part, shown);
    readout.classList.toggle("quiet", part === null);
    for (const picture of charts.querySelectorAll("svg")) {
      const line = picture.querySelector(".cursor");
      const isSeen = part !== null && part >= range.from && part <= range.to;
      line.style.display = isSeen ? "" : "none";
      if (isSeen) line.setAttribute("transform", `translate(${LEFT + ((part - range.from) / (range.to - range.from)) * Number(picture.dataset.room)} 0)`);
    }
  };
  charts.addEventListener("keydown", (event) => {
    const width = range.to - range.from;
    const sign = event.key === "ArrowLeft" ? -1 : 1;
    if (event.key === "+") zoom(0.5);
    else if (event.key === "-") zoom(2);
    else if (event.key === "0") move(0, 1);
    else if (event.key === "Escape") readAt(null);
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      if (event.shiftKey) move(range.from + sign * width / 4, range.to + sign * width / 4);
      else {
        const piece = Math.max(width / 200, shown.tracks[0].piece / shown.length);
        const at = Math.min(1, Math.max(0, (cursor ?? range.from) + (cursor === null ? 0 : sign * piece)));
        if (at < range.from || at > range.to) move(at - width / 2, at + width / 2);
        readAt(at);
      }
    } else return;
    event.preventDefault();
  });
  readsPointer(charts, range, readAt, (from, to) => move(from, to));
  onWidth(charts, draw);
  follow(["layer", "time", "part", "stage"], () => {
    times?.press(chosen());
    draw();
  });
  follow(["time"], () => { cursor = null; move(0, 1); });
}

/** `train, pre-training` as `a train step, pre-training`. */
function stepTitle(name) {
  const [phase, ...stage] = name.split(", ");
  return [phase ? `${article(phase)} step` : "a step", ...stage].join(", ");
}

/** The tracks of the run or of a step, and how long it lasts. */
function timesOf(what) {
  if (what === "step") return { what, tracks: data.power.step.tracks, length: data.power.step.seconds };
  const tracks = data.power.run;
  return { what, tracks, length: Math.max(...tracks.map((track) => track.piece * track.watts.length)) };
}

/** What a reader should know about what is shown. */
function wordsOf(what) {
  const step = data.power.step;
  const layer = state.layer === ROOT ? null : pathOf(state.layer);
  if (what === "step") {
    const runs = momentsOf(state.layer, 0, step.seconds).length;
    return `The mean of ${count(step.steps)} steps at the same time after their beginning.`
      + (layer ? ` Shaded: ${runs ? `when ${layer} runs, in a typical step.` : `${layer} does not run in this step.`}` : " Choose a layer to see when it runs.")
      + (step.left_out ? ` ${count(step.left_out)} short moments are not shown.` : "");
  }
  const has = data.power.run.some((track) => !track.ours);
  return `Each point is the mean over its time.${has ? " Thin lines are the whole device." : ""}`
    + (layer && step ? ` When ${layer} runs is known of one step, at ${seconds(step.at)}; zoom in there, or choose the step.` : "");
}

/** What is shaded in the run: the chosen part or stage, or the moments of the chosen layer in the one step that is known. */
function shownSpans(length) {
  const spans = [];
  const add = (from, to) => {
    const last = spans.at(-1);
    if (last && from <= last[1] + 1e-6) last[1] = Math.max(last[1], to);
    else spans.push([from, to]);
  };
  if (state.part) STRETCHES.filter((stretch) => stretch.segment === state.part).forEach((stretch) => add(stretch.from / length, stretch.to / length));
  else if (state.stage) stageSpans(length).filter((span) => span.name === state.stage).forEach((span) => add(span.from / length, span.to / length));
  else if (data.power.step) return momentsOf(state.layer, data.power.step.at, length);
  return spans;
}

/** When the parts of the program were, in seconds. */
const STRETCHES = (() => {
  const marks = data.power.marks;
  let at = 0;
  return marks.start.map((start, index) => {
    const from = at + start;
    at = from + marks.lasts[index];
    return { from: from / 1e6, to: at / 1e6, ...marks.parts[marks.part[index]], step: marks.step[index], isStep: marks.parts[marks.part[index]].phase !== "" };
  });
})();

/** When stages were, in seconds. */
function stageSpans(length) {
  const { stages } = data.power.marks;
  return stages.map(([name, from], at) => ({ name, from, to: stages[at + 1]?.[1] ?? length }));
}

/** What there is at a time: the power of each device, the stage, the step. */
function reading(part, { what, tracks, length }) {
  const time = part * length;
  const value = (track) => track.watts[Math.min(track.watts.length - 1, Math.floor(time / track.piece))];
  const several = new Set(tracks.map((track) => track.device)).size > 1;
  const powers = tracks.map((track) => {
    const [power, whose] = [value(track), what === "step" || track.ours ? "this program" : "whole device"];
    return `${power === null || power === undefined ? "unknown" : watts(power)} ${several ? `${track.device} ` : ""}${whose}`;
  });
  const words = [seconds(time), ...powers];
  if (what === "run") {
    const stage = stageSpans(length).find((span) => span.from <= time && time < span.to);
    const stretch = STRETCHES.find((known) => known.from <= time && time < known.to);
    if (stage) words.push(stage.name || BEFORE_STAGES);
    if (stretch?.isStep) words.push(`${stretch.phase} step${stretch.step === NO_STEP ? "" : ` ${count(stretch.step)}`}, ${stretch.recorded ? "recorded" : "not recorded"}`);
    else if (stretch) words.push(data.bar.find((known) => known.segment === stretch.segment)?.name ?? "operations");
  } else if (state.layer !== ROOT) {
    const isIn = momentsOf(state.layer, 0, length).some(([from, to]) => from <= part && part < to);
    words.push(isIn ? `${tree.name[state.layer]} runs` : `${tree.name[state.layer]} does not run`);
  }
  return words.join(" · ");
}

/** The number of a step that has none. */
const NO_STEP = 0xffffffff;

/** When a layer ran within the step, as parts of a length, joined where they touch; the step begins at `begin`. */
function momentsOf(layer, begin, length) {
  if (!data.power.step || layer === ROOT) return [];
  const { start, lasts, node } = data.power.step;
  const spans = [];
  let at = 0;
  for (let index = 0; index < node.length; index += 1) {
    at += start[index];
    if (node[index] < layer || node[index] >= endOf[layer]) continue;
    const [from, to] = [(begin + at / 1e6) / length, (begin + (at + lasts[index]) / 1e6) / length];
    const last = spans.at(-1);
    if (last && from <= last[1] + 0.0005 * (data.power.step.seconds / length)) last[1] = Math.max(last[1], to);
    else spans.push([from, to]);
  }
  return spans;
}

/** Tracks of one device, the program's own first. */
function byDevice(tracks) {
  const groups = new Map();
  for (const track of tracks) groups.set(track.device, [...(groups.get(track.device) ?? []), track]);
  return [...groups.values()];
}
