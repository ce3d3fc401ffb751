// By kind of operation: what all MatMuls used, all additions, and so on, stacked by pass.

/** More kinds are shown when they are asked for. */
const MANY_KINDS = 12;

function kinds() {
  const made = section("kinds", "By kind of operation");
  const list = element("ol", { class: "bars kind-bars" });
  const empty = nothing("");
  const more = element("button", { type: "button", onclick: () => { isWhole = true; draw(); } });
  const base = hasBase ? data.base : "of the run";
  made.append(element("p", { class: "hint" }, `Shares are ${base}. A click lists the operations of a kind.`), empty, list, element("p", {}, more));
  let isWhole = false;
  const draw = () => {
    const all = sumsBy(view(), (row) => ops.types[ops.kind[row]], isAsked(kindAsked(state.find) === null ? state.find : ""));
    const shown = isWhole || all.length <= MANY_KINDS + 2 ? all : all.slice(0, MANY_KINDS);
    const longest = Math.max(0, ...all.map((kind) => kind.energy));
    empty.textContent = state.part ? emptyWords() : "No operation was charged with energy.";
    empty.hidden = all.length > 0;
    more.hidden = shown.length === all.length;
    more.textContent = `${all.length - shown.length} more kinds, ${joules(all.slice(shown.length).reduce((sum, kind) => sum + kind.energy, 0))}`;
    const asked = kindAsked(state.find);
    list.replaceChildren(...shown.map((kind) => element("li", { "data-kind": kind.name, "data-joules": kind.energy },
      element("button", {
        type: "button", class: "path", title: kind.name, "aria-pressed": String(asked === kind.name),
        onclick: () => go({ find: asked === kind.name ? "" : `type:${kind.name}` }),
      }, shortened(kind.name, 28)),
      element("span", { class: "track", ...tooltip.on(() => kindLines(kind)) },
        ...kind.passes.map((energy, pass) => (energy > 0 ? element("span", { class: `bar ${PASSES[pass]}`, style: { width: percentOf(share(energy, longest)) } }) : null))),
      element("span", { class: "figure" }, joules(kind.energy)),
      element("span", { class: "share" }, percent(hasBase ? ofBase(kind.energy) : ofRun(kind.energy))))));
  };
  follow([...FILTERS, "find"], draw);
}

const kindLines = (kind) => [kind.name, `${joules(kind.energy)} · ${shares(kind.energy)}`, sureness(kind.energy),
  ...kind.passes.map((energy, pass) => (energy > 0 ? `${PASSES[pass]}: ${joules(energy)}` : null)),
  kind.busy > 0 ? `${watts(kind.energy / kind.busy)} over ${seconds(kind.busy)} of operation time, summed` : null,
  `${count(kind.count)} executions`].filter(Boolean);
