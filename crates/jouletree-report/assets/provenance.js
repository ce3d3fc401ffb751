// Provenance: how the numbers came to be, and how to get them again.

function provenance() {
  const made = section("provenance", "Provenance");
  const device = element("div", {}, element("h3", {}, "Devices"), deviceTable());
  made.append(element("details", {}, element("summary", {}, "Command, machine, meters, versions"), data.devices.length ? device : "", ...data.provenance.map(provenanceOf)));
  if (data.warnings.length) {
    made.append(element("details", {}, element("summary", {}, `${count(data.warnings.length)} caveat${data.warnings.length > 1 ? "s" : ""}`),
      element("ul", { class: "warnings" }, ...data.warnings.map((text) => element("li", {}, text)))));
  }
}

function provenanceOf(run, number) {
  return element("div", {},
    data.runs > 1 ? element("h3", {}, `Run ${number + 1}`) : element("h3", {}, "Run"),
    element("dl", {}, ...run.facts.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)])),
    run.sensors.length ? wide(element("table", { class: "texts" }, head(["device", "part", "kind", "sensor"]),
      element("tbody", {}, ...run.sensors.map(([device, part, kind, source]) => element("tr", {},
        element("th", { scope: "row" }, device), element("td", { class: "text" }, part), element("td", { class: "text" }, kindMark(kind)), element("td", { class: "text" }, source))))), "Sensors") : "",
    element("h4", {}, "Reproduce"),
    element("pre", {}, element("code", {}, run.commands.join("\n"))));
}

function deviceTable() {
  const row = (device) => element("tr", {},
    element("th", { scope: "row" }, device.device, " ", kindMark(device.kind)),
    element("td", {}, joules(device.energy)),
    element("td", {}, device.bounds ? `${joules(device.energy * device.bounds[0])} … ${joules(device.energy * device.bounds[1])}` : ""),
    element("td", {}, device.seconds > 0 ? watts(device.energy / device.seconds) : ""),
    element("td", {}, joules(device.attributed)), element("td", {}, joules(device.idle)), element("td", {}, joules(device.unrecorded)));
  return wide(element("table", {},
    head(["device", "energy", "95 %", "mean power", "operations", "between operations", "outside recorded steps"]),
    element("tbody", {}, ...data.devices.map(row))), "Devices");
}
