// The headline: how much, how sure, measured or estimated, and what recording itself cost.

function headline() {
  const total = data.total;
  const made = section("headline", "Energy");
  document.title = `${joules(total.energy)} · ${data.title}`;
  made.prepend(element("h1", {}, data.title));
  if (data.devices.length === 0) {
    made.append(nothing("No energy is known: nothing was metered while this ran."));
    return;
  }
  const sure = expected(ROOT) ?? sureness(total.energy, total.sd);
  const card = (name, value, ...more) => element("div", { class: "card" },
    element("span", { class: "label" }, name), element("span", { class: "value" }, value),
    ...more.filter(Boolean).map((line) => element("span", { class: "note" }, line)));
  const parts = [
    card("energy", joules(total.energy), kindMark(total.kind), sure, kilowattHours(total.energy)),
  ];
  if (total.seconds > 0) parts.push(card("mean power of the run", watts(total.energy / total.seconds), `over ${seconds(total.seconds)}`));
  for (const phase of largest(data.phases)) {
    parts.push(card(`${article(phase.phase || "run")} step${phase.function ? ` of ${phase.function}` : ""}`, joules(phase.step_j),
      `${count(phase.steps)} steps${phase.processes > 1 ? ` in each of ${count(phase.processes)} processes` : ""}, ${seconds(phase.seconds / phase.steps)} each`,
      phase.sample_j === null ? null : `${joules(phase.sample_j)} a sample`));
  }
  if (tree.energy[ROOT] > 0) {
    parts.push(card("in operations", percent(total.attributed / total.energy), "of the run",
      total.idle > 0 ? `${joules(total.idle)} between operations` : null,
      total.unrecorded > 0 ? `${joules(total.unrecorded)} outside recorded steps` : null));
  }
  if (total.monitor !== null) {
    parts.push(card("overhead of jouletree", joules(total.monitor), "not included", percent(total.monitor / total.energy)));
  }
  made.append(element("p", { id: "whole" }, `${joules(data.whole.energy_j)}: ${data.sentence}.`));
  made.append(element("div", { class: "cards" }, ...parts));
  data.trust_lines.forEach((line, index) => made.append(element("p", { class: "trust" }, index ? line : `Trust: ${line}`)));
  if (data.runs > 1) made.append(element("p", {}, `Energies are means over ${data.runs} runs; ± is one standard deviation. Power over time is that of the first run.`));
  const partly = largest(data.phases.filter((phase) => phase.recorded < phase.steps));
  if (partly.length) {
    const each = (phase) => `${count(phase.recorded)} of ${count(phase.steps)} ${phase.phase} steps${phase.function ? ` of ${phase.function}` : ""}`
      + (phase.factor === null ? "" : ` (all of them used ${phase.factor.toFixed(3)} times as much)`);
    made.append(element("p", {}, `Operations were recorded in ${partly.map(each).join(", ")}. Layers and operations show what these used.`));
  }
  if (data.parts.length) made.append(partTable());
  made.append(deviceTable());
  if (data.windows.length) made.append(windowTable());
}

/** The phases that used most, in their order. */
function largest(phases) {
  const chosen = [...phases].sort((a, b) => b.energy_j - a.energy_j).slice(0, 8);
  return phases.filter((phase) => chosen.includes(phase));
}

/** A word with its article: `an evaluate`, `a train`. */
const article = (word) => `${/^[aeiou]/i.test(word) ? "an" : "a"} ${word}`;

/** The parts that make the whole run. */
function partTable() {
  const all = data.parts.reduce((sum, [, energy]) => sum + energy, 0);
  const row = ([name, energy, operations, time]) => element("tr", {}, element("th", { scope: "row" }, name),
    element("td", {}, joules(energy)), element("td", {}, percent(all > 0 ? energy / all : 0)),
    element("td", {}, operations > 0 ? joules(operations) : ""), element("td", {}, time === null ? "" : seconds(time)));
  return wide(element("table", { id: "parts" }, head([data.runs > 1 ? "part of the first run" : "part of the run", "energy", "share", "in operations", "time"]),
    element("tbody", {}, ...data.parts.map(row))));
}

function deviceTable() {
  const row = (device) => element("tr", {},
    element("th", { scope: "row" }, device.device, " ", kindMark(device.kind)),
    element("td", {}, joules(device.energy)),
    element("td", {}, device.bounds ? `${joules(device.energy * device.bounds[0])} … ${joules(device.energy * device.bounds[1])}` : ""),
    element("td", {}, device.seconds > 0 ? watts(device.energy / device.seconds) : ""),
    element("td", {}, joules(device.attributed)), element("td", {}, joules(device.idle)), element("td", {}, joules(device.unrecorded)));
  return wide(element("table", {},
    head(["device", "energy", "95 %", "mean power", "operations", "between operations", "outside recorded steps"]),
    element("tbody", {}, ...data.devices.map(row))));
}

function windowTable() {
  const row = (window) => element("tr", {}, element("th", { scope: "row" }, window.window),
    element("td", {}, count(window.count)), element("td", {}, joules(window.energy_j)),
    element("td", {}, joules(window.mean_j)), element("td", {}, seconds(window.seconds)));
  return wide(element("table", {}, head(["window", "count", "energy", "each", "time"]),
    element("tbody", {}, ...data.windows.map(row))));
}

const head = (names) => element("thead", {}, element("tr", {}, ...names.map((name) => element("th", { scope: "col" }, name))));

/** Something that may be wider than the page and then scrolls by itself. */
const wide = (content) => element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "table" }, content);
