//! One whole: every output of a run has the same joules for the run, each stage, pass, layer and operation, and where one
//! operation is listed, no other has the same name.

use crate::common;
use crate::decoded;
use crate::export::{FlatRow, parquet_table};

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use common::*;
use serde_json::Value;

/// A program with two stages, steps of which not all are recorded, and layers with operations.
const PROGRAM: &str = r#"
import time
from jouletree import _session
session = _session.current()
def work(seconds):
    until = time.time() + seconds
    while time.time() < until:
        sum(range(1000))
work(0.1)
for number in range(1, 7):
    if number in (1, 4):
        session.stage("pre-training" if number == 1 else "fine-tuning")
    step = session.next_step()
    begin = time.time_ns()
    for layer in range(2):
        start = time.time_ns()
        work(0.03)
        session.ran_module(f"net/layer_{layer}", start, time.time_ns(), 1, "Linear", "forward")
    work(0.02)
    start = time.time_ns()
    work(0.03)
    session.ran_module("net/layer_0", start, time.time_ns(), 1, "Linear", "backward")
    session.ran_step(step, begin, time.time_ns(), "train", session.plan.wants(step), 4)
    work(0.01)
"#;

fn program_run(files: &Files) -> String {
    let (folder, script) = (files.path("run"), files.write("program.py", PROGRAM));
    let mut command = jouletree();
    command.args(["run", "-q", "--no-daemon", "--level", "module", "--steps", "2..5", "-o", &folder]);
    command.args(["--sys-root", &files.path("nowhere"), "--", "python3", &script]);
    command.env("XDG_CACHE_HOME", files.path("cache"));
    ended(command.output().expect("the command starts")).ok();
    folder
}

fn sample_run(files: &Files) -> String {
    let folder = files.path("sample");
    run(["account", &sample("timeline-5.json.gz"), "--power", &sample("power.csv"), "-o", &folder]).ok();
    folder
}

fn show(folder: &str, by: &str, more: &[&str]) -> Value {
    run([&["show", folder, "--by", by, "--format", "json"], more].concat()).json()
}

fn rows(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn sum(rows: &[Value], key: &str) -> f64 {
    rows.iter().map(|row| number(row, key)).sum()
}

/// The data of the page of a run.
fn page(folder: &str) -> Value {
    let page = std::fs::read_to_string(Path::new(folder).join("report.html")).expect("a page");
    let data = page.split_once("id=\"data\">").expect("data").1.split_once("</script>").expect("its end").0;
    serde_json::from_str(data).expect("JSON")
}

/// Energy by label, pass and device.
type Operations = BTreeMap<[String; 3], f64>;

fn operations(rows: &[Value]) -> Operations {
    let key = |row: &Value| ["label", "pass", "device"].map(|key| text(row, key).to_owned());
    rows.iter().map(|row| (key(row), number(row, "energy_j"))).collect()
}

#[track_caller]
fn assert_same(found: &Operations, wanted: &Operations, what: &str) {
    assert!(found.keys().eq(wanted.keys()), "{what} has other operations");
    for (key, energy) in wanted {
        assert_close(found[key], *energy, 1e-9, &format!("{what}: {key:?}"));
    }
}

/// Fails unless the slices, passes and stages of a whole make it.
#[track_caller]
fn assert_makes_itself(whole: &Value) {
    let energy = number(whole, "energy_j");
    assert_close(sum(list(whole, "slices"), "energy_j"), energy, 1e-9, "slices");
    assert_close(sum(list(whole, "slices"), "run_share"), 1.0, 1e-9, "shares of the run");
    let slice = |name: &str| {
        let mut slices = list(whole, "slices").iter();
        number(slices.find(|slice| slice["slice"] == name).expect("a slice"), "energy_j")
    };
    assert_close(sum(list(whole, "passes"), "energy_j"), slice("operations"), 1e-9, "passes");
    assert_close(number(whole, "base_j"), slice("operations") + slice("between_operations"), 1e-9, "the base");
    if !list(whole, "stages").is_empty() {
        assert_close(sum(list(whole, "stages"), "energy_j"), energy, 1e-9, "stages");
    }
}

/// Fails unless the page has what operations used in each stage, and in groups of repeated layers, as `show` has it.
#[track_caller]
fn assert_page_filters(folder: &str, operations: &Value) {
    let numbers = |value: &Value| -> Vec<f64> {
        rows(value).iter().map(|number| number.as_f64().expect("a number")).collect()
    };
    for stage in list(operations, "stages").iter().filter(|stage| !text(stage, "name").is_empty()) {
        let shown = show(folder, "op", &["--stage", text(stage, "name")]);
        let found: f64 = numbers(&stage["energy"]).iter().sum();
        assert_close(found, sum(rows(&shown), "energy_j"), 1e-9, "a stage of the page");
        assert_eq!(rows(&stage["row"]).len(), rows(&shown).len(), "operations of {stage}");
    }
    let mut groups: BTreeMap<usize, f64> = BTreeMap::new();
    for (group, energy) in numbers(&operations["group"]).into_iter().zip(numbers(&operations["energy"])) {
        *groups.entry(group as usize).or_default() += energy;
    }
    let summary = show(folder, "op", &["--summarize"]);
    assert_eq!(groups.len(), rows(&summary).len(), "groups of the page");
    let largest = groups.values().copied().fold(0.0, f64::max);
    assert_close(largest, number(&rows(&summary)[0], "energy_j"), 1e-9, "the largest group");
    let labels: Vec<&str> = rows(&operations["groups"]["label"]).iter().filter_map(Value::as_str).collect();
    let listed: BTreeSet<&str> = rows(&summary).iter().map(|row| text(row, "label")).collect();
    assert!(labels.iter().all(|label| listed.contains(label)), "a group has another name than in `show`");
}

/// Walks every output of a run.
fn assert_one_whole(folder: &str) {
    let tree = show(folder, "layer", &[]);
    let whole = &tree["whole"];
    assert_makes_itself(whole);
    let energy = number(whole, "energy_j");
    let in_operations = number(&tree, "energy_j");
    let slices: BTreeMap<&str, f64> =
        list(whole, "slices").iter().map(|slice| (text(slice, "slice"), number(slice, "energy_j"))).collect();
    assert_close(slices["operations"], in_operations, 1e-9, "the tree");
    let passes: BTreeMap<&str, f64> =
        list(whole, "passes").iter().map(|pass| (text(pass, "pass"), number(pass, "energy_j"))).collect();

    // Devices, parts, stages, passes, types and operations.
    assert_close(sum(rows(&show(folder, "device", &[])), "measured_j"), energy, 1e-9, "devices");
    let parts = run(["show", folder, "--by", "part", "--format", "json"]);
    // What all operations used, those outside of recorded steps included: timelines show them, too.
    let mut in_all_operations = in_operations;
    if parts.code == 0 {
        let parts = parts.json();
        if !rows(&parts).is_empty() {
            assert_close(sum(rows(&parts), "energy_j"), energy, 1e-9, "parts");
            assert_close(sum(rows(&parts), "share"), 1.0, 1e-9, "shares of parts");
            in_all_operations = sum(rows(&parts), "operations_j");
        }
    }
    let stages = show(folder, "stage", &[]);
    for stage in rows(&stages) {
        let keys = ["forward_j", "backward_j", "optimizer_j", "between_operations_j", "outside_j"];
        let made: f64 = keys.iter().map(|key| number(stage, key)).sum();
        assert_close(made, number(stage, "energy_j"), 1e-9, "a stage");
        let name = text(stage, "stage");
        if name != "(before the first)" {
            let of_stage = show(folder, "layer", &["--stage", name]);
            assert_close(number(&of_stage["whole"], "energy_j"), number(stage, "energy_j"), 1e-9, name);
            let shares = sum(list(&of_stage["whole"], "slices"), "run_share");
            assert_close(shares, number(stage, "run_share"), 1e-9, "a stage is still a share of the run");
        }
    }
    if !rows(&stages).is_empty() {
        assert_close(sum(rows(&stages), "energy_j"), energy, 1e-9, "stages");
        assert_close(sum(rows(&stages), "run_share"), 1.0, 1e-9, "shares of stages");
    }
    for (pass, energy) in show(folder, "pass", &[]).as_object().expect("an object") {
        assert_close(energy.as_f64().expect("joules"), passes[pass.as_str()], 1e-9, pass);
    }
    assert_close(sum(rows(&show(folder, "type", &[])), "energy_j"), in_operations, 1e-9, "types");
    let ops = show(folder, "op", &[]);
    let wanted = operations(rows(&ops));
    assert_eq!(wanted.len(), rows(&ops).len(), "two operations have one name");
    assert_close(wanted.values().sum(), in_operations, 1e-9, "operations");
    for row in rows(&ops) {
        assert_close(number(row, "run_share"), number(row, "energy_j") / energy, 1e-9, "a share of the run");
        let base = number(row, "energy_j") / number(whole, "base_j");
        assert_close(number(row, "base_share"), base, 1e-9, "a share of the base");
    }

    // Tables as CSV.
    let table = |arguments: &[&str]| -> Vec<BTreeMap<String, String>> {
        let text = run(arguments).ok();
        let rows = csv::Reader::from_reader(text.as_bytes()).deserialize().collect::<Result<_, _>>();
        rows.expect("CSV")
    };
    let joules = |row: &BTreeMap<String, String>| row["energy_j"].parse::<f64>().expect("a number");
    let ops_csv = table(&["show", folder, "--by", "op", "--format", "csv"]);
    let key = |row: &BTreeMap<String, String>| ["label", "pass", "device"].map(|key| row[key].clone());
    assert_same(&ops_csv.iter().map(|row| (key(row), joules(row))).collect(), &wanted, "CSV");
    let layers = table(&["show", folder, "--by", "layer", "--format", "csv", "--depth", "50"]);
    assert_close(joules(&layers[0]), in_operations, 1e-9, "the root");

    // For people: each table holds all joules.
    for by in ["layer", "op", "pass", "type"] {
        let text = run(["show", folder, "--by", by, "--format", "markdown"]).ok();
        assert!(text.contains("trust: ") && text.contains("publication"), "{text}");
        for (slice, energy) in &slices {
            let name = list(whole, "slices").iter().find(|row| row["slice"] == *slice).expect("a slice");
            let is_listed = text.contains(&format!("({})", self::text(name, "name")));
            assert_eq!(is_listed, *energy > 0.0 && *slice != "operations", "{by}, {slice}: {text}");
        }
    }

    // The page, which figures share their data with.
    run(["report", folder]).ok();
    let data = page(folder);
    assert_makes_itself(&data["whole"]);
    assert_close(number(&data["whole"], "energy_j"), energy, 1e-9, "the page");
    assert_close(number(&data["total"], "energy"), energy, 1e-9, "the page's headline");
    assert_eq!(data["trust"], tree["trust"]);
    let of_stage = |stage: &Value| -> f64 {
        let passes: f64 = list(stage, "passes").iter().map(|pass| pass.as_f64().expect("joules")).sum();
        passes + number(stage, "between") + number(stage, "outside")
    };
    assert_close(list(&data, "stages").iter().map(of_stage).sum(), energy, 1e-9, "stages of the page");
    let numbers = |value: &Value| -> Vec<f64> {
        rows(value).iter().map(|number| number.as_f64().expect("a number")).collect()
    };
    assert_close(
        numbers(&data["operations"]["energy"]).iter().sum(),
        in_operations,
        1e-9,
        "operations of the page",
    );
    let bar: BTreeMap<&str, f64> =
        list(&data, "bar").iter().map(|segment| (text(segment, "segment"), number(segment, "energy_j"))).collect();
    assert_close(bar.values().sum(), energy, 1e-9, "the bar of the page");
    for pass in ["forward", "backward", "optimizer"] {
        assert_close(bar[pass], passes[pass], 1e-9, pass);
    }
    assert_close(bar["start_up"] + bar["compilation"], slices["start_up"], 1e-9, "start-up of the page");
    assert_page_filters(folder, &data["operations"]);
    if let Some(phases) =
        Some(run(["show", folder, "--by", "phase", "--format", "json"])).filter(|ran| ran.code == 0)
    {
        let of_steps = |row: &Value| -> f64 {
            ["warm_up", "recorded", "unrecorded"].iter().map(|kind| number(&row[*kind], "energy_j")).sum()
        };
        let steps: f64 = list(&data, "steps").iter().map(of_steps).sum();
        assert_close(steps, sum(rows(&phases.json()), "energy_j"), 1e-9, "steps of the page");
    }
    let mut nodes = vec![&tree];
    let mut layers: BTreeMap<String, f64> = BTreeMap::new();
    while let Some(node) = nodes.pop() {
        layers.insert(text(node, "path").to_owned(), number(node, "energy_j"));
        nodes.extend(list(node, "children"));
    }
    let (names, parents) = (rows(&data["tree"]["name"]), numbers(&data["tree"]["parent"]));
    let path = |mut node: usize| {
        let mut parts = Vec::new();
        while node != 0 {
            parts.push(names[node].as_str().expect("a name"));
            node = parents[node] as usize;
        }
        parts.reverse();
        parts.join("/")
    };
    for (node, energy) in numbers(&data["tree"]["energy"]).into_iter().enumerate() {
        assert_close(energy, layers[&path(node)], 1e-9, "a layer of the page");
    }

    // Carbon and card.
    let carbon = run(["carbon", folder, "--intensity", "100", "--depth", "50", "--format", "json"]).json();
    assert_close(number(&carbon, "it_energy_j"), energy, 1e-9, "carbon");
    assert_close(number(&carbon["whole"], "energy_j"), energy, 1e-9, "carbon's whole");
    for layer in list(&carbon, "layers").iter().filter(|layer| !text(layer, "path").starts_with('(')) {
        let wanted = layers[text(layer, "path")];
        assert_close(number(layer, "energy_j"), wanted, 1e-9, text(layer, "path"));
        assert_close(number(layer, "share"), wanted / energy, 1e-9, "a share of the run");
    }
    let card = run(["card", folder, "--intensity", "100", "--format", "json"]).json();
    assert_close(number(&card["energy_j"], "total"), energy, 1e-9, "the card");
    assert_makes_itself(&card["whole"]);
    for (on_card, stage) in list(&card, "stages").iter().zip(rows(&stages)) {
        assert_close(number(on_card, "energy_j"), number(stage, "energy_j"), 1e-9, "a stage of the card");
    }
    for layer in list(&card, "layers").iter().filter(|layer| layer["is_own"] == false) {
        assert_close(number(layer, "energy_j"), layers[text(layer, "path")], 1e-9, "a layer of the card");
        assert_close(number(layer, "run_share"), number(layer, "energy_j") / energy, 1e-9, "a share of the run");
    }

    // Exports.
    let exported = |format: &str| {
        let output = jouletree().args(["export", folder, "--to", format, "-o", "-"]).output().expect("it starts");
        assert!(output.status.success(), "{format}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let in_stages: BTreeMap<(&str, &str), f64> = rows(&stages)
        .iter()
        .flat_map(|stage| ["forward", "backward", "optimizer"].map(|pass| ((text(stage, "stage"), pass), stage)))
        .map(|((stage, pass), row)| ((stage, pass), number(row, &format!("{pass}_j"))))
        .collect();
    // A row for each operation, stage and device.
    let assert_flat = |flat: &[([String; 3], Option<String>, f64)], what: &str| {
        let (mut operations, mut of_stages) = (Operations::new(), BTreeMap::new());
        for (key, stage, energy) in flat {
            *operations.entry(key.clone()).or_default() += energy;
            if let Some(stage) = stage {
                *of_stages.entry((stage.as_str(), key[1].as_str())).or_insert(0.0) += energy;
            }
        }
        assert_same(&operations, &wanted, what);
        for (place, energy) in of_stages {
            assert_close(energy, in_stages[&place], 1e-9, &format!("{what}: {place:?}"));
        }
    };
    let flat = exported("csv");
    let flat = csv::Reader::from_reader(flat.as_slice()).into_deserialize::<BTreeMap<String, String>>();
    let flat = flat
        .map(|row| row.expect("a row"))
        .map(|row| (key(&row), Some(row["stage"].clone()).filter(|stage| !stage.is_empty()), joules(&row)));
    assert_flat(&flat.collect::<Vec<_>>(), "export to csv");
    let parquet = parquet_table(&exported("parquet")).into_iter();
    let parquet = parquet.map(|row| {
        (
            [row.label, row.pass, row.device],
            row.stage.filter(|stage| !stage.is_empty()),
            row.energy.expect("joules"),
        )
    });
    assert_flat(&parquet.collect::<Vec<_>>(), "export to Parquet");
    let speedscope: Value = serde_json::from_slice(&exported("speedscope")).expect("JSON");
    let weights = |profile: &Value| numbers(&profile["weights"]).iter().sum::<f64>();
    let profiles = list(&speedscope, "profiles").iter().filter(|profile| text(profile, "name").contains("joules"));
    assert_close(profiles.map(weights).sum(), energy, 1e-9, "speedscope");
    // A stack for each operation, by its name in lists.
    let stacks = |name: &str| match name.rsplit_once(" (") {
        Some((name, "backward)" | "optimizer)")) => name.to_owned(),
        _ => name.to_owned(),
    };
    // What used nothing has no width.
    let used = wanted.iter().filter(|(_, energy)| **energy > 0.0);
    let labels: BTreeMap<String, f64> = used.fold(BTreeMap::new(), |mut labels, (key, energy)| {
        *labels.entry(key[0].clone()).or_default() += energy;
        labels
    });
    let mut found: BTreeMap<String, f64> = BTreeMap::new();
    let frame_names = list(&speedscope["shared"], "frames");
    for profile in list(&speedscope, "profiles").iter().filter(|profile| text(profile, "name").contains("joules"))
    {
        let samples = list(profile, "samples").iter().map(numbers);
        for (sample, weight) in samples.zip(numbers(&profile["weights"])) {
            let names: Vec<&str> =
                sample.iter().map(|frame| text(&frame_names[*frame as usize], "name")).collect();
            if names[0] != "(unattributed)" {
                *found.entry(stacks(&names.join("/"))).or_default() += weight;
            }
        }
    }
    assert!(found.keys().eq(labels.keys()), "speedscope has other operations");
    for (label, energy) in &labels {
        assert_close(found[label], *energy, 1e-9, label);
    }
    let perfetto = exported("perfetto");
    let (events, _) = decoded::chrome(&perfetto);
    let charged = events.iter().map(|event| event.args["joules"].as_f64().unwrap_or(0.0)).sum();
    assert_close(charged, in_all_operations, 1e-9, "Perfetto");
    let unrecorded = unrecorded_steps(&perfetto);
    let mut by_op: BTreeMap<[&str; 3], f64> = BTreeMap::new();
    for event in events.iter().filter(|event| !unrecorded.contains(&event.args["step"].as_u64())) {
        let key = ["path", "op", "pass"].map(|key| text(&event.args, key));
        *by_op.entry(key).or_default() += event.args["joules"].as_f64().unwrap_or(0.0);
    }
    let mut listed: BTreeMap<[&str; 3], f64> = BTreeMap::new();
    for row in rows(&ops) {
        *listed.entry(["path", "name", "pass"].map(|key| text(row, key))).or_default() += number(row, "energy_j");
    }
    for (key, energy) in &listed {
        assert!((by_op[key] - energy).abs() <= 1e-9 * energy + 1e-12 * in_operations, "Perfetto: {key:?}");
    }
    // Whole microjoules: half a unit for each stack, all of it where it is left out.
    let folded = decoded::folded(&String::from_utf8(exported("collapsed")).expect("text"));
    let mut by_stack: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for (label, energy) in &labels {
        by_stack.entry(without_spaces(label)).or_default().0 += energy;
    }
    for (frames, microjoules) in folded.iter().filter(|(frames, _)| frames[0] != "(unattributed)") {
        let name = frames.join("/");
        let name = ["_(backward)", "_(optimizer)"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
        by_stack.get_mut(name).unwrap_or_else(|| panic!("collapsed has another operation: {name}")).1 +=
            *microjoules as f64 * 1e-6;
    }
    for (name, (energy, found)) in by_stack {
        // A stack of each pass.
        assert!(
            (found - energy).abs() <= 3.0 * 0.5e-6 + 1e-9 * energy,
            "collapsed: {name}: {found} of {energy} J"
        );
    }
    let found = folded.values().map(|microjoules| *microjoules as f64 * 1e-6).sum::<f64>();
    let count = wanted.len() + 2;
    assert!((found - energy).abs() <= 1e-6 * count as f64, "collapsed: {found} of {energy} J");
    // What is less than a unit is carried on within each thread.
    let (_, threads, _) = decoded::firefox(&exported("firefox"));
    let weights = threads.iter().flat_map(|thread| &thread.samples).map(|(_, weight)| weight * 1e-6);
    let found: f64 = weights.sum();
    let difference = (found - in_all_operations).abs();
    assert!(difference <= 1e-6 * threads.len() as f64, "Firefox: {found} of {in_all_operations} J");
    // Whole numbers: to a unit for each sample.
    let (types, samples) = decoded::pprof(&exported("pprof"));
    let is_energy = |(_, unit): &(String, String)| unit.ends_with("joules") || unit == "µJ";
    let place = types.iter().position(is_energy).expect("a value in joules");
    let size = if types[place].1 == "nanojoules" { 1e-9 } else { 1e-6 };
    let mut found: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    let mut of_passes: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| sample.frames[0] != "(unattributed)") {
        let joules = sample.values[place] as f64 * size;
        for sum in [
            found.entry(stacks(&sample.frames.join("/"))).or_default(),
            of_passes.entry(&sample.labels["pass"]).or_default(),
        ] {
            (sum.0, sum.1) = (sum.0 + joules, sum.1 + size);
        }
    }
    assert!(labels.keys().all(|label| found.contains_key(label)), "pprof has other operations");
    for (label, (joules, unit)) in &found {
        let energy = labels.get(label).copied().unwrap_or(0.0);
        assert!((joules - energy).abs() <= unit + 1e-9 * energy, "pprof: {label}: {joules} of {energy} J");
    }
    for (pass, (joules, unit)) in of_passes {
        assert!((joules - passes[pass]).abs() <= unit, "pprof: {pass}: {joules} of {} J", passes[pass]);
    }
    let found: f64 = samples.iter().map(|sample| sample.values[place] as f64 * size).sum();
    assert!((found - energy).abs() <= size * samples.len() as f64, "pprof: {found} of {energy} J");
}

/// The steps that were not recorded, by their numbers, as Perfetto's row of steps has them.
fn unrecorded_steps(perfetto: &[u8]) -> BTreeSet<Option<u64>> {
    let document: Value = serde_json::from_slice(perfetto).expect("JSON");
    let steps = list(&document, "traceEvents").iter().filter(|event| event["cat"] == "step");
    let unrecorded = steps.filter(|step| step["args"]["recorded"] == false);
    unrecorded.map(|step| text(step, "name").split(' ').nth(1).and_then(|number| number.parse().ok())).collect()
}

/// A frame of folded stacks, which has no way to write these.
fn without_spaces(name: &str) -> String {
    name.chars().map(|letter| if letter.is_whitespace() { '_' } else { letter }).collect()
}

#[test]
fn every_output_of_a_program_has_the_same_joules() {
    let files = Files::new();
    let folder = program_run(&files);
    assert_one_whole(&folder);
    let whole = &show(&folder, "layer", &[])["whole"];
    let used = |name: &str| {
        let mut slices = list(whole, "slices").iter();
        number(slices.find(|slice| slice["slice"] == name).expect("a slice"), "energy_j")
    };
    for slice in ["operations", "between_operations", "unrecorded_steps", "start_up"] {
        assert!(used(slice) > 0.0, "{slice}: {whole}");
    }
    assert_eq!(whole["base"], "recorded_steps");
    assert_eq!(list(whole, "stages").len(), 3, "{whole}");

    // All steps: marked, and still all joules.
    let scaled = &show(&folder, "layer", &["--all-steps"])["whole"];
    assert_makes_itself(scaled);
    assert_eq!(scaled["base"], "all_steps");
    assert_close(number(scaled, "energy_j"), number(whole, "energy_j"), 1e-9, "the run stays as it is");
    assert!(number(scaled, "base_j") > number(whole, "base_j"));
    let table = run(["show", &folder, "--by", "layer", "--all-steps"]).ok();
    assert!(table.contains("of all steps") && table.contains("(scaled)"), "{table}");
}

#[test]
fn every_output_of_a_trace_has_the_same_joules() {
    let files = Files::new();
    assert_one_whole(&sample_run(&files));
}

/// Fails unless each entry of a list has a name of its own.
#[track_caller]
fn assert_names_differ(result: &Value, what: &str) {
    for key in ["ops", "summary"] {
        let mut seen = BTreeSet::new();
        for row in list(result, key) {
            let name = ["label", "pass", "device"].map(|key| text(row, key));
            assert!(seen.insert(name), "{what}, {key}: twice {name:?}");
        }
        assert!(!seen.is_empty(), "{what} has no operations");
    }
}

#[test]
fn no_two_operations_have_one_name() {
    assert_names_differ(timeline(), "the sample of TensorFlow");
    assert_names_differ(ranks(), "the sample of PyTorch");
    let gradient = |mark: &str| {
        let label = format!("bert/encoder/layer_3/intermediate/dense/MatMul ({mark})");
        let found = list(timeline(), "ops").iter().filter(|row| row["label"] == *label);
        let energies: Vec<f64> = found.map(|row| number(row, "energy_j")).collect();
        assert_eq!(energies.len(), 1, "{label}");
        energies[0]
    };
    assert!(gradient("dW") > 0.0 && gradient("dX") > 0.0);
    let folded = list(timeline(), "summary").iter().map(|row| text(row, "label"));
    let folded: BTreeSet<&str> =
        folded.filter(|label| label.ends_with("transformer/output/dense/MatMul (dW)")).collect();
    assert_eq!(folded.len(), 1);
}

/// Fails unless each list of a run folder, and each file that is exported of it, names every operation, layer and type once.
#[track_caller]
fn assert_lists_differ(folder: &str, what: &str) {
    fn assert_once<T: Ord + std::fmt::Debug>(entries: impl IntoIterator<Item = T>, what: &str) {
        let mut seen = BTreeSet::new();
        for entry in entries {
            if let Some(entry) = seen.replace(entry) {
                panic!("{what}: twice {entry:?}");
            }
        }
        assert!(!seen.is_empty(), "{what} is empty");
    }
    let exported = |format: &str| {
        let output = jouletree().args(["export", folder, "--to", format, "-o", "-"]).output().expect("it starts");
        assert!(output.status.success(), "{what}: {format}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let types = show(folder, "type", &[]);
    assert_once(rows(&types).iter().map(|row| text(row, "type")), &format!("{what}: types"));
    let tree = show(folder, "layer", &[]);
    let mut nodes = vec![&tree];
    while let Some(node) = nodes.pop() {
        let children = list(node, "children");
        if !children.is_empty() {
            assert_once(children.iter().map(|child| text(child, "name")), &format!("{what}: {}", node["path"]));
        }
        nodes.extend(children);
    }
    let table = parquet_table(&exported("parquet"));
    let key = |row: &FlatRow| (row.label.clone(), row.pass.clone(), row.device.clone(), row.stage.clone());
    assert_once(table.iter().map(key), &format!("{what}: Parquet"));
    // Reading them fails where a stack is there twice.
    let folded = decoded::folded(&String::from_utf8(exported("collapsed")).expect("text"));
    assert!(!folded.is_empty());
    let (_, samples) = decoded::pprof(&exported("pprof"));
    assert_once(samples.iter().map(|sample| (&sample.frames, &sample.labels)), &format!("{what}: pprof"));
    let speedscope: Value = serde_json::from_slice(&exported("speedscope")).expect("JSON");
    let frames: Vec<&str> =
        list(&speedscope["shared"], "frames").iter().map(|frame| text(frame, "name")).collect();
    for profile in list(&speedscope, "profiles") {
        let stack = |sample: &Value| -> Vec<&str> {
            rows(sample).iter().map(|frame| frames[frame.as_u64().expect("a number") as usize]).collect()
        };
        assert_once(list(profile, "samples").iter().map(stack), &format!("{what}: {}", profile["name"]));
    }
}

/// Real traces of BERT-like models; skipped without the development data.
#[test]
fn no_two_operations_of_real_models_have_one_name() {
    let traces: [(&str, &[&str]); 7] = [
        ("tf215_bert_tiny_timeline-5.json.gz", &[]),
        ("tf215_bert_tiny_unfused_timeline-5.json.gz", &[]),
        ("tf221_keras_minibert.xplane.pb.gz", &[]),
        ("torch215_bert_tiny_hooks.json.gz", &[]),
        ("torch222_bert_tiny_hooks.json.gz", &[]),
        ("jax0102_minibert.xplane.pb.gz", &[]),
        ("ort131_bert_tiny_fused.json.gz", &["--base-ns", "1794771926506845032"]),
    ];
    let files = Files::new();
    let hour = 3_600_000_000_000;
    let power = power_over(1_794_770_000_000_000_000, 1_794_770_000_000_000_000 + hour, &["cpu:0"]);
    let power = files.write("power.csv", power);
    for (name, options) in traces {
        let Some(trace) = development_data(name) else { return };
        let trace = trace.display().to_string();
        let folder = files.path(&format!("run-{name}"));
        let result = account([&[trace.as_str(), "--power", &power, "-o", &folder], options].concat());
        assert_names_differ(&result, name);
        assert_lists_differ(&folder, name);
    }
}

#[test]
fn power_is_ranked_where_it_means_something() {
    let files = Files::new();
    let folder = sample_run(&files);
    let all = show(&folder, "op", &["--summarize"]);
    let total = sum(rows(&all), "energy_j");
    let ranked = show(&folder, "op", &["--summarize", "--by-power"]);
    assert!(!rows(&ranked).is_empty() && rows(&ranked).len() < rows(&all).len());
    for row in rows(&ranked) {
        assert!(number(row, "energy_j") >= 0.005 * total, "{row}");
        assert!(number(row, "busy_s") >= 0.011, "three readings of 4 ms: {row}");
    }
    let table = run(["show", &folder, "--by", "op", "--summarize", "--by-power"]).ok();
    assert!(table.contains("op power") && table.contains("readings"), "{table}");
}

#[test]
fn unlike_runs_have_no_mean() {
    let files = Files::new();
    let tensorflow = sample_run(&files);
    let pytorch = files.path("pytorch");
    let [rank0, rank1, power] = ["rank0.json.gz", "rank1.json.gz", "power-ranks.csv"].map(sample);
    run(["account", &rank0, &rank1, "--power", &power, "-o", &pytorch]).ok();
    for verb in ["report", "card"] {
        let refused = run([verb, &tensorflow, &pytorch]);
        assert_eq!(refused.code, 1, "{verb}: {}", refused.stdout);
        assert!(refused.stderr.contains("differ") && refused.stderr.contains("meters"), "{}", refused.stderr);
    }
    let page = files.path("page.html");
    assert_eq!(run(["report", &tensorflow, &tensorflow, "-o", &page]).code, 1, "given twice");

    // Another program, and another size of batches.
    let program = |name: &str, code: &str, samples: u32| {
        let folder = files.path(name);
        let code = format!(
            "import time  # {code}\nfrom jouletree import _session\nsession = _session.current()\nt = time.time_ns()\n\
             time.sleep(0.1)\nsession.ran_step(1, t, time.time_ns(), 'train', True, {samples})\n"
        );
        let script =
            files.write(&format!("{code_name}.py", code_name = name.split('-').next().expect("a name")), code);
        let words = ["run", "-q", "--no-daemon", "-o", &folder, "--", "python3", &script];
        ended(jouletree().args(words).output().expect("the command starts")).ok();
        folder
    };
    let (one, other, large) = (program("a-1", "x", 8), program("b-1", "x", 8), program("a-2", "x", 16));
    let ran = run(["report", &one, &other, "-o", &page]);
    assert!(ran.code == 1 && ran.stderr.contains("program: a.py in a-1, b.py in b-1"), "{}", ran.stderr);
    let ran = run(["report", &one, &large, "-o", &page]);
    assert!(
        ran.code == 1 && ran.stderr.contains("batch size: 8 (train) in a-1, 16 (train) in a-2"),
        "{}",
        ran.stderr
    );
    // A study may vary it, and says so.
    let ran = run(["card", &one, &large]);
    assert!(ran.code == 0 && ran.stderr.contains("batch size"), "{}", ran.stderr);
    assert_eq!(run(["card", &one, &other]).code, 1);
    run(["report", &one, &program("a-3", "x", 8), "-o", &page]).ok();
}

#[test]
fn common_slips_get_a_hint() {
    let ran = run(["run", "python", "x.py"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("jouletree run -- python x.py"), "{}", ran.stderr);
    let ran = run(["show", "/no/such/run"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("there is no folder /no/such/run"), "{}", ran.stderr);
}
