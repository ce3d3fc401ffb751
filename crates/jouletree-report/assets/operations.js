// The table of all operations: only the rows that can be seen are in the page.

const LINE = 30;

function operations() {
  const made = section("operations", "Operations");
  const ops = data.operations;
  const all = ops.energy.map((_, row) => row);
  if (all.length === 0) {
    made.append(nothing("No operation was recorded."));
    return;
  }
  const total = data.whole.energy_j;
  const label = (row) => (ops.paths[row] ?? pathOf(ops.node[row])) + (ops.marks[row] === undefined ? "" : ` (${ops.marks[row]})`);
  const columns = [
    { name: "operation", csv: "label", value: label },
    { name: "type", value: (row) => ops.types[ops.kind[row]], class: "minor" },
    { name: "pass", value: (row) => PASSES[ops.pass[row]], class: "minor" },
    { name: "device", value: (row) => ops.devices[ops.device[row]], class: "minor" },
    { name: "energy", csv: "energy_j", value: (row) => ops.energy[row], written: joules },
    ...(data.runs > 1 ? [{ name: "sd", csv: "sd_j", value: (row) => ops.sd[row], written: joules, class: "minor" }] : []),
    { name: "of the run", csv: "run_share", value: (row) => ops.energy[row] / total, written: percent },
    { name: "operation power", csv: "power_w", value: (row) => (ops.busy[row] > 0 ? ops.energy[row] / ops.busy[row] : null), written: (value) => (value === null ? "" : watts(value)), class: "minor" },
    { name: "time, summed", csv: "busy_s", value: (row) => ops.busy[row], written: seconds, class: "minor" },
    { name: "count", value: (row) => ops.count[row], written: count, class: "minor" },
  ];
  const look = (column) => `${column.class ?? ""} ${column.written ? "number" : "word"}`;
  const state = { rows: all, by: columns[4], falling: true };
  const filter = element("input", { type: "search", id: "operations-filter", placeholder: "filter: words of path, type, pass, device", "aria-label": "Filter operations", autocomplete: "off" });
  const copy = element("button", { type: "button", id: "operations-copy" }, "copy as CSV");
  const told = element("p", { class: "told", "aria-live": "polite" });
  const body = element("tbody");
  const headers = columns.map((column) => element("th", { scope: "col", class: look(column) },
    element("button", { type: "button", onclick: () => sort(column) }, column.name)));
  const frame = element("div", { class: "wide rows", tabindex: 0, role: "region", "aria-label": "All operations" },
    element("table", {}, element("thead", {}, element("tr", {}, ...headers)), body));
  made.append(element("div", { class: "bar" }, filter, copy), told, frame);

  const arrange = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (row) => columns.slice(0, 4).map((column) => column.value(row)).join(" ").toLowerCase();
    state.rows = words.length ? all.filter((row) => { const whole = text(row); return words.every((word) => whole.includes(word)); }) : [...all];
    const keys = new Map(state.rows.map((row) => [row, state.by.value(row)]));
    const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    state.rows.sort((a, b) => (state.falling ? -1 : 1) * order(keys.get(a) ?? -1, keys.get(b) ?? -1) || a - b);
    headers.forEach((header, index) => {
      if (columns[index] === state.by) header.setAttribute("aria-sort", state.falling ? "descending" : "ascending");
      else header.removeAttribute("aria-sort");
    });
    const energy = state.rows.reduce((sum, row) => sum + ops.energy[row], 0);
    told.textContent = `${count(state.rows.length)} of ${count(all.length)} operations, ${joules(energy)}, ${percent(energy / total)} of the run`;
    frame.scrollTop = 0;
    draw();
  };
  const sort = (column) => {
    state.falling = state.by === column ? !state.falling : Boolean(column.written);
    state.by = column;
    arrange();
  };
  const draw = () => {
    const visible = Math.ceil((frame.clientHeight || 600) / LINE) + 12;
    const first = Math.max(0, Math.min(Math.floor(frame.scrollTop / LINE) - 6, state.rows.length - visible));
    const shown = state.rows.slice(first, first + visible);
    const space = (rows) => element("tr", { class: "space", "aria-hidden": "true", style: { height: `${rows * LINE}px` } });
    body.replaceChildren(space(first), ...shown.map((row) => element("tr", { "data-row": row },
      ...columns.map((column, index) => {
        const value = column.value(row);
        const text = column.written ? column.written(value) : value;
        return index === 0
          ? element("th", { scope: "row", title: value }, element("bdi", {}, text))
          : element("td", { class: look(column), "data-value": value, title: column.written ? null : value }, text);
      }))), space(Math.max(0, state.rows.length - first - shown.length)));
  };
  const csv = () => {
    // A name that a spreadsheet would compute becomes text, as in the command's own tables.
    const plain = (text) => (/^[=+\-@\t\r\n＝＋－＠]/.test(text) ? "'" : "") + text.replace(/[\t\r\n]/g, " ").replace(/\p{Cc}/gu, "\ufffd");
    const quoted = (text) => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const cell = (value) => (value === null ? "" : typeof value === "number" ? String(value) : quoted(plain(value)));
    // The names of `jouletree show --by op --format csv`.
    const path = { csv: "path", value: (row) => ops.paths[row] ?? pathOf(ops.node[row]) };
    const written = [path, ...columns];
    const title = written.map((column) => column.csv ?? column.name).join(",");
    return [title, ...state.rows.map((row) => written.map((column) => cell(column.value(row))).join(","))].join("\n") + "\n";
  };
  window.jouletree.csv = csv;
  copy.addEventListener("click", async () => {
    const text = csv();
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Pages from disk may not be allowed to: the old way.
      const field = element("textarea", { id: "operations-csv", "aria-hidden": "true" });
      field.value = text;
      made.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    copy.textContent = `copied ${count(state.rows.length)} rows`;
    setTimeout(() => { copy.textContent = "copy as CSV"; }, 2000);
  });
  let waiting = false;
  frame.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  });
  filter.addEventListener("input", arrange);
  arrange();
}
