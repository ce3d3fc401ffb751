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
  document.getElementById("contents").append(element("a", { href: `#${id}` }, title));
  return made;
}

const nothing = (text) => element("p", { class: "nothing" }, text);

/** What is estimated or derived is never taken for a measurement. */
const kindMark = (kind) => (kind ? element("span", { class: `kind ${kind}` }, kind) : null);

/** Shows a few lines beside whatever the pointer or the keyboard is on. */
const tooltip = {
  show(lines, target) {
    const box = document.getElementById("tooltip");
    box.replaceChildren(...lines.map((line, index) => element(index ? "span" : "strong", {}, line)));
    box.hidden = false;
    const at = target.getBoundingClientRect();
    const size = box.getBoundingClientRect();
    const left = Math.min(Math.max(8, at.left + Math.min(at.width / 2, 200) - size.width / 2), innerWidth - size.width - 8);
    const below = at.bottom + 8 + size.height < innerHeight;
    box.style.left = `${Math.max(8, left)}px`;
    box.style.top = `${below ? at.bottom + 8 : Math.max(8, at.top - size.height - 8)}px`;
  },
  hide() {
    document.getElementById("tooltip").hidden = true;
  },
  /** The listeners by which an element shows some lines. */
  on(lines) {
    const show = (event) => tooltip.show(lines(), event.currentTarget);
    return { onpointerenter: show, onfocus: show, onpointerleave: tooltip.hide, onblur: tooltip.hide };
  },
};

/** Buttons of which one is pressed. */
function choice(label, attribute, options, chosen, choose) {
  const buttons = options.map(([value, text]) => element("button", {
    type: "button", [attribute]: value, "aria-pressed": String(value === chosen),
    onclick: () => {
      buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.getAttribute(attribute) === value)));
      choose(value);
    },
  }, text));
  return element("div", { class: "choice", role: "group", "aria-label": label }, ...buttons);
}
