// What was chosen on the page, and its form in the address, so that links, Back and Forward lead to it.

const NOTHING = { stage: "", pass: ALL, part: "", layer: ROOT, find: "", show: "tree", time: "run", see: "" };

const state = { ...NOTHING };
const listeners = [];
const views = new Map();
/** What an address asks for that this run does not have. */
let missing = [];

/** The part of the run that is shown. */
function view() {
  const { part, stage, pass } = state;
  const key = JSON.stringify([part, stage, pass]);
  if (!views.has(key)) views.set(key, madeView({ part, stage, pass }));
  return views.get(key);
}

/** Calls `draw` now and whenever one of the choices changes that it depends on. */
function follow(names, draw) {
  listeners.push((changed) => names.some((name) => changed.has(name)) && draw());
  draw();
}

/** What the views of energy depend on. */
const FILTERS = ["stage", "pass", "part"];

/** Chooses something; the address follows. What is typed replaces the entry of the history, all else adds one. */
function go(change, { replaces = false } = {}) {
  const before = { ...state };
  Object.assign(state, change);
  const changed = new Set(Object.keys(NOTHING).filter((name) => state[name] !== before[name]));
  if (changed.size === 0) return;
  if (!changed.has("see") && !replaces) state.see = "";
  missing = [];
  const address = written();
  try {
    history[replaces ? "replaceState" : "pushState"](null, "", address || location.pathname + location.search);
  } catch {
    // Some browsers refuse it to files.
    if (!replaces) location.hash = address;
  }
  announce(changed);
}

function announce(changed) {
  tooltip.hide();
  listeners.forEach((listener) => listener(changed));
}

/** The state as the end of an address; empty when nothing is chosen. */
function written() {
  const plain = (text) => encodeURIComponent(text).replaceAll("%2F", "/").replaceAll("%20", "+");
  const words = Object.keys(NOTHING).filter((name) => state[name] !== NOTHING[name])
    .map((name) => `${name}=${plain(name === "layer" ? pathOf(state.layer) : state[name])}`);
  return words.length ? `#${words.join("&")}` : "";
}

/** The state that an address asks for. What it asks for in vain is in `missing`. */
function read() {
  const asked = { ...NOTHING };
  missing = [];
  const text = location.hash.slice(1);
  // A plain anchor is a section.
  const words = text && !text.includes("=") ? [["see", text]] : [...new URLSearchParams(text)];
  const known = {
    stage: (name) => STAGES.includes(name), pass: (name) => PASSES.includes(name),
    part: (name) => data.bar.some((segment) => segment.segment === name && segment.energy_j > 0),
    show: (name) => name === "flow", time: (name) => name === "step" && Boolean(data.power.step),
  };
  for (const [name, value] of words) {
    if (!(name in NOTHING)) continue;
    if (name === "layer") {
      const path = value.split("/").filter(Boolean).join("/");
      if (nodeOf.has(path)) asked.layer = nodeOf.get(path);
      else missing.push(`There is no layer “${value}” in this run.`);
    } else if (known[name] && !known[name](value)) missing.push(`There is no ${name} “${value}” in this run.`);
    else asked[name] = value;
  }
  return asked;
}

/** Takes over what the address asks for. */
function followAddress() {
  const before = { ...state };
  const had = missing.length;
  Object.assign(state, read());
  const changed = new Set(Object.keys(NOTHING).filter((name) => state[name] !== before[name]));
  if (changed.size || missing.length || had) announce(changed.add("missing"));
  if (state.see) see(state.see, "instant");
}

/** Brings a section into sight. */
function see(id, behavior = "auto") {
  const section = document.getElementById(id);
  if (!section) return;
  if (section.tagName === "DETAILS") section.open = true;
  section.querySelector("details")?.setAttribute("open", "");
  section.scrollIntoView({ behavior });
}
