// Stages: what each used, stacked by pass and by what was used beside operations. They make the whole run.

/** What is shown where the program names no stages. */
const WITHOUT_STAGES = "the run";
/** What stages used beside operations. */
const BESIDE = [["between", "between operations", "no-operation"], ["outside", "outside recorded steps", "no-step"]];

function stages() {
  const made = section("stages", "Stages");
  if (data.stages.length === 0) {
    made.append(nothing("No operation was charged with energy."));
    return;
  }
  const sum = (stage) => stage.passes.reduce((all, part) => all + part, stage.between + stage.outside);
  const longest = Math.max(...data.stages.map((stage) => sum(stage) + (stage.sd ?? 0)));
  const part = (value) => `${((100 * value) / longest).toFixed(2)}%`;
  const row = (stage) => element("li", { "data-stage": stage.name, "data-joules": sum(stage), "data-sd": stage.sd },
    element("span", { class: "path" }, stage.name || WITHOUT_STAGES),
    element("span", { class: "track" },
      ...stage.passes.map((energy, pass) => (energy > 0 ? element("span", {
        class: `bar ${PASSES[pass]}`, style: { width: part(energy) }, tabindex: 0, role: "img",
        "aria-label": `${PASSES[pass]}: ${joules(energy)}`,
        ...tooltip.on(() => [`${stage.name || WITHOUT_STAGES}, ${PASSES[pass]}`, joules(energy), percent(energy / sum(stage)),
          stage.passes_sd[pass] === null ? "" : `± ${joules(stage.passes_sd[pass])} over ${data.runs} runs`].filter(Boolean)),
      }) : null)),
      ...BESIDE.map(([kind, name, colour]) => (stage[kind] > 0 ? element("span", {
        class: `bar ${colour}`, style: { width: part(stage[kind]) }, tabindex: 0, role: "img", "aria-label": `${name}: ${joules(stage[kind])}`,
        ...tooltip.on(() => [`${stage.name || WITHOUT_STAGES}, ${name}`, joules(stage[kind]), percent(stage[kind] / sum(stage))]),
      }) : null)),
      stage.sd === null ? null : element("span", { class: "whisker", style: { left: part(Math.max(0, sum(stage) - stage.sd)), width: part(2 * stage.sd) } })),
    element("span", { class: "figure" }, joules(sum(stage)), stage.sd === null ? "" : ` ± ${joules(stage.sd)}`));
  made.append(
    element("p", {}, `Stages make the whole run, ${joules(data.stages.reduce((all, stage) => all + sum(stage), 0))}.`),
    element("p", { class: "legend" }, ...usedPasses.map((pass) => element("span", { class: `key ${pass}` }, pass)),
      ...BESIDE.filter(([kind]) => data.stages.some((stage) => stage[kind] > 0)).map(([, name, colour]) => element("span", { class: `key ${colour}` }, name))),
    element("div", { class: "bars" }, element("ol", {}, ...data.stages.map(row))));
}
