// The table of all operations: only the rows that can be seen are in the page.

const LINE = 30;
/** So many rows are on paper. */
const PRINTED = 40;

/** What may be unknown, as text. */
const maybe = (written) => (value) => (value === null || value === undefined ? "" : written(value));

function operations() {
  const made = section("operations", "Operations");
  const all = ops.energy.map((_, row) => row);
  let shown = view();
  const now = (column) => (row) => shown.rows[column][row];
  const power = (row) => (now("busy")(row) > 0 ? now("energy")(row) / now("busy")(row) : null);
  const columns = [
    { name: "operation", csv: "label", value: labelOf },
    { name: "type", value: (row) => ops.types[ops.kind[row]], class: "minor" },
    { name: "pass", value: (row) => PASSES[ops.pass[row]], class: "minor pass" },
    { name: "device", value: (row) => ops.devices[ops.device[row]], class: "minor" },
    { name: "energy", csv: "energy_j", value: now("energy"), written: joules },
    ...(data.runs > 1 ? [{ name: "sd", csv: "sd_j", value: (row) => (state.stage ? null : ops.sd[row]), written: maybe(joules), class: "minor" }] : []),
    ...(ops.error.length ? [{ name: "± own", csv: "standard_error_j", value: (row) => (state.stage ? null : ops.error[row]), written: maybe(joules), class: "minor" }] : []),
    { name: "of the run", csv: "run_share", value: (row) => ofRun(now("energy")(row)), written: percent, class: "spare" },
    { name: "op power", csv: "power_w", value: power, written: maybe(watts), class: "minor" },
    { name: "time, summed", csv: "busy_s", value: now("busy"), written: seconds, class: "minor" },
    { name: "count", value: now("count"), written: count, class: "minor" },
  ];
  const look = (column) => `${column.class ?? ""} ${column.written ? "number" : "word"}`;
  const order = { rows: all, by: columns[4], falling: true };
  const copy = element("button", { type: "button", id: "operations-copy" }, "copy as CSV");
  const sum = element("p", { class: "says", "aria-live": "polite" });
  const body = element("tbody");
  const headers = columns.map((column) => element("th", { scope: "col", class: look(column) },
    element("button", { type: "button", onclick: () => sort(column) }, column.name)));
  const frame = element("div", { class: "wide rows", tabindex: 0, role: "region", "aria-label": "All operations" },
    element("table", {}, element("thead", {}, element("tr", {}, ...headers)), body));
  made.append(element("div", { class: "bar" }, sum, copy), frame);

  const arrange = () => {
    shown = view();
    const isWanted = isAsked(state.find);
    // Of a part of the run only what ran in it.
    order.rows = all.filter((row) => (shown.isAll || shown.rows.energy[row] > 0 || shown.rows.count[row] > 0) && isWanted(row));
    const keys = new Map(order.rows.map((row) => [row, order.by.value(row)]));
    const compared = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    order.rows.sort((a, b) => (order.falling ? -1 : 1) * compared(keys.get(a) ?? -1, keys.get(b) ?? -1) || a - b);
    headers.forEach((header, index) => {
      if (columns[index] === order.by) header.setAttribute("aria-sort", order.falling ? "descending" : "ascending");
      else header.removeAttribute("aria-sort");
    });
    const energy = order.rows.reduce((sum, row) => sum + shown.rows.energy[row], 0);
    sum.textContent = `${count(order.rows.length)} of ${count(all.length)} operations, ${joules(energy)}, ${percent(ofRun(energy))} of the run`;
    frame.scrollTop = 0;
    draw();
  };
  const sort = (column) => {
    order.falling = order.by === column ? !order.falling : Boolean(column.written);
    order.by = column;
    arrange();
  };
  const cell = (row, column, index) => {
    const value = column.value(row);
    const text = column.written ? column.written(value) : value;
    if (index > 0) return element("td", { class: look(column), "data-value": value, title: column.written ? null : value }, text);
    const letters = paperWidth === null ? Math.max(12, Math.floor((headers[0].clientWidth - 20) / 7.1)) : 44;
    return element("th", { scope: "row", title: value }, element("button", {
      type: "button", "data-path": pathOf(ops.node[row]), onclick: () => { go({ layer: ops.node[row] }); see("layers"); },
    }, element("bdi", {}, shortPath(text, letters))));
  };
  const draw = () => {
    const visible = paperWidth === null ? Math.ceil((frame.clientHeight || 600) / LINE) + 12 : PRINTED;
    const first = paperWidth === null ? Math.max(0, Math.min(Math.floor(frame.scrollTop / LINE) - 6, order.rows.length - visible)) : 0;
    const seen = order.rows.slice(first, first + visible);
    const space = (rows) => element("tr", { class: "space", "aria-hidden": "true", style: { height: `${paperWidth === null ? rows * LINE : 0}px` } }, element("td"));
    body.replaceChildren(space(first), ...seen.map((row) => element("tr", { "data-row": row }, ...columns.map((column, index) => cell(row, column, index)))),
      space(Math.max(0, order.rows.length - first - seen.length)));
  };
  const csv = () => {
    // A name that a spreadsheet would compute becomes text, as in the command's own tables.
    const plain = (text) => (/^[=+\-@\t\r\n＝＋－＠]/.test(text) ? "'" : "") + text.replace(/[\t\r\n]/g, " ").replace(/\p{Cc}/gu, "\ufffd");
    const quoted = (text) => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const written = (value) => (value === null ? "" : typeof value === "number" ? String(value) : quoted(plain(value)));
    // The names of `jouletree show --by op --format csv`.
    const path = { csv: "path", value: (row) => ops.paths[row] ?? pathOf(ops.node[row]) };
    const all = [path, ...columns];
    const title = all.map((column) => column.csv ?? column.name).join(",");
    return [title, ...order.rows.map((row) => all.map((column) => written(column.value(row))).join(","))].join("\n") + "\n";
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
    copy.textContent = `copied ${count(order.rows.length)} rows`;
    setTimeout(() => { copy.textContent = "copy as CSV"; }, 2000);
  });
  let waiting = false;
  frame.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  });
  onWidth(frame, draw);
  follow([...FILTERS, "find"], arrange);
}
