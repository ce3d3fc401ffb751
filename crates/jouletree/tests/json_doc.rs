//! `docs/json.md` against what is written: every field is documented, every documented field is there, and the
//! example is what the sample gives.

#![allow(clippy::expect_used, clippy::panic)]

mod common;
#[path = "../../jouletree-run/tests/recordings/mod.rs"]
mod recordings;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use common::*;
use fake_powercap::{Fake, Layout, Player};
use serde_json::Value;

fn documentation() -> String {
    fs::read_to_string(root().join("docs/json.md")).expect("docs/json.md")
}

/// The fields that each table under a third-level heading names.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let mut tables: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut heading = None;
    for line in documentation().lines() {
        if line.starts_with("## ") {
            heading = None;
        } else if let Some(title) = line.strip_prefix("### ") {
            heading = Some(title.to_owned());
        } else if let (Some(heading), Some(row)) = (&heading, line.strip_prefix("| `")) {
            let field = row.split('`').next().expect("a field").to_owned();
            assert!(tables.entry(heading.clone()).or_default().insert(field), "twice: {line}");
        }
    }
    tables
}

/// The keys of every kind of object in a result.
fn written(result: &Value, keys: &mut BTreeMap<String, BTreeSet<String>>) {
    let mut note = |kind: &str, object: &Value| {
        let fields = object.as_object().expect("an object").keys().cloned();
        keys.entry(kind.to_owned()).or_default().extend(fields);
    };
    note("Result", result);
    for (kind, key) in [("Device", "devices"), ("Operation", "ops"), ("Operation", "summary"), ("Step", "steps")] {
        list(result, key).iter().for_each(|row| note(kind, row));
    }
    list(result, "traces").iter().for_each(|source| note_source(source, &mut note));
    list(result, "warnings").iter().for_each(|warning| note("Warning", warning));
    let mut nodes = vec![&result["tree"]];
    while let Some(node) = nodes.pop() {
        note("Node", node);
        list(node, "edges").iter().for_each(|edge| note("Edge", edge));
        nodes.extend(list(node, "children"));
    }
}

fn note_source(source: &Value, note: &mut impl FnMut(&str, &Value)) {
    note("Trace", source);
    note("Time base", &source["time_base"]);
    list(source, "markers").iter().for_each(|marker| note("Marker", marker));
    list(source, "counts").iter().for_each(|count| note("Count", count));
}

/// The keys of every kind of object in an inspection.
fn inspected(result: &Value, keys: &mut BTreeMap<String, BTreeSet<String>>) {
    let mut note = |kind: &str, object: &Value| {
        let fields = object.as_object().expect("an object").keys().cloned();
        keys.entry(kind.to_owned()).or_default().extend(fields);
    };
    note("Inspection", result);
    for device in list(result, "devices") {
        note("Inspected device", device);
        list(device, "categories").iter().for_each(|category| note("Category", category));
    }
    list(result, "top").iter().for_each(|row| note("Top operation", row));
    list(result, "markers").iter().for_each(|marker| note("Inspected marker", marker));
    list(result, "files").iter().for_each(|source| note_source(source, &mut note));
}

/// The keys of every kind of object in a diagnosis.
fn diagnosed(result: &Value, keys: &mut BTreeMap<String, BTreeSet<String>>) {
    let mut note = |kind: &str, object: &Value| {
        let fields = object.as_object().expect("an object").keys().cloned();
        keys.entry(kind.to_owned()).or_default().extend(fields);
    };
    note("Diagnosis", result);
    list(result, "sensors").iter().for_each(|sensor| note("Sensor", sensor));
    list(result, "absent").iter().for_each(|source| note("Absent source", source));
    note("Unsupported platform", &result["unsupported"]);
    note("Process share", &result["process_share"]);
    list(&result["process_share"], "refused").iter().for_each(|source| note("Refused source", source));
    note("Realtime", &result["realtime"]);
    note("Daemon", &result["daemon"]);
    list(result, "devices").iter().for_each(|device| note("Metered device", device));
}

/// A machine that is not supported, and whose processes are only a list of times.
fn diagnosis() -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let tree = folder.path().join("firmware/devicetree/base");
    fs::create_dir_all(&tree).expect("a folder");
    fs::write(tree.join("compatible"), "apple,j274\0").expect("a file");
    fs::write(folder.path().join("stat"), "cpu  1 2 3 4\ncpu0 1 2 3 4\nintr 0\n").expect("a file");
    let root = folder.path().display().to_string();
    run(["doctor", "--format", "json", "--sys-root", &root, "--proc-root", &root]).json()
}

/// The keys of every kind of object in a recording.
fn recorded(result: &Value, keys: &mut BTreeMap<String, BTreeSet<String>>) {
    let mut note = |kind: &str, object: &Value| {
        let fields = object.as_object().expect("an object").keys().cloned();
        keys.entry(kind.to_owned()).or_default().extend(fields);
    };
    note("Recording", result);
    for (kind, key) in [("Host", "host"), ("Exit", "exit"), ("Sampler", "sampler")] {
        note(kind, &result[key]);
    }
    for (kind, key) in [("Recorded device", "devices"), ("Recorded sensor", "sensors"), ("Incident", "incidents")]
    {
        assert!(!list(result, key).is_empty(), "no {key}");
        list(result, key).iter().for_each(|row| note(kind, row));
    }
}

/// The keys of what a program tells.
fn told(run_folder: &str, keys: &mut BTreeMap<String, BTreeSet<String>>) {
    let program = "import time\nfrom jouletree import _session\nsession = _session.current()\nsession.stage('one')\n\
                   t = time.time_ns()\ntime.sleep(0.2)\nu = time.time_ns()\nsession.ran_step(1, t, u, 'train', True, 8)\n\
                   session.ran_window('eval', t, u, 'window', 1)\n";
    let arguments = ["run", "-q", "--no-daemon", "-o", run_folder, "--", "python3", "-c", program];
    ended(jouletree().args(arguments).output().expect("the command starts")).ok();
    for (kind, by) in [("Phase", "phase"), ("Stage", "stage"), ("Window", "window")] {
        let rows = run(["show", run_folder, "--format", "json", "--by", by]).json();
        for row in rows.as_array().expect("a list") {
            let fields = row.as_object().expect("an object").keys().cloned();
            keys.entry(kind.to_owned()).or_default().extend(fields);
        }
    }
}

/// The keys of every kind of object in a line of the live view.
fn watched(line: &Value, keys: &mut BTreeMap<String, BTreeSet<String>>) {
    let mut note = |kind: &str, object: &Value| {
        let fields = object.as_object().expect("an object").keys().cloned();
        keys.entry(kind.to_owned()).or_default().extend(fields);
    };
    note("Instant", line);
    for (kind, key) in
        [("Live device", "devices"), ("Socket", "sockets"), ("Process", "processes"), ("Incident", "incidents")]
    {
        list(line, key).iter().for_each(|row| note(kind, row));
    }
    note("Live tree", &line["tree"]);
    note("Sampler", &line["sampler"]);
}

/// Lines of the live view of this test, on a zone that cannot be read after a while.
fn live() -> Vec<Value> {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "at 3s package-0 refuse\n".parse().expect("a script");
    let fake = Fake::new(folder.path(), Layout::Client, &script).expect("a tree");
    let _player = Player::start(fake);
    let mut command = jouletree();
    command.args(["top", "--format", "json", "--count", "12", "--interval", "0.5"]);
    command.arg(std::process::id().to_string()).env("JOULETREE_SYS_ROOT", folder.path());
    let lines = ended(command.output().expect("the command starts")).ok();
    lines.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[test]
fn every_field_is_documented_and_there() {
    let files = Files::new();
    // Warnings with and without a position.
    let power = fs::read_to_string(sample("power.csv")).expect("the sample").replace("kind", "kind,note");
    let power: String =
        power.lines().map(|line| format!("{line}{}\n", if line.contains("note") { "" } else { "," })).collect();
    let power = files
        .write("power.csv", power + "1772442000400000,gpu:0,5,estimated,\n1772442000401000,gpu:0,5,estimated,\n");
    let warned = account([&sample("timeline-5.json.gz"), "--power", &power]);
    assert_eq!(list(&warned, "warnings").len(), 2, "{:?}", warnings(&warned));

    let mut keys = BTreeMap::new();
    for result in [timeline(), ranks(), &warned] {
        written(result, &mut keys);
    }
    let marked = r#"{"schemaVersion": 1, "traceEvents": [
        {"ph": "X", "cat": "user_annotation", "name": "MARK wall_ns=1772442000000000000", "pid": 1, "tid": 1,
         "ts": 1772442000000010, "dur": 5},
        {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1772442000000020, "dur": 5}]}"#;
    let marked = files.write("marked.json", marked);
    inspected(&run(["inspect", &marked, "--format", "json"]).json(), &mut keys);
    diagnosed(&diagnosis(), &mut keys);
    let run_folder = files.path("recorded");
    recordings::record(run_folder.as_ref(), 1, 8);
    recorded(&run(["show", &run_folder, "--format", "json"]).json(), &mut keys);
    told(&files.path("told"), &mut keys);
    live().iter().for_each(|line| watched(line, &mut keys));
    assert_eq!(keys, documented());
}

#[test]
fn the_fields_that_were_promised_are_there() {
    for (key, fields) in [
        ("devices", &["device", "measured_j", "attributed_j", "unattributed_j", "kind"][..]),
        ("ops", &["name", "path", "type", "pass", "device", "energy_j", "busy_s", "power_w", "count"]),
    ] {
        for row in list(timeline(), key) {
            assert!(fields.iter().all(|field| row.get(field).is_some()), "{row}");
        }
    }
    assert!(timeline()["tree"].is_object() && timeline()["warnings"].is_array());
}

/// Whether a result says everything that an example says; of lists the example may show a part.
fn says(result: &Value, example: &Value) -> bool {
    match (result, example) {
        (Value::Object(result), Value::Object(example)) => {
            example.iter().all(|(key, value)| result.get(key).is_some_and(|found| says(found, value)))
        }
        (Value::Array(result), Value::Array(example)) => {
            example.iter().all(|value| result.iter().any(|found| says(found, value)))
        }
        (Value::Number(result), Value::Number(example)) => {
            let [result, example] = [result, example].map(|number| number.as_f64().unwrap_or(f64::NAN));
            (result - example).abs() <= 1e-9 * example.abs()
        }
        _ => result == example,
    }
}

#[test]
fn the_example_is_what_the_sample_gives() {
    let documentation = documentation();
    let example =
        documentation.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let example: Value = serde_json::from_str(example).expect("the example is JSON");
    let command = documentation.split("From `jouletree ").nth(1).and_then(|rest| rest.split('`').next());
    let arguments: Vec<&str> = command.expect("a command").split_whitespace().collect();
    let result =
        ended(jouletree().args(arguments).current_dir(root()).output().expect("the command starts")).json();
    for (key, part) in example.as_object().expect("an object") {
        assert!(says(&result[key], part), "`{key}` of the example is not what is written");
    }
    assert!(result.as_object().expect("an object").keys().all(|key| example.get(key).is_some()));
}
