//! `docs/json.md` against what is written: every field is documented, every documented field is there, and the
//! example is what the sample gives.

use crate::calibrated;
use crate::called;
use crate::common;
use test_support::made_trees as made;
use test_support::recordings;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use common::*;
use fake_powercap::{Fake, Layout, Player};
use serde_json::{Value, json};

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
    note_whole(&result["whole"], &mut note);
    note_trust(&result["trust"], &mut note);
    list(result, "traces").iter().for_each(|source| note_source(source, &mut note));
    list(result, "warnings").iter().for_each(|warning| note("Warning", warning));
    let mut nodes = vec![&result["tree"]];
    while let Some(node) = nodes.pop() {
        note("Node", node);
        list(node, "edges").iter().for_each(|edge| note("Edge", edge));
        nodes.extend(list(node, "children"));
    }
}

fn note_whole(whole: &Value, note: &mut impl FnMut(&str, &Value)) {
    note("Whole", whole);
    for (kind, key) in [("Slice", "slices"), ("Pass", "passes"), ("Stage of the whole", "stages")] {
        list(whole, key).iter().for_each(|row| note(kind, row));
    }
}

fn note_trust(trust: &Value, note: &mut impl FnMut(&str, &Value)) {
    note("Trust", trust);
    list(trust, "caveats").iter().for_each(|caveat| note("Caveat", caveat));
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

/// The keys of what a program records.
fn program_keys(run_folder: &str, keys: &mut BTreeMap<String, BTreeSet<String>>) {
    let program = "import time\nfrom jouletree import _session\nsession = _session.current()\nsession.stage('one')\n\
                   t = time.time_ns()\ntime.sleep(0.2)\nu = time.time_ns()\nsession.ran_step(1, t, u, 'train', True, 8)\n\
                   session.ran_window('eval', t, u, 'window', 1)\n";
    let arguments = ["run", "-q", "--no-daemon", "-o", run_folder, "--", "python3", "-c", program];
    ended(jouletree().args(arguments).output().expect("the command starts")).ok();
    let mut note = |kind: &str, object: &Value| {
        let fields = object.as_object().expect("an object").keys().cloned();
        keys.entry(kind.to_owned()).or_default().extend(fields);
    };
    note_whole(&run(["show", run_folder, "--format", "json", "--by", "layer"]).json()["whole"], &mut note);
    for (kind, by) in [("Phase", "phase"), ("Part", "part"), ("Stage", "stage"), ("Window", "window")] {
        let rows = run(["show", run_folder, "--format", "json", "--by", by]).json();
        for row in rows.as_array().expect("a list") {
            let fields = row.as_object().expect("an object").keys().cloned();
            keys.entry(kind.to_owned()).or_default().extend(fields);
        }
    }
}

/// The keys of what is recorded of calls.
fn called(run_folder: &str, keys: &mut BTreeMap<String, BTreeSet<String>>) {
    called::called_run(run_folder.as_ref());
    for (kind, by) in [
        ("Call", "call"),
        ("Line", "site"),
        ("Function", "function"),
        ("Project", "project"),
        ("Size", "size"),
        ("Trend", "trend"),
    ] {
        let rows = run(["calls", run_folder, "--format", "json", "--by", by]).json();
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

/// The keys of everything that predictions write.
fn predicted(files: &Files, keys: &mut BTreeMap<String, BTreeSet<String>>) {
    let mut note = |kind: &str, object: &Value| {
        let fields = object.as_object().expect("an object").keys().cloned();
        keys.entry(kind.to_owned()).or_default().extend(fields);
    };
    let trees = files.write("trees.jsonl", made::jsonl(&made::calls()));
    let json = ["--format", "json"];
    let compared = ["evaluate", "predictor", &trees, "--strategy", "predicted-sum"];
    let rows = run(compared.iter().chain(&json)).json();
    rows.as_array().expect("a list").iter().for_each(|row| note("Predictor row", row));

    let theory = run(["estimate", "theory", "alexnet", "--calibrate", "0.2"].iter().chain(&json)).json();
    note("Theory", &theory);
    note("Calibration", &theory["calibration"]);
    for row in list(&theory, "rows").iter().chain([&theory["total"]]) {
        note("Theory row", row);
        ["naive", "once"].iter().for_each(|way| note("Traffic", &row["traffic"][way]));
    }

    let mut table = "batch_size,input_size,output_size,cpu_energy\n".to_owned();
    for index in 0..200_u64 {
        let (batch, inputs, outputs) = (1 + index * 7 % 97, 1 + index * 131 % 1999, 2 + index * 173 % 1499);
        table += &format!("{batch},{inputs},{outputs},{:e}\n", 1e-15 * (batch * inputs * outputs) as f64 + 1e-9);
    }
    files.write("linear.csv", &table);
    files.write("archconfigs_linear.csv", table);
    files.write("architectures_whole.csv", "architecture,batch_size,layer_idx,cpu_energy\nalexnet,4,0,1e-6\n");
    let of_networks = "architecture,batch_size,layer_idx,module,input_size,output_size,cpu_energy\n\
                       alexnet,4,0,AlexNet,,,1e-6\nalexnet,4,16,Linear,9216,4096,1e-7\n";
    files.write("architectures_layerwise.csv", of_networks);
    let (folder, predictor) = (files.path(""), files.path("predictor.json"));
    let evaluation = run(["estimate", "layers", "evaluate", &folder].iter().chain(&json)).json();
    note("Layer evaluation", &evaluation);
    let linear = &evaluation["layers"]["linear"];
    note("Kind of layer", linear);
    note("Score", &linear["additive"]);
    note("Both scores", &evaluation["real_layers"]["linear"]);
    note("Both scores", &evaluation["network_layers"]["linear"]);
    note("Both scores", &evaluation["networks"]["alexnet"]);
    let prices = run(["estimate", "layers", "train", &folder, "-o", &predictor].iter().chain(&json)).json();
    prices.as_array().expect("a list").iter().for_each(|price| note("Price", price));
    let arguments = ["estimate", "layers", "predict", "alexnet", "--predictor", &predictor];
    let model = run(arguments.iter().chain(&json)).json();
    note("Predicted model", &model);
    list(&model, "operators").iter().for_each(|operator| note("Predicted operator", operator));

    let models = files.write("models.csv", "name,accuracy,energy_j\na,1,2\n");
    let choice = run(["tradeoff", &models].iter().chain(&json)).json();
    note("Choice", &choice);
    list(&choice, "models").iter().for_each(|model| note("Weighed model", model));
}

/// The keys of a prediction by a profile.
fn predicted_by_profile(files: &Files, keys: &mut BTreeMap<String, BTreeSet<String>>) {
    let mut note = |kind: &str, object: &Value| {
        let fields = object.as_object().expect("an object").keys().cloned();
        keys.entry(kind.to_owned()).or_default().extend(fields);
    };
    files.write("calibration.json", calibrated::calibration().to_string());
    let (folder, profile) = (files.path(""), files.path("profile.json"));
    let training = run(["train", &folder, "-o", &profile, "--format", "json"]).json();
    note("Training", &training);
    list(&training, "trained_on").iter().for_each(|tree| note("Trained tree", tree));
    list(&training, "devices").iter().for_each(|device| note("Trained device", device));
    for pass in list(&training, "passes") {
        note("Trained pass", pass);
        list(pass, "glue").iter().for_each(|term| note("Glue term", term));
    }
    let prediction = run(["predict", "bert", "--layers", "2", "--profile", &profile, "--format", "json"]).json();
    note("Prediction", &prediction);
    note("Profile", &prediction["profile"]);
    list(&prediction["profile"], "trained_on").iter().for_each(|tree| note("Trained tree", tree));
    note("Million queries", &prediction["per_million_queries"]);
    for pass in list(&prediction, "passes") {
        note("Predicted pass", pass);
        list(pass, "nodes").iter().for_each(|node| note("Predicted node", node));
    }
    for key in ["by_module", "by_kind"] {
        list(&prediction, key).iter().for_each(|row| note("Part of a prediction", row));
    }
}

/// The keys of the impact of energy, of settings and of what is seen of a machine.
fn in_grams(files: &Files, keys: &mut BTreeMap<String, BTreeSet<String>>) {
    let mut note = |kind: &str, object: &Value| {
        let fields = object.as_object().expect("an object").keys().cloned();
        keys.entry(kind.to_owned()).or_default().extend(fields);
    };
    let folder = files.path("run");
    run(["account", &sample("timeline-5.json.gz"), "--power", &sample("power.csv"), "-o", &folder]).ok();
    // Its figure has a note.
    let place = ["--country", "CAN", "--region", "quebec", "--format", "json"];
    let impact = run(["carbon", &folder].iter().chain(&place)).json();
    note("Impact", &impact);
    for row in run(["show", &folder, "--by", "type", "--format", "json"]).json().as_array().expect("a list") {
        note("Type", row);
    }
    note("Intensity", &impact["intensity"]);
    note("Equivalents", &impact["equivalents"]);
    list(&impact, "layers").iter().for_each(|layer| note("Layer in grams", layer));
    let home = files.path("home");
    fs::create_dir(&home).expect("a folder");
    fs::write(format!("{home}/.codecarbon.config"), "[codecarbon]\nwhatever = 1\n").expect("a file");
    let mut command = jouletree();
    let shown =
        command.env("HOME", &home).args(["config", "show", "--format", "json"]).output().expect("it starts");
    let configuration = ended(shown).json();
    note("Configuration", &configuration);
    list(&configuration, "settings").iter().for_each(|setting| note("Setting", setting));
    list(&configuration, "unknown").iter().for_each(|unknown| note("Unknown setting", unknown));
    let detected = run(["detect"].iter().chain(&place)).json();
    note("Detected", &detected);
    list(&detected, "meters").iter().for_each(|meter| note("Detected meter", meter));
}

/// The keys of estimates of hardware, and of cards.
fn estimated_and_carded(files: &Files, keys: &mut BTreeMap<String, BTreeSet<String>>) {
    let mut note = |kind: &str, object: &Value| {
        let fields = object.as_object().expect("an object").keys().cloned();
        keys.entry(kind.to_owned()).or_default().extend(fields);
    };
    let asked =
        ["estimate", "impact", "--gpu", "A100", "--hours", "1", "--provider", "gcp", "--region", "asia-east1"];
    let answer = run(asked.iter().chain(&["--compare", "--format", "json"])).json();
    note("Estimated impact", &answer);
    note("Estimated hardware", &answer["hardware"]);
    list(&answer, "published").iter().for_each(|figure| note("Published figure", figure));
    list(&answer, "regions").iter().for_each(|region| note("Compared region", region));

    let runs = ["one", "other"].map(|name| files.path(name));
    for (folder, number) in runs.iter().zip(["1", "2"]) {
        let program = "import time\nfrom jouletree import _session\nsession = _session.current()\nsession.stage('one')\n\
                       t = time.time_ns()\ntime.sleep(0.1)\nsession.ran_step(1, t, time.time_ns(), 'train', True, 8)\n";
        let words = ["run", "-q", "--no-daemon", "-o", folder, "--", "python3", "-c", program, "--seed", number];
        ended(jouletree().args(words).output().expect("the command starts")).ok();
    }
    let sampled = files.path("sampled");
    run(["account", &sample("timeline-5.json.gz"), "--power", &sample("power.csv"), "-o", &sampled]).ok();
    let place = ["--country", "ITA", "--training-type", "fine-tuning", "--format", "json"];
    let study = run(["card", &runs[0], &runs[1]].iter().chain(&place)).json();
    let other = run(["card", &sampled].iter().chain(&place)).json();
    for card in [&study, &other] {
        note("Card", card);
        list(card, "runs").iter().for_each(|run| note("Run on a card", run));
        note("Summary", &card["energy_j"]);
        note("Carbon of a card", &card["carbon"]);
        note("Emissions", &card["co2_eq_emissions"]);
        list(card, "phases").iter().for_each(|phase| note("Phase", phase));
        list(card, "stages").iter().for_each(|stage| note("Stage of a card", stage));
        list(card, "sensitivity").iter().for_each(|row| note("Sensitivity", row));
        list(card, "layers").iter().for_each(|layer| note("Layer of a card", layer));
        note("Hardware of a card", &card["hardware"]);
        note("Software of a card", &card["software"]);
    }
}

/// The keys of lists and tables of library calls.
fn patched(files: &Files, keys: &mut BTreeMap<String, BTreeSet<String>>) {
    let mut note = |kind: &str, object: &Value| {
        let fields = object.as_object().expect("an object").keys().cloned();
        keys.entry(kind.to_owned()).or_default().extend(fields);
    };
    let folder = files.path("programs");
    fs::create_dir(&folder).expect("a folder");
    files.write("programs/a.py", "import torch\ntorch.ones(1)\n");
    files.write(
        "programs/b.ipynb",
        r#"{"cells": [{"cell_type": "code", "source": "import torch; torch.ones(1)"}]}"#,
    );
    let sites = run(["patch", &folder, "--list", "--format", "json"]).json();
    sites.as_array().expect("a list").iter().for_each(|site| note("Site", site));
    run(["patch", &folder]).ok();
    let table = fs::read_to_string(files.path("programs.patched/jouletree-sites.json")).expect("a table");
    let table: Value = serde_json::from_str(&table).expect("JSON");
    note("Sites", &table);
    for file in list(&table, "files") {
        note("Patched file", file);
        list(file, "sites").iter().for_each(|site| note("Site", site));
    }
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
    let explained = ["--power", &sample("power.csv"), "--attribution", "auto", "--explain"];
    let explained = account([sample("timeline-5.json.gz").as_str()].into_iter().chain(explained));
    // The sample's power is estimated, so that shares are equal.
    let device = &list(&explained, "attribution")[0];
    assert_eq!((&device["device"], &device["used"]), (&json!("host/cpu:0"), &json!("equal")));
    assert!(text(device, "reason").contains("estimated"), "{device}");
    for result in [timeline(), ranks(), &warned, &explained] {
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
    program_keys(&files.path("told"), &mut keys);
    patched(&files, &mut keys);
    called(&files.path("called"), &mut keys);
    live().iter().for_each(|line| watched(line, &mut keys));
    predicted(&Files::new(), &mut keys);
    predicted_by_profile(&Files::new(), &mut keys);
    in_grams(&Files::new(), &mut keys);
    estimated_and_carded(&Files::new(), &mut keys);
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
