// The energy distribution diagram: the parts of one layer, the data flow between them, and the way in and out.

const OWN = -1;
const OTHERS = -2;
// Where the keyboard goes, beside boxes by their paths.
const FIRST = Symbol("the first box");

/** Fills a panel; returns how it is drawn again. */
function diagram(panel) {
  const stage = element("div", { class: "stage", tabindex: -1 });
  const hint = element("p", { class: "hint" });
  panel.append(stage, hint);
  // Where the keyboard goes when the diagram has changed.
  let focus = null;
  const enter = (node) => {
    if (childrenOf[node].length === 0) {
      go({ layer: node });
      return;
    }
    focus = FIRST;
    go({ layer: node });
  };
  const leave = () => {
    const inside = shownLayer();
    if (inside === ROOT) return;
    focus = pathOf(inside);
    go({ layer: tree.parent[inside] });
  };
  panel.addEventListener("keydown", (event) => {
    if (event.key === "Escape" || event.key === "Backspace") {
      event.preventDefault();
      leave();
    } else if (event.key.startsWith("Arrow")) {
      moveFocus(stage, event);
    }
  });
  return () => {
    const isKept = stage.contains(document.activeElement) ? document.activeElement.closest("[data-box]")?.dataset.path : undefined;
    stage.replaceChildren(drawLayer(shownLayer(), enter));
    hint.textContent = `Round boxes are layers, sharp ones operations; numbers are shares of the layer around them. ${flowWords()} Click or Enter to open, Esc to go back, arrows to move.`;
    showLargest(stage);
    const boxes = [...stage.querySelectorAll("[data-box]")];
    if (focus !== null || isKept !== undefined) {
      const wanted = focus ?? isKept;
      (boxes.find((box) => box.dataset.path === wanted) ?? boxes[0])?.focus({ preventScroll: true });
    }
    focus = null;
  };
}

/** The layer whose inside is drawn: the chosen one, or the one around an operation. */
const shownLayer = () => (childrenOf[state.layer].length ? state.layer : tree.parent[state.layer]);

/** The pass whose data flow is drawn: one at a time. */
const flowPass = () => (state.pass === ALL ? usedPasses[0] ?? PASSES[0] : state.pass);

const flowWords = () => (flowPass() === "optimizer" ? "The optimizer has no data flow between layers." : `Arrows: data flow of the ${flowPass()} pass.`);

/** On a narrow screen the largest part is in sight first. */
function showLargest(stage) {
  const boxes = [...stage.querySelectorAll("[data-box]")];
  const [largest] = boxes.sort((a, b) => b.dataset.joules - a.dataset.joules);
  if (!largest || stage.scrollWidth <= stage.clientWidth) return;
  const at = largest.getBoundingClientRect();
  stage.scrollLeft += at.left + at.width / 2 - stage.getBoundingClientRect().left - stage.clientWidth / 2;
}

/** The picture of a layer. */
function drawLayer(node, enter) {
  const shown = view();
  const pass = flowPass();
  const plan = data.diagrams.of[node];
  const [width, height] = data.diagrams.box_size;
  const whole = shown.energy[node];
  const margin = 12;
  const [right, bottom] = plan.size;
  const picture = drawn("svg", {
    viewBox: `${-margin} ${-margin} ${right + 2 * margin} ${bottom + 2 * margin}`,
    style: { "--width": `${right + 2 * margin}px` },
    role: "group", "aria-label": `Parts of ${pathOf(node) || "all"}`,
  }, drawn("defs", {}, arrowhead("forward"), arrowhead("backward"), arrowhead("between")));
  const reached = new Set();
  for (const [from, to, all, points] of plan.routes) {
    const heads = headsOf(all, pass);
    if (!heads) continue;
    picture.append(arrow(heads, points, pass));
    reached.add(from).add(to);
  }
  plan.boxes.forEach(([place, x, y], number) => {
    const part = partOf(node, place, plan.others, shown);
    // Of a part of the run only those boxes that used something in it, or that its data flows through.
    if (!(part.energy > 0) && !shown.isAll && !reached.has(number)) return;
    const portion = share(part.energy, whole);
    const [name, says] = [shortened(part.name, 22), `${percent(portion)} · ${joules(part.energy)}`];
    const lines = () => (part.node === null ? [part.name, joules(part.energy), percent(portion)] : described(part.node, shown));
    const goIn = () => (place === OTHERS ? listOthers(node) : part.node !== null && enter(part.node));
    picture.append(drawn("g", {
      "data-box": "", "data-path": part.path, "data-joules": part.energy, "data-share": portion,
      "data-composite": String(part.composite), "data-own": place === OWN ? "true" : null, "data-others": place === OTHERS ? "true" : null,
      class: `box ${part.composite ? "layer" : "tensor"}${part.inside ? " inside" : ""}${part.node === state.layer ? " here" : ""}${part.energy > 0 ? "" : " unused"}`,
      transform: `translate(${x - width / 2} ${y - height / 2})`, style: { "--share": heat(portion) },
      tabindex: 0, role: "button", "aria-label": name === part.name ? null : `${part.name} ${says}`,
      onclick: goIn,
      onkeydown: (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        goIn();
      },
      ...tooltip.on(lines),
    },
    drawn("rect", { width, height, rx: part.composite ? 14 : 0 }),
    drawn("text", { class: "name", x: width / 2, y: 23 }, name), " ",
    drawn("text", { class: "figure", x: width / 2, y: 43 }, says)));
  });
  return picture;
}

/** What a box represents. */
function partOf(node, place, others, shown) {
  if (place === OWN) return { name: `${tree.name[node]} itself`, path: pathOf(node), energy: shown.own[node], composite: false, inside: false, node: null };
  if (place === OTHERS) {
    const rest = childrenOf[node].slice(others);
    const energy = rest.reduce((sum, child) => sum + shown.energy[child], 0);
    return { name: `${rest.length} smaller`, path: `${pathOf(node)}/…`, energy, composite: true, inside: true, node: null };
  }
  const inside = childrenOf[place].length > 0;
  return { name: tree.name[place], path: pathOf(place), energy: shown.energy[place], composite: tree.composite[place] === 1, inside, node: place };
}

const arrowhead = (kind) => drawn("marker", {
  id: `head-${kind}`, class: kind, viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 8, markerHeight: 8, orient: "auto-start-reverse",
}, drawn("path", { d: "M 0 1 L 9 5 L 0 9 z" }));

/** What flows along one way in a pass, as bits: along it and against it. */
const headsOf = (heads, pass) => (heads >> { forward: 0, backward: 2, optimizer: 4 }[pass]) & 3;

function arrow(heads, points, pass) {
  const kind = pass === "optimizer" ? "between" : pass;
  return drawn("path", {
    class: `flow ${kind}`, d: smooth(points),
    "marker-end": heads & 1 ? `url(#head-${kind})` : null, "marker-start": heads & 2 ? `url(#head-${kind})` : null,
  });
}

/** A line through points, bent where it turns. */
function smooth(points) {
  const at = (index) => `${points[2 * index]} ${points[2 * index + 1]}`;
  const last = points.length / 2 - 1;
  let way = `M ${at(0)}`;
  for (let index = 1; index < last; index += 1) {
    const middle = `${(points[2 * index] + points[2 * index + 2]) / 2} ${(points[2 * index + 1] + points[2 * index + 3]) / 2}`;
    way += ` Q ${at(index)} ${index + 1 === last ? at(last) : middle}`;
  }
  return last === 1 ? `${way} L ${at(1)}` : way;
}

/** Moves to the nearest box in the direction of an arrow key. */
function moveFocus(stage, event) {
  const from = document.activeElement.closest("[data-box]");
  if (!from) return;
  event.preventDefault();
  const middle = (box) => {
    const at = box.getBoundingClientRect();
    return [at.left + at.width / 2, at.top + at.height / 2];
  };
  const [x, y] = middle(from);
  const axis = event.key === "ArrowLeft" || event.key === "ArrowRight" ? 0 : 1;
  const sign = event.key === "ArrowRight" || event.key === "ArrowDown" ? 1 : -1;
  const distance = (box) => {
    const at = middle(box);
    const along = sign * (at[axis] - [x, y][axis]);
    return along > 4 ? along + 2 * Math.abs(at[1 - axis] - [x, y][1 - axis]) : Infinity;
  };
  const boxes = [...stage.querySelectorAll("[data-box]")].map((box) => [distance(box), box]);
  const [nearest, box] = boxes.reduce((best, other) => (other[0] < best[0] ? other : best), [Infinity, null]);
  if (nearest < Infinity) box.focus();
}

/** Small parts that share a box are listed in the table of operations. */
function listOthers(node) {
  go({ find: `${pathOf(node)}/` });
  see("operations");
}
