// The icicle: the whole tree, each node as wide as its energy. A click or Enter chooses a node and makes it the whole width.

const ROW = 26;
const NARROWEST = 1.2;

/** Fills a panel; returns how it is drawn again. */
function icicle(panel) {
  const frame = element("div", { class: "ice" });
  panel.append(frame, element("p", { class: "hint" }, "Width is energy; what is below is inside. Click or Enter to choose, Esc to go back, arrows to move."));
  let focuses = false;
  const choose = (node) => {
    focuses = frame.contains(document.activeElement);
    go({ layer: node });
  };
  const draw = () => {
    const width = Math.max(280, paperWidth ?? frame.clientWidth);
    frame.replaceChildren(drawIcicle(width, choose));
    if (focuses) frame.querySelector("[tabindex='0']")?.focus({ preventScroll: true });
    focuses = false;
  };
  frame.addEventListener("keydown", (event) => {
    const node = Number(document.activeElement?.dataset.node ?? -1);
    if (node < 0) return;
    const family = view().inside(tree.parent[node]);
    const beside = (step) => (node === ROOT ? undefined : family[family.indexOf(node) + step]);
    const next = { ArrowUp: tree.parent[node], ArrowDown: view().inside(node)[0], ArrowLeft: beside(-1), ArrowRight: beside(1) }[event.key];
    if (event.key === "Enter" || event.key === " ") choose(node);
    else if (event.key === "Escape" || event.key === "Backspace") choose(tree.parent[state.layer]);
    else if (next !== undefined) {
      const target = frame.querySelector(`[data-node="${next}"]`);
      if (!target) return;
      frame.querySelector("[tabindex='0']")?.setAttribute("tabindex", "-1");
      target.setAttribute("tabindex", "0");
      target.focus();
    } else return;
    event.preventDefault();
  });
  onWidth(frame, () => state.show === "tree" && draw());
  return draw;
}

function drawIcicle(width, choose) {
  const shown = view();
  const picture = drawn("svg", { width, role: "tree", "aria-label": "Energy by layer" });
  const found = foundNodes(state.find);
  const matched = found?.length ? new Set(found) : null;
  // What a found layer is in, and what is in it, belong to it.
  const around = new Set((found ?? []).flatMap(ancestry));
  const isFaint = (node) => matched && !around.has(node) && !ancestry(node).some((above) => matched.has(above));
  const top = childrenOf[state.layer].length ? state.layer : tree.parent[state.layer];
  let deepest = 0;
  let hasFocus = false;
  const place = (node, x, wide, depth) => {
    deepest = Math.max(deepest, depth);
    const isHere = node === state.layer;
    hasFocus ||= isHere;
    const letters = Math.floor((wide - 10) / 7);
    const name = tree.name[node].length <= letters || letters >= 5 ? shortened(tree.name[node], letters) : "";
    picture.append(drawn("g", {
      "data-path": pathOf(node), "data-joules": shown.energy[node], "data-node": node, "data-match": matched?.has(node) ? "true" : null,
      class: `slice${isHere ? " here" : ""}${matched?.has(node) ? " match" : isFaint(node) ? " faint" : ""}`,
      style: { "--share": heat(share(shown.energy[node], shown.total)) }, transform: `translate(${x.toFixed(2)} ${depth * ROW})`,
      tabindex: isHere ? 0 : -1, role: "treeitem", "aria-level": depth + 1, "aria-selected": String(isHere), "aria-label": `${tree.name[node]}, ${joules(shown.energy[node])}`,
      onclick: () => choose(node), ...tooltip.on(() => described(node, shown)),
    },
    drawn("rect", { width: Math.max(0.5, wide - 1).toFixed(2), height: ROW - 2, rx: tree.composite[node] ? 4 : 0 }),
    name ? drawn("text", { x: 6, y: 16 }, name) : null));
  };
  const ancestors = ancestry(top);
  ancestors.forEach((node, depth) => place(node, 0, width, depth));
  const waiting = [[top, 0, ancestors.length - 1]];
  const scale = shown.energy[top] > 0 ? width / shown.energy[top] : 0;
  while (waiting.length) {
    const [node, from, depth] = waiting.pop();
    let x = from;
    for (const child of shown.inside(node)) {
      const wide = shown.energy[child] * scale;
      // Children come largest first: what follows is narrower still.
      if (wide < NARROWEST) break;
      place(child, x, wide, depth + 1);
      waiting.push([child, x, depth + 1]);
      x += wide;
    }
  }
  const height = (deepest + 1) * ROW;
  picture.setAttribute("height", height);
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  if (!hasFocus) picture.querySelector(".slice")?.setAttribute("tabindex", "0");
  return picture;
}
