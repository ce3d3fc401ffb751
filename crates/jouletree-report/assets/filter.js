// The bar that stays in sight: search, stage and pass, which filter all that is below it.

function filterBar() {
  const find = element("input", {
    type: "search", id: "find", placeholder: "Find a layer or an operation", "aria-label": "Find a layer or an operation",
    autocomplete: "off", spellcheck: "false",
  });
  const found = element("ul", { class: "found", hidden: true });
  const stage = element("select", { id: "stage", "aria-label": "Stage" },
    element("option", { value: "" }, "all stages"), ...STAGES.map((name) => element("option", { value: name }, name)));
  const passes = choice("Pass", "data-pass", [[ALL, element("span", {}, "all", element("span", { class: "roomy" }, " passes"))], ...usedPasses.map((pass) => [pass, pass])], state.pass,
    (pass) => go({ pass, part: "" }));
  const all = element("button", { type: "button", id: "show-all", onclick: () => go({ ...NOTHING, layer: state.layer, show: state.show, time: state.time }) }, "show all");
  const says = element("p", { id: "filter-says", class: "says", role: "status" });
  const bar = element("div", { id: "filter", role: "search", "aria-label": "Filter" },
    element("div", { class: "controls" }, element("div", { class: "finder" }, find, found),
      STAGES.length ? stage : null, usedPasses.length > 1 ? passes : null, all), says);
  document.getElementById("main").append(bar);
  stage.addEventListener("change", () => go({ stage: stage.value, part: "" }));
  find.addEventListener("input", () => go({ find: find.value }, { replaces: true }));
  bar.addEventListener("keydown", (event) => {
    const buttons = [find, ...found.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    if (event.key === "Enter" && document.activeElement === find) {
      const first = foundNodes(state.find)?.[0];
      if (first !== undefined) chooseFound(first);
    } else if (event.key === "Escape" && at >= 0) {
      go({ find: "" }, { replaces: true });
      find.focus();
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && at >= 0 && !found.hidden) {
      buttons[Math.min(buttons.length - 1, Math.max(0, at + (event.key === "ArrowDown" ? 1 : -1)))].focus();
    } else return;
    event.preventDefault();
  });
  // A list that is open hides what is below it.
  bar.addEventListener("focusout", (event) => { if (!bar.contains(event.relatedTarget)) found.hidden = true; });
  find.addEventListener("focus", () => { found.hidden = found.children.length === 0; });
  const chooseFound = (node) => {
    found.hidden = true;
    go({ layer: node });
    see("layers");
  };
  follow([...FILTERS, "find", "missing"], () => {
    if (find.value !== state.find) find.value = state.find;
    stage.value = state.stage;
    passes.press(state.pass);
    all.hidden = !(FILTERS.some((name) => state[name] !== NOTHING[name]) || state.find);
    const nodes = foundNodes(state.find);
    showFound(nodes, found, chooseFound);
    found.hidden = !found.children.length || document.activeElement !== find;
    says.replaceChildren(...sayings(nodes).map((text) => element("span", {}, text)));
  });
}

/** What is shown, in words and joules. */
function sayings(nodes) {
  const shown = view();
  const segment = data.bar.find((known) => known.segment === state.part);
  const lines = [...missing];
  if (segment) lines.push(`${segment.name}: ${joules(segment.energy_j)}, ${percent(ofRun(segment.energy_j))} of the run. No layer was recorded there.`);
  else if (state.stage || state.pass !== ALL) {
    const names = [state.pass === ALL ? "all operations" : state.pass === "optimizer" ? "optimizer" : `${state.pass} pass`, state.stage ? `in ${state.stage}` : ""];
    lines.push(`${names.filter(Boolean).join(" ")}: ${joules(shown.total)}, ${shares(shown.total)}`);
  }
  if (nodes) {
    const set = new Set(nodes);
    const outermost = nodes.filter((node) => !ancestry(tree.parent[node]).some((above) => set.has(above)));
    const energy = outermost.reduce((sum, node) => sum + shown.energy[node], 0);
    const kind = kindAsked(state.find);
    lines.push(nodes.length ? `${count(nodes.length)} found, ${joules(energy)}, ${percent(ofRun(energy))} of the run`
      : kind !== null ? `operations of the kind ${kind}` : `nothing is called “${state.find}”`);
  }
  return lines;
}

/** The kind of operation that a search asks for: `type:MatMul`. */
const kindAsked = (text) => text.match(/^type:(.+)$/)?.[1] ?? null;

/** The nodes that hold all words, largest first; `null` when there are no words. */
function foundNodes(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return null;
  if (kindAsked(text) !== null) return [];
  const nodes = [];
  for (const [path, node] of nodeOf) {
    if (node === ROOT) continue;
    const whole = path.toLowerCase();
    const last = tree.name[node].toLowerCase();
    // Only where the last word is in the name itself: otherwise everything below would be found as well.
    if (words.every((word) => whole.includes(word)) && words.some((word) => last.includes(word) || whole.endsWith(word))) nodes.push(node);
  }
  const { energy } = view();
  return nodes.sort((a, b) => energy[b] - energy[a] || a - b);
}

function showFound(nodes, list, choose) {
  const { energy } = view();
  const first = (nodes ?? []).slice(0, 8);
  const names = shortPaths(first.map(pathOf), Math.floor(Math.min(540, innerWidth - 130) / 7.4));
  list.replaceChildren(...first.map((node, at) => element("li", {},
    element("button", { type: "button", "data-path": pathOf(node), title: pathOf(node), onclick: () => choose(node) }, names[at]),
    element("span", {}, joules(energy[node])))));
}

/** Whether an operation is one of those that a search asks for. */
function isAsked(text) {
  const kind = kindAsked(text);
  if (kind !== null) return (row) => ops.types[ops.kind[row]] === kind;
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return () => true;
  return (row) => {
    const whole = `${labelOf(row)} ${ops.types[ops.kind[row]]} ${PASSES[ops.pass[row]]} ${ops.devices[ops.device[row]]}`.toLowerCase();
    return words.every((word) => whole.includes(word));
  };
}
