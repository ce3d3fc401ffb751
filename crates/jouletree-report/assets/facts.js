// What to try: the largest kind of operation, layer and stage, each a place where it pays to look first.

const FACTS = {
  type: ["kind of operation", (name) => go({ find: `type:${name}`, part: "" }), "operations"],
  layer: ["layer", (name) => go({ layer: nodeOf.get(name), part: "" }), "layers"],
  stage: ["stage", (name) => go({ stage: name, part: "" }), "stages"],
  pass: ["pass", (name) => go({ pass: name, part: "" }), "layers"],
};

function facts() {
  if (data.facts.length === 0) return;
  const fact = (known) => {
    const [what, choose, place] = FACTS[known.of];
    return element("li", { "data-fact": known.of, "data-joules": known.energy_j },
      element("span", { class: "label" }, `largest ${what}`),
      element("button", { type: "button", title: known.name, onclick: () => { choose(known.name); see(place); } }, shortPath(known.name, 34)),
      element("span", { class: "value" }, joules(known.energy_j)),
      element("span", { class: "note" }, `${percent(known.run_share)} of the run${known.operations_share === null ? "" : `, ${percent(known.operations_share)} of operations`}`));
  };
  section("try", "What to try",
    element("p", { class: "hint" }, "A change pays most where most joules are."),
    element("ol", { class: "facts" }, ...data.facts.map(fact)));
}
