// The data of the page, and what all sections share: the layer and the pass that were chosen.

const data = JSON.parse(document.getElementById("data").textContent);
const tree = data.tree;
const ROOT = 0;
const PASSES = ["forward", "backward", "optimizer"];

const childrenOf = tree.name.map(() => []);
for (let node = 1; node < tree.name.length; node += 1) childrenOf[tree.parent[node]].push(node);

/** The path of a node; empty for the root. */
function pathOf(node) {
  const names = [];
  for (; node !== ROOT; node = tree.parent[node]) names.push(tree.name[node]);
  return names.reverse().join("/");
}

/** A node and all that it is in, the root first. */
function ancestry(node) {
  const nodes = [node];
  while (nodes[0] !== ROOT) nodes.unshift(tree.parent[nodes[0]]);
  return nodes;
}

/** What a node used in a pass, or in all. */
const energyOf = (node, pass) => (pass === "both" ? tree.energy[node] : tree.passes[PASSES.indexOf(pass)][node]);

/** What the operations with exactly this path used in a pass, or in all. */
function ownOf(node, pass) {
  if (pass === "both") return tree.own[node];
  const inside = childrenOf[node].reduce((sum, child) => sum + energyOf(child, pass), 0);
  return Math.max(0, energyOf(node, pass) - inside);
}

/** The passes in which anything was used. */
const usedPasses = PASSES.filter((pass) => tree.passes[PASSES.indexOf(pass)][ROOT] > 0);

/** Where a prediction expects the energy of a node. */
function expected(node) {
  const ends = tree.predicted[node];
  return ends ? `${tree.predicted_level}\u00a0%: ${joules(ends[0])} … ${joules(ends[1])}` : null;
}

/** How sure an energy is: over runs where there are several, otherwise as sure as the meters. */
function sureness(value, sd) {
  if (data.runs > 1 && sd !== undefined && sd !== null) return `± ${joules(sd)} over ${data.runs} runs`;
  const bounds = data.total.bounds;
  return bounds ? `95\u00a0%: ${joules(value * bounds[0])} … ${joules(value * bounds[1])}` : null;
}

/** What there is to say about a node. */
function described(node, pass = "both") {
  const energy = energyOf(node, pass);
  const lines = [
    pathOf(node) || tree.name[ROOT],
    `${joules(energy)} · ${percent(energy / energyOf(ROOT, pass))} of all${pass === "both" ? "" : ` in the ${pass} pass`}`,
  ];
  const sure = (pass === "both" ? expected(node) : null) ?? sureness(energy, tree.sd[node]);
  if (sure) lines.push(sure);
  if (tree.busy[node] > 0) lines.push(`${watts(tree.energy[node] / tree.busy[node])} over ${seconds(tree.busy[node])}`);
  lines.push(`${count(tree.count[node])} operations`);
  return lines;
}

/** What was chosen, and who wants to know. */
const chosen = {
  node: ROOT,
  pass: "both",
  listeners: [],
  set(change) {
    Object.assign(chosen, change);
    tooltip.hide();
    chosen.listeners.forEach((listener) => listener());
  },
};
