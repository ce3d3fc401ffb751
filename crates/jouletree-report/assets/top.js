// The ten largest operations by energy and by power, equal blocks of the model added up (STEF and STPF). Each leads to its layer.

const TOP = 10;

function top10() {
  const made = section("top", "Top operations");
  const body = element("div", { class: "columns" });
  made.append(
    element("p", { class: "hint" }, `Repeated layers are added up. Power: ${ops.floor.words}.${data.runs > 1 ? " Whiskers are one standard deviation over the runs." : ""}`), body);
  follow([...FILTERS, "find"], () => {
    const shown = view();
    const groups = sumsBy(shown, (row) => ops.group[row], isAsked(state.find)).filter((group) => group.energy > 0);
    if (groups.length === 0) {
      body.replaceChildren(nothing(state.part ? emptyWords() : "No operation was charged with energy."));
      return;
    }
    // A part of a group has no deviation of its own.
    const isWhole = shown.isAll && !state.find;
    const rows = groups.map((group) => ({ ...group, spread: spreadOf(group.name, isWhole) }));
    const watt = (row) => share(row.energy, row.busy);
    const byPower = rows.filter((row) => row.energy >= ops.floor.share * shown.total && row.busy >= ops.floor.seconds[ops.device[row.row]])
      .sort((one, other) => watt(other) - watt(one));
    body.replaceChildren(
      topBars("by energy", rows.slice(0, TOP), (row) => row.energy, (row) => row.spread.energy, joules),
      // What is predicted takes no time yet.
      byPower.length ? topBars("by joules over operation time", byPower.slice(0, TOP), watt, (row) => row.spread.power, watts) : "");
  });
}

/** By how much the energy and the power of a group may be off: over runs, or by the attribution. */
function spreadOf(group, isWhole) {
  const [energy, power] = (isWhole ? ops.groups.sd[group] : null) ?? [null, null];
  const error = isWhole ? ops.groups.error[group] ?? null : null;
  return { energy: energy ?? error, power, words: energy !== null ? `over ${data.runs} runs` : "own, one standard error" };
}

/** What a group of operations is called. */
const groupLabel = (group) => ops.groups.label[group.name] ?? labelOf(group.row);

function topBars(title, rows, value, sd, written) {
  const longest = Math.max(...rows.map((row) => value(row) + (sd(row) ?? 0)));
  const names = shortPaths(rows.map(groupLabel), 56);
  const bar = (row, at) => {
    const [spread, label] = [sd(row), groupLabel(row)];
    const [kind, pass, device] = [ops.types[ops.kind[row.row]], PASSES[ops.pass[row.row]], ops.devices[ops.device[row.row]]];
    const path = pathOf(ops.node[row.row]);
    return element("li", { "data-label": label, "data-path": path, "data-value": value(row), "data-sd": spread },
      element("button", {
        type: "button", class: "path", title: label, onclick: () => { go({ layer: ops.node[row.row] }); see("layers"); },
        ...tooltip.on(() => [label, `${kind} on ${device}, ${pass}`, `${joules(row.energy)}${row.spread.energy === null ? "" : ` ± ${joules(row.spread.energy)} ${row.spread.words}`}`,
          shares(row.energy), row.busy > 0 ? `${watts(row.energy / row.busy)} over ${seconds(row.busy)} of operation time, summed` : "",
          `${count(row.count)} executions`, path === label ? "" : `largest: ${path}`].filter(Boolean)),
      }, element("bdi", {}, names[at])),
      element("span", { class: "track" },
        element("span", { class: `bar ${pass}`, style: { width: percentOf(share(value(row), longest)) } }),
        spread === null ? null : element("span", { class: "whisker", style: { left: percentOf(share(Math.max(0, value(row) - spread), longest)), width: percentOf(share(spread + Math.min(spread, value(row)), longest)) } })),
      element("span", { class: "figure" }, written(value(row)), spread === null ? "" : ` ± ${written(spread)}`),
      element("span", { class: "note" }, `${kind} · ${pass} · ${device}`));
  };
  return element("div", {}, element("h3", {}, title), element("ol", { class: "bars top-bars" }, ...rows.map(bar)));
}
