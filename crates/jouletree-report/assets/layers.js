// Layers: the tree or the data flow, and beside it all there is to say about the chosen layer.

/** How many kinds of operations of a layer are listed. */
const FEW_KINDS = 6;

function layers() {
  const made = section("layers", "Layers");
  if (!(tree.energy[ROOT] > 0)) {
    made.append(nothing("No operation was charged with energy, so there are no layers to show."));
    return;
  }
  const breadcrumb = element("nav", { class: "breadcrumb", "aria-label": "Chosen layer" });
  const panels = {
    tree: element("div", { id: "icicle", role: "tabpanel", "aria-labelledby": "tab-tree", tabindex: 0 }),
    flow: element("div", { id: "diagram", role: "tabpanel", "aria-labelledby": "tab-flow", tabindex: 0 }),
  };
  const tabs = element("div", { class: "tabs", role: "tablist", "aria-label": "Layers as" },
    ...[["tree", "Tree"], ["flow", "Data flow"]].map(([name, title]) => element("button", {
      type: "button", role: "tab", id: `tab-${name}`, "aria-controls": panels[name].id, onclick: () => go({ show: name }),
    }, title)));
  tabs.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    go({ show: state.show === "tree" ? "flow" : "tree" });
    tabs.querySelector("[aria-selected=true]").focus();
  });
  const detail = element("div", { id: "detail", role: "region", "aria-label": "The chosen layer", "aria-live": "polite" });
  const empty = nothing("");
  const body = element("div", { class: "beside" }, element("div", { class: "pictures" }, panels.tree, panels.flow), detail);
  made.append(element("div", { class: "bar" }, tabs, breadcrumb), empty, body);
  const draws = { tree: icicle(panels.tree), flow: diagram(panels.flow) };
  const crumbs = () => breadcrumb.replaceChildren(...ancestry(state.layer).map((node) => element("button", {
    type: "button", "data-path": pathOf(node), "aria-current": node === state.layer ? "true" : null, title: pathOf(node) || null,
    onclick: () => {
      go({ layer: node });
      breadcrumb.lastElementChild.focus({ preventScroll: true });
    },
  }, shortened(tree.name[node], 28))));
  made.drawNow = () => draws[state.show]();
  follow([...FILTERS, "layer", "find", "show"], () => {
    const shown = view();
    const isEmpty = !(shown.total > 0);
    empty.textContent = isEmpty ? emptyWords() : "";
    empty.hidden = !isEmpty;
    body.hidden = isEmpty;
    body.classList.toggle("flow", state.show === "flow");
    crumbs();
    for (const name of Object.keys(panels)) {
      panels[name].hidden = state.show !== name;
      const tab = tabs.querySelector(`#tab-${name}`);
      tab.setAttribute("aria-selected", String(state.show === name));
      tab.tabIndex = state.show === name ? 0 : -1;
    }
    if (isEmpty) return;
    draws[state.show]();
    detail.replaceChildren(...detailOf(state.layer, shown));
  });
}

/** Why nothing is shown. */
function emptyWords() {
  const segment = data.bar.find((known) => known.segment === state.part);
  return segment ? `No layer was recorded in “${segment.name}”. Layers and operations are those of recorded steps.` : "No operation used energy in this part of the run.";
}

/** All there is to say about a layer, in the chosen part of the run. */
function detailOf(node, shown) {
  const energy = shown.energy[node];
  const facts = [
    ["of the run", percent(ofRun(energy))],
    hasBase ? [data.base, percent(ofBase(energy))] : null,
    node === ROOT ? null : ["of the layer around it", percent(share(energy, shown.energy[tree.parent[node]]))],
    shown.busy[node] > 0 ? ["joules over operation time", watts(energy / shown.busy[node])] : null,
    shown.busy[node] > 0 ? ["operation time, summed", seconds(shown.busy[node])] : null,
    ["executions", count(shown.count[node])],
    childrenOf[node].length && shown.own[node] > 0 ? ["by itself", joules(shown.own[node])] : null,
  ].filter(Boolean);
  const isMine = isInside(node);
  const kinds = sumsBy(shown, (row) => ops.types[ops.kind[row]], isMine);
  const passes = sumsBy(shown, (row) => PASSES[ops.pass[row]], isMine).sort((a, b) => PASSES.indexOf(a.name) - PASSES.indexOf(b.name));
  const bar = (sum, colour) => element("li", { "data-name": sum.name, "data-joules": sum.energy },
    element("span", { class: "path" }, sum.name), element("span", { class: "figure" }, joules(sum.energy)), element("span", { class: "share" }, percent(share(sum.energy, energy))),
    element("span", { class: "track" }, element("span", { class: `bar ${colour}`, style: { width: percentOf(share(sum.energy, energy)) } })));
  const rest = kinds.slice(FEW_KINDS);
  const listed = rest.length > 1 ? kinds.slice(0, FEW_KINDS) : kinds;
  const others = rest.length > 1 ? [{ name: `${rest.length} other kinds`, energy: rest.reduce((sum, kind) => sum + kind.energy, 0) }] : [];
  return [
    element("h3", { class: "path" }, pathOf(node) || "the whole model"),
    element("p", { class: "lead", "data-joules": energy }, element("strong", {}, joules(energy)), element("span", { class: "fact" }, surenessOf(node, shown) ?? "")),
    element("dl", {}, ...facts.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)])),
    passes.length > 1 ? element("div", {}, element("h4", {}, "By pass"), element("ol", { class: "bars small" }, ...passes.map((sum) => bar(sum, sum.name)))) : "",
    kinds.length ? element("div", {}, element("h4", {}, "Kinds of operations inside"), element("ol", { class: "bars small" }, ...[...listed, ...others].map((sum) => bar(sum, "plain")))) : "",
    node === ROOT ? "" : element("p", {}, element("button", { type: "button", onclick: () => { go({ find: `${pathOf(node)}/` }); see("operations"); } }, "list its operations")),
  ];
}

const share = (part, whole) => (whole > 0 ? part / whole : 0);
const percentOf = (value) => `${(100 * value).toFixed(2)}%`;
