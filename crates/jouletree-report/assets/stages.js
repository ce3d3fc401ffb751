// Stages and steps: what each stage used, what one step and one sample take, warm-up apart, recorded beside unrecorded.

/** What is shown where the program names no stages. */
const WITHOUT_STAGES = "the run";
const BEFORE_STAGES = "before the first stage";
/** What stages used beside operations. */
const BESIDE = [["between", "between operations", "between_operations"], ["outside", "outside recorded steps", "unrecorded_steps"]];

function stages() {
  const made = section("stages", "Stages and steps");
  if (!HAS_OPERATIONS) made.append(nothing("No operation was recorded, so there are no layers to show."));
  else if (data.stages.length === 0) made.append(nothing("No operation was charged with energy."));
  if (data.stages.length) made.append(stageBars());
  if (data.steps.length) made.append(...stepTable());
  if (data.windows.length) made.append(element("h3", {}, "Windows of the program"), windowTable());
  if (data.parts.length) made.append(element("details", {}, element("summary", {}, "All parts of the run"), partTable()));
}

const stageTitle = (name) => name || (STAGES.length ? BEFORE_STAGES : WITHOUT_STAGES);

function stageBars() {
  const sum = (stage) => stage.passes.reduce((all, part) => all + part, stage.between + stage.outside);
  const longest = Math.max(...data.stages.map((stage) => sum(stage) + (stage.sd ?? 0)));
  const part = (value) => `${((100 * value) / longest).toFixed(2)}%`;
  const piece = (stage, name, energy, colour, sd) => element("span", {
    class: `bar ${colour}`, "data-part": colour, style: { width: part(energy) },
    ...tooltip.on(() => [`${stageTitle(stage.name)}, ${name}`, joules(energy), `${percent(energy / sum(stage))} of the stage`,
      sd === null || sd === undefined ? null : `± ${joules(sd)} over ${data.runs} runs`].filter(Boolean)),
  });
  const row = (stage) => {
    const says = [...stage.passes.map((energy, pass) => [PASSES[pass], energy]), ...BESIDE.map(([kind, name]) => [name, stage[kind]])]
      .filter(([, energy]) => energy > 0).map(([name, energy]) => `${name} ${joules(energy)}`).join(", ");
    return element("li", { "data-stage": stage.name, "data-joules": sum(stage), "data-sd": stage.sd },
      stage.name
        ? element("button", { type: "button", class: "path", onclick: () => go({ stage: state.stage === stage.name ? "" : stage.name, part: "" }) }, stage.name)
        : element("span", { class: "path" }, stageTitle(stage.name)),
      element("span", { class: "track", role: "img", "aria-label": says },
        ...stage.passes.map((energy, pass) => (energy > 0 ? piece(stage, PASSES[pass], energy, PASSES[pass], stage.passes_sd[pass]) : null)),
        ...BESIDE.map(([kind, name, colour]) => (stage[kind] > 0 ? piece(stage, name, stage[kind], colour) : null)),
        stage.sd === null ? null : element("span", { class: "whisker", style: { left: part(Math.max(0, sum(stage) - stage.sd)), width: part(2 * stage.sd) } })),
      element("span", { class: "figure" }, joules(sum(stage)), stage.sd === null ? "" : ` ± ${joules(stage.sd)}`),
      element("span", { class: "share" }, percent(ofRun(sum(stage)))));
  };
  const rows = data.stages.map(row);
  // What is outside of recorded steps holds all parts that are neither a pass nor between operations.
  const isOff = (colour) => (state.part
    ? (state.part === "between_operations") !== (colour === "between_operations") || PASSES.includes(colour)
    : state.pass !== ALL && colour !== state.pass);
  follow(FILTERS, () => rows.forEach((made, at) => {
    made.querySelectorAll("[data-part]").forEach((piece) => piece.classList.toggle("faded", isOff(piece.dataset.part)));
    made.classList.toggle("off", Boolean(state.stage) && state.stage !== data.stages[at].name);
    made.querySelector("button")?.setAttribute("aria-pressed", String(state.stage === data.stages[at].name));
  }));
  return element("div", {},
    element("p", { class: "legend" }, ...usedPasses.map((pass) => element("span", { class: `key ${pass}` }, pass)),
      ...BESIDE.filter(([kind]) => data.stages.some((stage) => stage[kind] > 0)).map(([, name, colour]) => element("span", { class: `key ${colour}` }, name))),
    element("ol", { class: "bars stage-bars" }, ...rows));
}

/** Steps by stage and phase: joules of one step and of one sample, warm-up apart, recorded beside unrecorded. */
function stepTable() {
  const kinds = [["warm_up", "warm-up"], ["recorded", "recorded"], ["unrecorded", "not recorded"]];
  const shown = kinds.filter(([kind]) => data.steps.some((row) => row[kind].steps > 0));
  const hasSamples = data.steps.some((row) => shown.some(([kind]) => row[kind].samples > 0));
  const columns = ["joules a step", hasSamples ? "a sample" : null, "time", "steps"].filter(Boolean);
  const cells = (sum) => {
    if (sum.steps === 0) return columns.map((_, at) => element("td", { class: at ? "" : "first" }));
    return [
      element("td", { class: "first", "data-joules": sum.energy_j }, joules(sum.energy_j / sum.steps)),
      hasSamples ? element("td", {}, sum.samples ? joules(sum.energy_j / sum.samples) : "") : null,
      element("td", {}, seconds(sum.seconds / sum.steps)),
      element("td", {}, count(sum.steps)),
    ].filter(Boolean);
  };
  const title = (row) => [row.phase || "step", row.function ? `of ${row.function}` : ""].filter(Boolean).join(" ");
  const hasStages = STAGES.length > 0;
  const rows = data.steps.map((row) => element("tr", { "data-stage": row.stage, "data-phase": row.phase },
    element("th", { scope: "row" }, hasStages ? `${stageTitle(row.stage)} · ${title(row)}` : title(row)), ...shown.flatMap(([kind]) => cells(row[kind]))));
  const top = element("tr", {}, element("td"), ...shown.map(([, name]) => element("th", { scope: "colgroup", colspan: columns.length, class: "first" }, name)));
  const below = element("tr", {}, element("th", { scope: "col" }, hasStages ? "stage · step" : "step"),
    ...shown.flatMap(() => columns.map((name, at) => element("th", { scope: "col", class: at ? "" : "first" }, name))));
  follow(["stage"], () => rows.forEach((made, at) => { made.hidden = Boolean(state.stage) && data.steps[at].stage !== state.stage; }));
  const notes = [
    shown.some(([kind]) => kind === "warm_up") ? "Warm-up: the first steps, while they take longer than 1.5 times the median." : null,
    data.steps.some((row) => row.recorded.steps > 0 && row.unrecorded.steps > 0) ? "Recording operations may slow a step down: compare recorded steps with the others." : null,
    ...largest(data.phases.filter((phase) => phase.recorded < phase.steps && phase.factor !== null))
      .map((phase) => `All ${phase.phase} steps${phase.function ? ` of ${phase.function}` : ""} used ${phase.factor.toFixed(3)} times as much as the ${count(phase.recorded)} recorded ones.`),
  ].filter(Boolean);
  return [
    element("h3", {}, "One step, one sample"),
    wide(element("table", { id: "steps", class: "grouped" }, element("thead", {}, top, below), element("tbody", {}, ...rows)), "Joules of steps"),
    notes.length ? element("p", { class: "hint" }, notes.join(" ")) : "",
  ];
}

/** The phases that used most, in their order. */
function largest(phases) {
  const chosen = [...phases].sort((a, b) => b.energy_j - a.energy_j).slice(0, 4);
  return phases.filter((phase) => chosen.includes(phase));
}

/** The parts that make the whole run. */
function partTable() {
  const all = data.parts.reduce((sum, part) => sum + part.energy, 0);
  const row = (part) => element("tr", {}, element("th", { scope: "row" }, part.name),
    element("td", {}, joules(part.energy)), element("td", {}, percent(all > 0 ? part.energy / all : 0)),
    element("td", {}, part.operations > 0 ? joules(part.operations) : ""), element("td", {}, part.seconds === null ? "" : seconds(part.seconds)));
  return wide(element("table", { id: "parts" }, head([data.runs > 1 ? "part of the first run" : "part of the run", "energy", "of the run", "in operations", "time"]),
    element("tbody", {}, ...data.parts.map(row))), "Parts of the run");
}

function windowTable() {
  const row = (window) => element("tr", {}, element("th", { scope: "row" }, window.window),
    element("td", {}, count(window.count)), element("td", {}, joules(window.energy_j)),
    element("td", {}, joules(window.mean_j)), element("td", {}, seconds(window.seconds)));
  return wide(element("table", { id: "windows" }, head(["window", "count", "energy", "each", "time"]), element("tbody", {}, ...data.windows.map(row))), "Windows");
}
