// Words and elements: numbers with units as jouletree writes them everywhere (never broken from their units), and a short way
// to make elements.

const PREFIXES = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];

/** A number with three digits and the prefix that suits it. */
function withUnit(value, unit) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "unknown";
  if (value === 0) return `0\u00a0${unit}`;
  const [factor, prefix] = PREFIXES.find(([factor]) => Math.abs(value) >= factor * 0.9995) ?? PREFIXES.at(-1);
  const scaled = value / factor;
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(scaled) * 1.0005)));
  return `${scaled.toFixed(Math.min(digits, 3))}\u00a0${prefix}${unit}`;
}

/** A sentence whose numbers stay with their units. */
const unbroken = (text) => text.replaceAll(/(\d) (%|[GMkmµn]?[JW]\b)/g, "$1\u00a0$2");

const joules = (value) => withUnit(value, "J");
const watts = (value) => withUnit(value, "W");
const kilowattHours = (value) => withUnit(value / 3600, "Wh");

function seconds(value) {
  if (value >= 3600) return `${Math.floor(value / 3600)} h ${Math.round((value % 3600) / 60)} min`;
  if (value >= 120) return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
  return withUnit(value, "s");
}

function percent(share) {
  if (!Number.isFinite(share)) return "";
  const value = 100 * share;
  if (value > 0 && value < 0.05) return "<\u00a00.1\u00a0%";
  return `${value.toFixed(1)}\u00a0%`;
}

const count = (value) => value.toLocaleString("en-GB").replaceAll(",", "\u202f");

/** A name in at most `most` characters; what is in its middle matters least. */
function shortened(name, most) {
  const letters = Array.from(name);
  if (letters.length <= most) return name;
  const head = Math.ceil((most - 1) * 0.45);
  return `${letters.slice(0, head).join("")}…${letters.slice(letters.length - (most - 1 - head)).join("")}`;
}

/** A path in at most `most` characters: its last name and the numbered layers stay, and of the others as many as fit. */
function shortPath(path, most) {
  if (path.length <= most) return path;
  const names = path.split("/");
  const last = names.length - 1;
  const joined = (kept) => names.map((name, at) => (kept.has(at) ? name : "…"))
    .filter((name, at, all) => name !== "…" || all[at - 1] !== "…").join("/");
  let kept = new Set([last]);
  const numbered = names.flatMap((name, at) => (/\d/.test(name) && at !== last ? [at] : []));
  // The others from the end, which says more than the beginning.
  const others = names.map((_, at) => at).reverse().filter((at) => !numbered.includes(at));
  for (const at of [...numbered, ...others]) {
    const more = new Set([...kept, at]);
    if (joined(more).length <= most) kept = more;
  }
  return shortened(joined(kept), most);
}

/** Paths in at most `most` characters each; those that would be the same stay whole. */
function shortPaths(paths, most) {
  const short = paths.map((path) => shortPath(path, most));
  return short.map((text, at) => (short.some((other, place) => other === text && paths[place] !== paths[at]) ? paths[at] : text));
}

/** An element; attributes that begin with `on` are listeners. Children are elements or text, never markup. */
function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function drawn(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "style") for (const [name, text] of Object.entries(value)) made.style.setProperty(name, text);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/** A new section at the end of the page. */
function section(id, title, ...children) {
  const made = element("section", { id, "aria-labelledby": `${id}-title` },
    element("h2", { id: `${id}-title` }, title), ...children);
  document.getElementById("main").append(made);
  document.getElementById("contents").append(element("a", {
    href: `#${id}`,
    onclick: (event) => {
      event.preventDefault();
      go({ see: id });
      see(id);
    },
  }, title));
  return made;
}

const nothing = (text) => element("p", { class: "nothing" }, text);

/** What is estimated or derived is never taken for a measurement. */
const kindMark = (kind) => (kind ? element("span", { class: `kind ${kind}` }, kind) : null);

/** Shows a few lines beside whatever the pointer or the keyboard is on. */
const tooltip = {
  target: null,
  show(lines, target) {
    const box = document.getElementById("tooltip");
    box.replaceChildren(...lines.map((line, index) => element(index ? "span" : "strong", {}, line)));
    box.hidden = false;
    tooltip.target = target;
    tooltip.place();
  },
  place() {
    const box = document.getElementById("tooltip");
    const at = tooltip.target.getBoundingClientRect();
    const size = box.getBoundingClientRect();
    const left = Math.min(at.left + Math.min(at.width / 2, 200) - size.width / 2, innerWidth - size.width - 8);
    const below = at.bottom + 8 + size.height < innerHeight;
    box.style.left = `${Math.max(8, left)}px`;
    box.style.top = `${below ? at.bottom + 8 : Math.max(8, at.top - size.height - 8)}px`;
  },
  hide() {
    document.getElementById("tooltip").hidden = true;
    tooltip.target = null;
  },
  /** What the keyboard is on may have been scrolled into sight just now. */
  scrolled() {
    if (tooltip.target && tooltip.target === document.activeElement) tooltip.place();
    else tooltip.hide();
  },
  /** The listeners by which an element shows some lines. */
  on(lines) {
    const show = (event) => tooltip.show(lines(), event.currentTarget);
    const showFocused = (event) => event.currentTarget.matches(":focus-visible") && show(event);
    return { onpointerenter: show, onfocus: showFocused, onpointerleave: tooltip.hide, onblur: tooltip.hide };
  },
};

/** Buttons of which one is pressed; `choose` is called with its value. The group's `press` shows another one as pressed. */
function choice(label, attribute, options, chosen, choose) {
  const buttons = options.map(([value, text]) => element("button", {
    type: "button", [attribute]: value, onclick: () => choose(value),
  }, text));
  const group = element("div", { class: "choice", role: "group", "aria-label": label }, ...buttons);
  group.press = (value) => buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.getAttribute(attribute) === value)));
  group.press(chosen);
  return group;
}

const head = (names) => element("thead", {}, element("tr", {}, ...names.map((name) => element("th", { scope: "col" }, name))));

/** Something that may be wider than the page and then scrolls by itself. */
const wide = (content, label = "table") => element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": label }, content);

/** A word with its article: `an evaluate`, `a train`. */
const article = (word) => `${/^[aeiou]/i.test(word) ? "an" : "a"} ${word}`;

/** By how much an energy leans to the warm end of the scale: as far as it is a part of the whole. */
const heat = (share) => `${Math.round(100 * Math.min(1, Math.max(0, share)) ** 0.6)}%`;
