// Stages: what each used, stacked by pass.

/** What is summed where the program names no stages: not the run, but what operations were charged with. */
const WITHOUT_STAGES = "all recorded operations";

function stages() {
  const made = section("stages", "Stages");
  if (data.stages.length === 0) {
    made.append(nothing("No operation was charged with energy."));
    return;
  }
  const sum = (stage) => stage.passes.reduce((all, part) => all + part, 0);
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
      stage.sd === null ? null : element("span", { class: "whisker", style: { left: part(Math.max(0, sum(stage) - stage.sd)), width: part(2 * stage.sd) } })),
    element("span", { class: "figure" }, joules(sum(stage)), stage.sd === null ? "" : ` ± ${joules(stage.sd)}`));
  made.append(
    element("p", {}, `What operations were charged with, ${joules(data.stages.reduce((all, stage) => all + sum(stage), 0))} of ${joules(data.total.energy)}.`),
    element("p", { class: "legend" }, ...usedPasses.map((pass) => element("span", { class: `key ${pass}` }, pass))),
    element("div", { class: "bars" }, element("ol", {}, ...data.stages.map(row))));
}
