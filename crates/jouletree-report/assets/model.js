// The data of the page, and the same for a part of the run: a stage, a pass or both.

const data = JSON.parse(document.getElementById("data").textContent);
const tree = data.tree;
const ops = data.operations;
const ROOT = 0;
const ALL = "both";
const PASSES = ["forward", "backward", "optimizer"];

const childrenOf = tree.name.map(() => []);
for (let node = 1; node < tree.name.length; node += 1) childrenOf[tree.parent[node]].push(node);

/** The first node that is not inside of a node: those inside follow it. */
const endOf = tree.name.map((_, node) => node + 1);
for (let node = tree.name.length - 1; node > 0; node -= 1) endOf[tree.parent[node]] = Math.max(endOf[tree.parent[node]], endOf[node]);

/** Whether there is more than power over time. */
const HAS_OPERATIONS = ops.node.length > 0;

/** The path of a node; empty for the root. */
function pathOf(node) {
  const names = [];
  for (; node !== ROOT; node = tree.parent[node]) names.push(tree.name[node]);
  return names.reverse().join("/");
}

const nodeOf = new Map(tree.name.map((_, node) => [pathOf(node), node]));

/** A node and all that it is in, the root first. */
function ancestry(node) {
  const nodes = [node];
  while (nodes[0] !== ROOT) nodes.unshift(tree.parent[nodes[0]]);
  return nodes;
}

/** What an operation is called in lists; together with its pass and its device, no other is called the same. */
const labelOf = (row) => (ops.paths[row] ?? pathOf(ops.node[row])) + (ops.marks[row] === undefined ? "" : ` (${ops.marks[row]})`);

/** The names of stages; the time before the first has none. */
const STAGES = data.stages.map((stage) => stage.name).filter((name) => name !== "");

/** What layers and operations used in a part of the run. */
function madeView({ part, stage, pass }) {
  const isAll = !part && !stage && pass === ALL;
  const rows = { energy: ops.energy, busy: ops.busy, count: ops.count };
  if (!isAll) {
    for (const name of ["energy", "busy", "count"]) rows[name] = part ? new Float64Array(ops.node.length) : ofStage(stage, name);
    if (pass !== ALL) for (const column of Object.values(rows)) keepPass(column, PASSES.indexOf(pass));
  }
  const nodes = isAll ? tree : summed(rows);
  const { energy, own, busy, count } = nodes;
  const largest = (one, other) => energy[other] - energy[one] || one - other;
  const inside = isAll ? (node) => childrenOf[node] : (node) => [...childrenOf[node]].sort(largest);
  return { isAll, energy, own, busy, count, rows, inside, total: energy[ROOT] };
}

/** A column of the operations in one stage, or in all. */
function ofStage(name, column) {
  const values = new Float64Array(ops.node.length);
  if (!name) {
    values.set(ops[column]);
    return values;
  }
  const stage = ops.stages.find((stage) => stage.name === name);
  let row = 0;
  (stage?.row ?? []).forEach((step, at) => {
    row += step;
    values[row] = stage[column][at];
  });
  return values;
}

function keepPass(column, pass) {
  for (let row = 0; row < column.length; row += 1) if (ops.pass[row] !== pass) column[row] = 0;
}

/** The same for layers: sums over the operations inside. */
function summed(rows) {
  const made = {};
  for (const [name, column] of Object.entries(rows)) {
    const sums = new Float64Array(tree.name.length);
    ops.node.forEach((node, row) => { sums[node] += column[row]; });
    if (name === "energy") made.own = sums.slice();
    // Children come after their parents.
    for (let node = sums.length - 1; node > 0; node -= 1) sums[tree.parent[node]] += sums[node];
    made[name] = sums;
  }
  return made;
}

/** The passes in which anything was used. */
const usedPasses = (() => {
  const sums = PASSES.map(() => 0);
  ops.pass.forEach((pass, row) => { sums[pass] += ops.energy[row]; });
  return PASSES.filter((_, pass) => sums[pass] > 0);
})();

/** Sums of the operations inside a node by what `key` gives, the largest first: `[key, energy, by pass, busy, count]`. */
function sumsBy(view, key, isWanted = () => true) {
  const sums = new Map();
  const { energy, busy, count } = view.rows;
  for (let row = 0; row < energy.length; row += 1) {
    if (!(energy[row] > 0 || count[row] > 0) || !isWanted(row)) continue;
    const name = key(row);
    let sum = sums.get(name);
    if (!sum) sums.set(name, sum = { name, energy: 0, passes: [0, 0, 0], busy: 0, count: 0, row });
    sum.energy += energy[row];
    sum.passes[ops.pass[row]] += energy[row];
    sum.busy += busy[row];
    sum.count += count[row];
  }
  return [...sums.values()].sort((one, other) => other.energy - one.energy || one.row - other.row);
}

const isInside = (node) => (row) => ops.node[row] >= node && ops.node[row] < endOf[node];

/** An energy as a part of the run, and of what `data.base` names. */
const ofRun = (energy) => (data.whole.energy_j > 0 ? energy / data.whole.energy_j : 0);
const ofBase = (energy) => (data.whole.base_j > 0 ? energy / data.whole.base_j : 0);
/** Whether these are two different things. */
const hasBase = data.whole.base_j > 0 && data.whole.base_j < 0.9995 * data.whole.energy_j;

/** Where a prediction expects the energy of a node. */
function expected(node) {
  const ends = tree.predicted[node];
  return ends ? `${tree.predicted_level}\u00a0%: ${joules(ends[0])} … ${joules(ends[1])}` : null;
}

/** How sure an energy is: over runs where there are several, by the attribution where it knows, otherwise as sure as the meters. */
function sureness(value, sd, error) {
  if (data.runs > 1 && sd !== undefined && sd !== null) return `± ${joules(sd)} over ${data.runs} runs`;
  if (error !== undefined && error !== null) return `± ${joules(error)} own, one standard error`;
  const bounds = data.total.bounds;
  return bounds ? `95\u00a0%: ${joules(value * bounds[0])} … ${joules(value * bounds[1])}` : null;
}

/** How sure the energy of a node is, in a part of the run. */
function surenessOf(node, view) {
  if (!view.isAll) return sureness(view.energy[node]);
  return expected(node) ?? sureness(view.energy[node], tree.sd[node], tree.error[node]);
}

/** A share with its base. */
function shares(energy) {
  const run = `${percent(ofRun(energy))} of the run`;
  return hasBase ? `${percent(ofBase(energy))} ${data.base}, ${run}` : run;
}

/** What there is to say about a node. */
function described(node, view) {
  const energy = view.energy[node];
  return [
    pathOf(node) || tree.name[ROOT],
    `${joules(energy)} · ${shares(energy)}`,
    surenessOf(node, view),
    view.busy[node] > 0 ? `${watts(energy / view.busy[node])} over ${seconds(view.busy[node])} of operation time, summed` : null,
    `${count(view.count[node])} executions`,
  ].filter(Boolean);
}
