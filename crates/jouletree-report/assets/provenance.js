// Provenance: how the numbers came to be, and how to get them again.

function provenance() {
  const made = section("provenance", "Provenance");
  if (data.warnings.length) {
    made.append(element("h3", {}, "To bear in mind"), element("ul", { class: "warnings" }, ...data.warnings.map((text) => element("li", {}, text))));
  }
  data.provenance.forEach((run, number) => {
    const parts = [
      element("dl", {}, ...run.facts.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)])),
      run.sensors.length ? wide(element("table", {}, head(["device", "part", "kind", "sensor"]),
        element("tbody", {}, ...run.sensors.map(([device, part, kind, source]) => element("tr", {},
          element("th", { scope: "row" }, device), element("td", {}, part), element("td", {}, kindMark(kind)), element("td", { class: "text" }, source)))))) : null,
      element("h4", {}, "To do it again"),
      element("pre", {}, element("code", {}, run.commands.join("\n"))),
    ];
    made.append(data.runs > 1
      ? element("details", { open: number === 0 }, element("summary", {}, `run ${number + 1}`), ...parts)
      : element("div", {}, ...parts));
  });
}
