// The icicle: the whole tree, each node as wide as its energy. A click or Enter makes a node the whole width.

const ROW = 26;
const NARROWEST = 1.2;

function icicle() {
  const made = section("icicle", "Tree");
  if (!(tree.energy[ROOT] > 0)) {
    made.append(nothing("No operation was charged with energy, so there is no tree to show."));
    return;
  }
  const search = element("input", { type: "search", id: "icicle-search", placeholder: "find a layer or an operation", "aria-label": "Find a layer or an operation", autocomplete: "off" });
  const found = element("p", { class: "told", "aria-live": "polite" });
  const list = element("ul", { class: "found" });
  const frame = element("div", { class: "ice" });
  made.append(
    element("p", { class: "hint" }, "Every row lies inside the one above; the width is the energy. Enter or a click widens a part, Escape comes back, arrow keys move."),
    element("div", { class: "bar" }, search), found, list, frame);
  let top = ROOT;
  let matches = null;
  let current = ROOT;
  const zoom = (node) => {
    top = childrenOf[node].length ? node : tree.parent[node];
    current = node;
    draw(true);
  };
  const draw = (focuses = false) => {
    const width = Math.max(280, frame.clientWidth);
    frame.replaceChildren(drawIcicle(top, width, matches, current, zoom));
    if (focuses) frame.querySelector("[tabindex='0']")?.focus({ preventScroll: true });
  };
  search.addEventListener("input", () => {
    matches = foundNodes(search.value);
    showFound(matches, found, list, zoom);
    draw();
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && matches?.length) zoom(matches[0]);
  });
  frame.addEventListener("keydown", (event) => {
    const node = Number(document.activeElement?.dataset.node ?? -1);
    if (node < 0) return;
    const next = {
      ArrowUp: tree.parent[node], ArrowDown: childrenOf[node][0],
      ArrowLeft: beside(node, -1), ArrowRight: beside(node, 1),
    }[event.key];
    if (event.key === "Enter" || event.key === " ") zoom(node);
    else if (event.key === "Escape") zoom(tree.parent[top]);
    else if (next !== undefined) {
      const target = frame.querySelector(`[data-node="${next}"]`);
      if (!target) return;
      frame.querySelector("[tabindex='0']")?.setAttribute("tabindex", "-1");
      target.setAttribute("tabindex", "0");
      target.focus();
    } else return;
    event.preventDefault();
  });
  new ResizeObserver(() => draw()).observe(frame);
  draw();
}

function beside(node, step) {
  const family = childrenOf[tree.parent[node]];
  return node === ROOT ? undefined : family[family.indexOf(node) + step];
}

function drawIcicle(top, width, matches, current, zoom) {
  const picture = drawn("svg", { width, role: "tree", "aria-label": "Energy by layer" });
  const matched = matches && new Set(matches);
  let deepest = 0;
  let hasFocus = false;
  const place = (node, x, wide, depth) => {
    deepest = Math.max(deepest, depth);
    const isHere = node === current;
    hasFocus ||= isHere;
    const share = tree.energy[node] / tree.energy[ROOT];
    const letters = Math.floor((wide - 8) / 7);
    picture.append(drawn("g", {
      "data-path": pathOf(node), "data-joules": tree.energy[node], "data-node": node,
      class: `slice${matched ? (matched.has(node) ? " match" : " faint") : ""}${share > 0.35 ? " strong" : ""}`,
      style: { "--share": heat(share) }, transform: `translate(${x.toFixed(2)} ${depth * ROW})`,
      tabindex: isHere ? 0 : -1, role: "treeitem", "aria-label": `${tree.name[node]}, ${joules(tree.energy[node])}`,
      onclick: () => zoom(node), ...tooltip.on(() => described(node)),
    },
    drawn("rect", { width: Math.max(0.5, wide - 0.8).toFixed(2), height: ROW - 2, rx: tree.composite[node] ? 5 : 0 }),
    letters >= 3 ? drawn("text", { x: 5, y: 16 }, shortened(tree.name[node], letters)) : null));
  };
  const ancestors = ancestry(top);
  ancestors.forEach((node, depth) => place(node, 0, width, depth));
  const waiting = [[top, 0, ancestors.length - 1]];
  const scale = width / tree.energy[top];
  while (waiting.length) {
    const [node, from, depth] = waiting.pop();
    let x = from;
    for (const child of childrenOf[node]) {
      const wide = tree.energy[child] * scale;
      // Children come largest first: what follows is narrower still.
      if (wide < NARROWEST) break;
      place(child, x, wide, depth + 1);
      waiting.push([child, x, depth + 1]);
      x += wide;
    }
  }
  picture.setAttribute("height", (deepest + 1) * ROW);
  if (!hasFocus) picture.querySelector(".slice")?.setAttribute("tabindex", "0");
  return picture;
}

/** The nodes that hold all words, largest first; `null` when there are no words. */
function foundNodes(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return null;
  const nodes = [];
  for (let node = 1; node < tree.name.length; node += 1) {
    const path = pathOf(node).toLowerCase();
    const last = tree.name[node].toLowerCase();
    // Only where the last word is in the name itself: otherwise everything below would be found as well.
    if (words.every((word) => path.includes(word)) && words.some((word) => last.includes(word) || path.endsWith(word))) nodes.push(node);
  }
  return nodes.sort((a, b) => tree.energy[b] - tree.energy[a]);
}

function showFound(matches, found, list, zoom) {
  if (!matches) {
    found.textContent = "";
    list.replaceChildren();
    return;
  }
  const set = new Set(matches);
  const outermost = matches.filter((node) => !ancestry(tree.parent[node]).some((above) => set.has(above)));
  const energy = outermost.reduce((sum, node) => sum + tree.energy[node], 0);
  found.textContent = matches.length ? `${count(matches.length)} found, ${joules(energy)}, ${percent(energy / tree.energy[ROOT])} of all` : "nothing found";
  list.replaceChildren(...matches.slice(0, 8).map((node) => element("li", {},
    element("button", { type: "button", "data-path": pathOf(node), onclick: () => zoom(node) }, pathOf(node)),
    element("span", {}, joules(tree.energy[node])))));
}
