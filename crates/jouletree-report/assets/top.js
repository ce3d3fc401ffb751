// The ten largest operations by energy and by power, equal blocks of the model summed (STEF and STPF).

function top10() {
  const made = section("top", "Top operations");
  if (data.top_energy.length === 0) {
    made.append(nothing("No operation was charged with energy."));
    return;
  }
  made.append(
    element("p", { class: "hint" }, `Repeated layers are added up. Power is shown of operations that are large and long enough to have a power of their own.${data.runs > 1 ? " Whiskers are one standard deviation over the runs." : ""}`),
    element("div", { class: "columns" },
      bars("by energy", data.top_energy, (bar) => bar.energy, (bar) => bar.energy_sd, joules),
      // What is predicted takes no time yet.
      data.top_power.some((bar) => bar.power !== null)
        ? bars("by joules over operation time", data.top_power, (bar) => bar.power, (bar) => bar.power_sd, watts) : ""));
}

function bars(title, rows, value, sd, written) {
  const longest = Math.max(...rows.map((row) => value(row) + (sd(row) ?? 0)));
  const part = (figure) => `${((100 * figure) / longest).toFixed(2)}%`;
  const bar = (row) => {
    const spread = sd(row);
    return element("li", {
      tabindex: 0, "data-path": row.path, "data-value": value(row), "data-sd": spread,
      ...tooltip.on(() => [row.label, `${row.op_type} on ${row.device}, ${row.pass}`,
        `${joules(row.energy)}${row.energy_sd === null ? "" : ` ± ${joules(row.energy_sd)}`}`,
        row.power === null ? "" : `${watts(row.power)}${row.power_sd === null ? "" : ` ± ${watts(row.power_sd)}`} over ${seconds(row.busy)} of operation time, summed`,
        `${count(row.count)} times`].filter(Boolean)),
    },
    element("span", { class: "path" }, element("bdi", {}, row.label)),
    element("span", { class: "track" },
      element("span", { class: `bar ${row.pass}`, style: { width: part(value(row)) } }),
      spread === null ? null : element("span", { class: "whisker", style: { left: part(Math.max(0, value(row) - spread)), width: part(spread + Math.min(spread, value(row))) } })),
    element("span", { class: "figure" }, written(value(row)), spread === null ? "" : ` ± ${written(spread)}`),
    element("span", { class: "note" }, `${row.op_type} · ${row.pass} · ${row.device}`));
  };
  return element("div", { class: "bars" }, element("h3", {}, title), element("ol", {}, ...rows.map(bar)));
}
