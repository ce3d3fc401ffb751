// The energy distribution diagram: the parts of one layer, the data flow between them, and the way in and out.

const OWN = -1;
const OTHERS = -2;
// Where the keyboard goes, beside boxes by their paths.
const FIRST = Symbol("the first box");
const CRUMB = Symbol("the layer in the breadcrumb");

function diagram() {
  const made = section("diagram", "Layers");
  if (!(tree.energy[ROOT] > 0)) {
    made.append(nothing("No operation was charged with energy, so there are no layers to show."));
    return;
  }
  const passes = [["both", "all passes"], ...usedPasses.map((pass) => [pass, pass])];
  const breadcrumb = element("nav", { class: "breadcrumb", "aria-label": "Layer" });
  const stage = element("div", { class: "stage", tabindex: -1 });
  const told = element("p", { class: "told" });
  made.append(
    element("p", { class: "hint" }, "Round boxes are layers, sharp ones operations. Colour and figures tell each one's part of the layer. Enter or a click goes in, Escape comes out, arrow keys move."),
    element("div", { class: "bar" }, breadcrumb, choice("Pass", "data-pass", passes, chosen.pass, (pass) => chosen.set({ pass }))),
    told, stage);
  // Where the keyboard goes when the diagram has changed.
  let focus = null;
  const enter = (node) => {
    if (childrenOf[node].length === 0) return;
    focus = FIRST;
    chosen.set({ node });
  };
  const leave = () => {
    if (chosen.node === ROOT) return;
    focus = pathOf(chosen.node);
    chosen.set({ node: tree.parent[chosen.node] });
  };
  made.addEventListener("keydown", (event) => {
    if (event.target.closest("input, button, select") && event.key !== "Escape") return;
    if (event.key === "Escape" || event.key === "Backspace") {
      event.preventDefault();
      leave();
    } else if (event.key.startsWith("Arrow")) {
      moveFocus(stage, event);
    }
  });
  const draw = () => {
    breadcrumb.replaceChildren(...ancestry(chosen.node).map((node) => element("button", {
      type: "button", "data-path": pathOf(node), "aria-current": node === chosen.node ? "true" : null,
      onclick: () => {
        focus = CRUMB;
        chosen.set({ node });
      },
    }, shortened(tree.name[node], 28))));
    told.textContent = described(chosen.node, chosen.pass).slice(1).join(" · ");
    stage.replaceChildren(drawLayer(chosen.node, chosen.pass, enter));
    showLargest(stage);
    if (focus === CRUMB) {
      breadcrumb.lastElementChild.focus({ preventScroll: true });
    } else if (focus !== null) {
      const boxes = [...stage.querySelectorAll("[data-box]")];
      (boxes.find((box) => box.dataset.path === focus) ?? boxes[0])?.focus({ preventScroll: true });
    }
    focus = null;
  };
  chosen.listeners.push(draw);
  draw();
}

/** On a narrow screen the largest part is in sight first. */
function showLargest(stage) {
  const boxes = [...stage.querySelectorAll("[data-box]")];
  const [largest] = boxes.sort((a, b) => b.dataset.joules - a.dataset.joules);
  if (!largest || stage.scrollWidth <= stage.clientWidth) return;
  const at = largest.getBoundingClientRect();
  stage.scrollLeft += at.left + at.width / 2 - stage.getBoundingClientRect().left - stage.clientWidth / 2;
}

/** The picture of a layer. */
function drawLayer(node, pass, enter) {
  const plan = data.diagrams.of[node];
  const [width, height] = data.diagrams.box_size;
  const whole = energyOf(node, pass);
  const margin = 12;
  const [right, bottom] = plan.size;
  const picture = drawn("svg", {
    viewBox: `${-margin} ${-margin} ${right + 2 * margin} ${bottom + 2 * margin}`,
    style: { "--width": `${right + 2 * margin}px` },
    role: "group", "aria-label": `Parts of ${pathOf(node) || "all"}`,
  }, drawn("defs", {}, arrowhead("forward"), arrowhead("backward"), arrowhead("between")));
  for (const [, , heads, points] of plan.routes) picture.append(...arrows(heads, points, pass));
  for (const [place, x, y] of plan.boxes) {
    const part = partOf(node, place, plan.others, pass);
    const share = whole > 0 ? part.energy / whole : 0;
    const lines = () => (part.node === null ? [part.name, joules(part.energy), percent(share)] : described(part.node, pass));
    const goIn = () => (place === OTHERS ? listOthers(node) : part.node !== null && enter(part.node));
    picture.append(drawn("g", {
      "data-box": "", "data-path": part.path, "data-joules": part.energy, "data-share": share,
      "data-composite": String(part.composite), "data-own": place === OWN ? "true" : null, "data-others": place === OTHERS ? "true" : null,
      class: `box ${part.composite ? "layer" : "tensor"}${part.inside ? " inside" : ""}${share > 0.35 ? " strong" : ""}${part.energy > 0 ? "" : " unused"}`,
      transform: `translate(${x - width / 2} ${y - height / 2})`, style: { "--share": heat(share) },
      tabindex: 0, role: "button", "aria-label": `${part.name}, ${joules(part.energy)}, ${percent(share)}`,
      onclick: goIn,
      onkeydown: (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        goIn();
      },
      ...tooltip.on(lines),
    },
    drawn("rect", { width, height, rx: part.composite ? 14 : 0 }),
    drawn("text", { class: "name", x: width / 2, y: 23 }, shortened(part.name, 22)),
    drawn("text", { class: "figure", x: width / 2, y: 43 }, `${percent(share)} · ${joules(part.energy)}`)));
  }
  return picture;
}

/** What a box stands for. */
function partOf(node, place, others, pass) {
  if (place === OWN) return { name: `${tree.name[node]} itself`, path: pathOf(node), energy: ownOf(node, pass), composite: false, inside: false, node: null };
  if (place === OTHERS) {
    const rest = childrenOf[node].slice(others);
    const energy = rest.reduce((sum, child) => sum + energyOf(child, pass), 0);
    return { name: `${rest.length} smaller`, path: `${pathOf(node)}/…`, energy, composite: true, inside: true, node: null };
  }
  const inside = childrenOf[place].length > 0;
  return { name: tree.name[place], path: pathOf(place), energy: energyOf(place, pass), composite: tree.composite[place] === 1, inside, node: place };
}

/** Small shares are told apart, too. */
const heat = (share) => `${(100 * Math.min(1, Math.max(0, share)) ** 0.6).toFixed(1)}%`;

const arrowhead = (kind) => drawn("marker", {
  id: `head-${kind}`, class: kind, viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 8, markerHeight: 8, orient: "auto-start-reverse",
}, drawn("path", { d: "M 0 1 L 9 5 L 0 9 z" }));

/** The arrows along one way: bits tell what flows along it and against it. */
function arrows(heads, points, pass) {
  const kinds = [["forward", 0], ["backward", 2], ["between", 4]];
  const shown = kinds.map(([kind, bit]) => [kind, (heads >> bit) & 3]).filter(([kind, bits]) => bits > 0
    && (pass === "both" || (pass === "optimizer" ? kind === "between" : kind === pass)));
  // Where the forward pass goes one way and gradients the other, one line has two heads.
  return shown.slice(0, 1).map(([kind, bits]) => {
    const all = shown.reduce((sum, [, bits]) => sum | bits, bits);
    return drawn("path", {
      class: `flow ${kind}`, d: smooth(points),
      "marker-end": all & 1 ? `url(#head-${kind})` : null, "marker-start": all & 2 ? `url(#head-${kind})` : null,
    });
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
  const filter = document.getElementById("operations-filter");
  filter.value = `${pathOf(node)}/`;
  filter.dispatchEvent(new Event("input"));
  filter.focus();
}
