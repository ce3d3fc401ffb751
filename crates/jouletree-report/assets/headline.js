// The answer first: how much, where, how far it can be trusted, and what is largest.

function headline() {
  const total = data.total;
  const made = section("headline", "Energy");
  document.title = `${joules(total.energy)} · ${data.title}`;
  made.prepend(element("h1", { title: data.title }, data.title));
  if (data.devices.length === 0) {
    made.append(nothing("No energy is known: nothing was metered while this ran."));
    return;
  }
  const sure = expected(ROOT) ?? sureness(total.energy, total.sd);
  const facts = [sure, kilowattHours(total.energy), total.seconds > 0 ? seconds(total.seconds) : null,
    total.seconds > 0 ? `${watts(total.energy / total.seconds)} mean power of the run` : null];
  made.append(
    element("p", { class: "lead" }, element("strong", {}, joules(total.energy)), " ", kindMark(total.kind),
      ...facts.filter(Boolean).map((fact) => element("span", { class: "fact" }, fact))),
    data.answer.length ? element("p", { id: "answer" }, unbroken(data.answer.join(" "))) : "",
    data.whole.energy_j > 0 ? wholeBar() : "");
  if (data.trust) made.append(trustStrip());
  if (data.runs > 1) made.append(element("p", { class: "hint" }, `Energies are means over ${data.runs} runs; ± is one standard deviation. Power over time is that of the first run.`));
}

/** All joules of the run in one bar. A click on a segment, or on its name, shows that part alone. */
function wholeBar() {
  const segments = data.bar.filter((segment) => ofRun(segment.energy_j) > 1e-9);
  const isPass = (segment) => PASSES.includes(segment.segment);
  const isShown = (segment) => (isPass(segment) ? !state.part && state.pass === segment.segment : state.part === segment.segment);
  const toggle = (segment) => {
    if (isShown(segment)) go({ part: "", pass: ALL });
    else go(isPass(segment) ? { part: "", pass: segment.segment } : { part: segment.segment, pass: ALL, stage: "" });
  };
  const lines = (segment) => [segment.name, `${joules(segment.energy_j)}, ${percent(ofRun(segment.energy_j))} of the run`,
    ...data.parts.filter((part) => part.segment === segment.segment && part.energy > 0).map((part) => `${part.name}: ${joules(part.energy)}${part.seconds === null ? "" : ` in ${seconds(part.seconds)}`}`),
    !isPass(segment) && segment.operations_j > 0 ? `operations used ${joules(segment.operations_j)} of it, which is in no layer below` : null].filter(Boolean);
  const pieces = segments.map((segment) => element("span", {
    class: `segment ${segment.segment}`, style: { "flex-grow": ofRun(segment.energy_j) }, "data-segment": segment.segment, "data-joules": segment.energy_j,
    onclick: () => toggle(segment), ...tooltip.on(() => lines(segment)),
  }, element("span", {}, `${segment.name} ${percent(ofRun(segment.energy_j))}`)));
  const names = segments.map((segment) => element("button", {
    type: "button", class: `key ${segment.segment}`, "data-segment": segment.segment, onclick: () => toggle(segment), ...tooltip.on(() => lines(segment)),
  }, element("span", { class: "name" }, segment.name), element("span", { class: "figure" }, joules(segment.energy_j)), element("span", { class: "share" }, percent(ofRun(segment.energy_j)))));
  const bar = element("div", { class: "whole", "aria-hidden": "true" }, ...pieces);
  const label = () => pieces.forEach((piece) => piece.classList.toggle("narrow", piece.scrollWidth > piece.clientWidth + 1 || piece.clientWidth < 30));
  new ResizeObserver(label).observe(bar);
  follow(FILTERS, () => segments.forEach((segment, at) => {
    const isOff = (state.part || state.pass !== ALL) && !isShown(segment);
    for (const one of [pieces[at], names[at]]) one.classList.toggle("off", Boolean(isOff));
    names[at].setAttribute("aria-pressed", String(isShown(segment)));
  }));
  return element("div", { id: "whole", role: "group", "aria-label": `All ${joules(data.whole.energy_j)} of the run` }, bar, element("div", { class: "keys" }, ...names));
}
