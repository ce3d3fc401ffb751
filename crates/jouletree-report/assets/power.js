// Power over time: a step with the moments of one layer, or the whole run. Every device is a track, and all zoom as one.

const TRACK = 96;

function power() {
  const made = section("power", "Power");
  if (data.power.run.length === 0) {
    made.append(nothing("No power over time is known."));
    return;
  }
  const step = data.power.step;
  const view = { what: step ? "step" : "run", from: 0, to: 1, layer: null };
  const charts = element("div", { class: "charts", tabindex: 0, role: "group", "aria-label": "Power over time; plus and minus zoom, arrow keys move, 0 shows all" });
  const told = element("p", { class: "told" });
  const layer = step ? layerField((node) => { view.layer = node; draw(); }) : null;
  const zoom = (factor, middle = 0.5) => {
    const width = Math.min(1, (view.to - view.from) * factor);
    const from = view.from + middle * (view.to - view.from - width);
    move(from, from + width);
  };
  const move = (from, to) => {
    const width = Math.max(1e-4, Math.min(1, to - from));
    view.from = Math.min(Math.max(0, from), 1 - width);
    view.to = view.from + width;
    draw();
  };
  const button = (text, label, act) => element("button", { type: "button", "aria-label": label, onclick: act }, text);
  const options = [...(step ? [["step", step.name ? `${article(step.name)} step` : "a step"]] : []), ["run", "the whole run"]];
  made.append(element("div", { class: "bar" },
    choice("Time", "data-time", options, view.what, (what) => { view.what = what; move(0, 1); }),
    layer,
    element("div", { class: "choice" }, button("−", "zoom out", () => zoom(2)), button("+", "zoom in", () => zoom(0.5)), button("all", "show all", () => move(0, 1)))),
  told, charts);
  charts.addEventListener("keydown", (event) => {
    const width = view.to - view.from;
    const act = { "+": () => zoom(0.5), "-": () => zoom(2), 0: () => move(0, 1),
      ArrowLeft: () => move(view.from - width / 4, view.to - width / 4), ArrowRight: () => move(view.from + width / 4, view.to + width / 4) }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  dragToZoom(charts, (from, to) => {
    const width = view.to - view.from;
    move(view.from + from * width, view.from + to * width);
  });
  const draw = () => {
    const tracks = view.what === "step" ? step.tracks : data.power.run;
    const length = view.what === "step" ? step.seconds : Math.max(...tracks.map((track) => track.piece * track.watts.length));
    told.textContent = view.what === "step"
      ? `The mean of ${count(step.steps)} steps at the same time after their beginning; the shaded moments are those of the layer in one step of usual length.${step.left_out ? ` ${count(step.left_out)} short moments are not shown.` : ""}`
      : "Each point is the mean over its time; thin lines are the whole device.";
    const marks = view.what === "step" && view.layer !== null ? momentsOf(view.layer, length) : [];
    charts.replaceChildren(...byDevice(tracks).map((group) => chart(group, length, view, marks, charts.clientWidth)));
  };
  chosen.listeners.push(() => { if (layer && chosen.node !== ROOT) layer.choose(chosen.node); });
  new ResizeObserver(draw).observe(charts);
  if (layer) layer.choose(usualLayer());
  draw();
}

/** Tracks of one device, the program's own first. */
function byDevice(tracks) {
  const groups = new Map();
  for (const track of tracks) groups.set(track.device, [...(groups.get(track.device) ?? []), track]);
  return [...groups.values()];
}

/** The largest layer that is not everything. */
function usualLayer() {
  let node = ROOT;
  while (childrenOf[node].length && tree.energy[node] > 0.6 * tree.energy[ROOT]) [node] = childrenOf[node];
  return node;
}

/** A field in which a layer is chosen by its path. */
function layerField(choose) {
  const layers = tree.name.map((_, node) => node).filter((node) => node !== ROOT && tree.composite[node]);
  layers.sort((a, b) => tree.energy[b] - tree.energy[a]);
  const known = new Map(tree.name.map((_, node) => [pathOf(node), node]));
  const field = element("input", { type: "search", id: "power-layer", list: "power-layers", placeholder: "layer to highlight", "aria-label": "Layer to highlight", autocomplete: "off" });
  field.addEventListener("input", () => { if (field.value === "" || known.has(field.value)) choose(field.value === "" ? null : known.get(field.value)); });
  const made = element("label", { class: "field" }, field,
    element("datalist", { id: "power-layers" }, ...layers.slice(0, 300).map((node) => element("option", { value: pathOf(node) }))));
  made.choose = (node) => { field.value = pathOf(node); choose(node); };
  return made;
}

/** When a layer ran within the step, as parts of its length, joined where they touch. */
function momentsOf(layer, length) {
  const { start, lasts, node } = data.power.step;
  const inside = new Set([layer]);
  // Children come after their parents.
  for (let other = layer + 1; other < tree.name.length; other += 1) if (inside.has(tree.parent[other])) inside.add(other);
  const marks = [];
  let at = 0;
  for (let index = 0; index < node.length; index += 1) {
    at += start[index];
    if (!inside.has(node[index])) continue;
    const [from, to] = [at / 1e6 / length, (at + lasts[index]) / 1e6 / length];
    const last = marks.at(-1);
    if (last && from <= last[1] + 0.0005) last[1] = Math.max(last[1], to);
    else marks.push([from, to]);
  }
  return marks;
}

function chart(tracks, length, view, marks, width) {
  const left = 58;
  const room = Math.max(100, width - left - 8);
  const height = TRACK;
  const most = ceiling(Math.max(1e-9, ...tracks.flatMap((track) => track.watts.map((value) => value ?? 0))));
  const x = (time) => left + ((time / length - view.from) / (view.to - view.from)) * room;
  const y = (value) => 8 + (1 - value / most) * (height - 16);
  const picture = drawn("svg", { width: left + room + 8, height: height + 22, class: "chart", role: "img", "aria-label": `Power of ${tracks[0].device}` },
    drawn("clipPath", { id: `clip-${tracks[0].device}` }, drawn("rect", { x: left, y: 0, width: room, height })));
  for (const value of [0, most / 2, most]) {
    picture.append(drawn("line", { class: "grid", x1: left, x2: left + room, y1: y(value), y2: y(value) }),
      drawn("text", { class: "tick", x: left - 6, y: y(value) + 4, "text-anchor": "end" }, watts(value)));
  }
  const plot = drawn("g", { "clip-path": `url(#clip-${tracks[0].device})` });
  for (const [from, to] of marks) {
    if (to < view.from || from > view.to) continue;
    plot.append(drawn("rect", { class: "moment", x: x(from * length), width: Math.max(1, x(to * length) - x(from * length)), y: 8, height: height - 16 }));
  }
  for (const track of [...tracks].reverse()) {
    plot.append(drawn("path", { class: track.ours ? "line ours" : "line whole", d: stairs(track, x, y, view, length) }));
  }
  picture.append(plot);
  for (let tick = 0; tick <= 4; tick += 1) {
    const time = (view.from + ((view.to - view.from) * tick) / 4) * length;
    picture.append(drawn("text", { class: "tick", x: left + (room * tick) / 4, y: height + 14, "text-anchor": tick === 4 ? "end" : tick ? "middle" : "start" }, seconds(time)));
  }
  return element("figure", {}, element("figcaption", {}, tracks[0].device, " ", kindMark(tracks[0].kind)), picture);
}

/** The line of a track; it is broken where nothing is known. */
function stairs(track, x, y, view, length) {
  const first = Math.max(0, Math.floor((view.from * length) / track.piece) - 1);
  const last = Math.min(track.watts.length, Math.ceil((view.to * length) / track.piece) + 1);
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

/** A stretch that was drawn with the pointer is shown alone. */
function dragToZoom(charts, show) {
  let begun = null;
  const part = (event) => {
    const at = charts.querySelector("svg").getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - at.left - 58) / (at.width - 66)));
  };
  charts.addEventListener("pointerdown", (event) => { begun = event.pointerType === "mouse" ? part(event) : null; });
  charts.addEventListener("pointerup", (event) => {
    if (begun === null) return;
    const [from, to] = [Math.min(begun, part(event)), Math.max(begun, part(event))];
    begun = null;
    if (to - from > 0.01) show(from, to);
  });
}
