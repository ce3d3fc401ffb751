//! `jouletree evaluate predictor` from outside: on trees that the test makes in both published layouts, on input that is
//! wrong, and on the published measurements where they are at hand.

use crate::common;
use test_support::made_trees as made;

use std::path::Path;

use common::*;
use serde_json::Value;

const TABLES: [&str; 4] = ["ml1", "ml2", "module", "model"];

/// The made trees as a folder of four tables.
fn folder() -> Files {
    let files = Files::new();
    for name in TABLES {
        files.write(&format!("{name}_level_features.csv"), made::table(&made::calls(), name));
    }
    files
}

fn evaluate(data: &str, arguments: &[&str]) -> Ran {
    run(["evaluate", "predictor", data].iter().chain(arguments))
}

fn find<'a>(rows: &'a Value, method: &str, protocol: &str, features: &str) -> &'a Value {
    let mut rows = rows.as_array().expect("a list").iter();
    rows.find(|row| row["method"] == method && row["protocol"] == protocol && row["features"] == features)
        .unwrap_or_else(|| panic!("no {method} under {protocol} with {features}"))
}

#[test]
fn everything_is_compared_by_one_command() {
    let rows = evaluate(&folder().path(""), &["--seeds", "2", "--format", "json"]).json();
    let list = rows.as_array().expect("a list");
    // Nine methods under each of four protocols, and two ablations under the first.
    assert_eq!(list.len(), 4 * 9 + 2);
    for row in list {
        let keys: Vec<&String> = row.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["features", "method", "ml", "model", "module", "protocol", "sd"]);
        assert!(number(row, "module") >= 0.0 && number(row, "model") >= 0.0 && number(row, "sd") >= 0.0, "{row}");
    }
    // The made nodes follow the law to the digit, and glue is what modules add.
    assert!(number(find(&rows, "own-measured", "leak-free", "resources"), "module") < 1e-6);
    assert!(number(find(&rows, "measured-leaves", "leak-free", "full"), "module") < 1e-6);
    assert_eq!(number(find(&rows, "oracle-sum", "paper", "full"), "ml"), 0.0);
    assert!(number(find(&rows, "oracle-sum", "paper", "full"), "module") > 1.0);
    for features in ["full", "specs", "resources"] {
        find(&rows, "irene-end2end", "paper", features);
    }
}

#[test]
fn both_layouts_say_the_same() {
    let files = Files::new();
    let lines = files.write("trees.jsonl", made::jsonl(&made::calls()));
    let packed = files.write("trees.jsonl.gz", packed(made::jsonl(&made::calls()).as_bytes()));
    let arguments = ["--strategy", "own-measured,measured-leaves,predicted-sum", "--format", "json"];
    let [of_lines, of_packed] = [&lines, &packed].map(|file| evaluate(file, &arguments).json());
    assert_eq!(of_lines, of_packed);
    let of_tables = evaluate(&folder().path(""), &arguments).json();
    for method in ["own-measured", "predicted-sum"] {
        let features = if method == "own-measured" { "resources" } else { "full" };
        let of = |rows: &Value| number(find(rows, method, "family", features), "model");
        assert!((of(&of_lines) - of(&of_tables)).abs() < 1e-6, "{method}");
    }
}

#[test]
fn a_choice_is_kept_to() {
    let files = folder();
    let data = files.path("");
    let arguments =
        ["--protocol", "shape", "--strategy", "end2end,specs-only", "--features", "specs", "--seeds", "1"];
    let rows = evaluate(&data, &[&arguments[..], &["--format", "json"]].concat()).json();
    let found: Vec<(&str, &str)> =
        rows.as_array().expect("a list").iter().map(|row| (text(row, "method"), text(row, "features"))).collect();
    assert_eq!(found, [("irene-end2end", "specs"), ("specs-only", "specs")]);
    let csv = evaluate(&data, &[&arguments[..], &["--format", "csv"]].concat()).ok();
    assert!(csv.starts_with("method,protocol,features,ml,module,module_sd,model,sd,seeds\n"), "{csv}");
    let table = evaluate(&data, &arguments).ok();
    for wanted in ["table 5", "table 6", "table 7", "made-large", "conv1d", "tried on more than 2048 tokens"] {
        assert!(table.contains(wanted), "no `{wanted}` in\n{table}");
    }
    let markdown = evaluate(&data, &[&arguments[..], &["--format", "markdown"]].concat()).ok();
    assert!(markdown.contains("| method | features |"), "{markdown}");
    let wrong = evaluate(&data, &["--strategy", "deep"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("specs-only"), "{}", wrong.stderr);
}

#[test]
fn the_software_tracker_says_its_formula() {
    let files = folder();
    let data = files.path("");
    let at = |pue: &str| {
        let arguments = ["--strategy", "software-tracker", "--protocol", "paper", "--format", "json"];
        let constants = ["--pue", pue, "--cpu-watts", "0", "--dram-watts", "0"];
        let ran = evaluate(&data, &[arguments, constants].concat());
        assert!(ran.stderr.contains(&format!("{pue} × (device energy")), "{}", ran.stderr);
        assert!(ran.stderr.contains("not the published errors"), "{}", ran.stderr);
        ran.json()
    };
    // Without processor and memory it is the device's energy times a constant.
    let one = number(find(&at("1"), "software-tracker", "paper", "resources"), "model");
    assert!((0.0..100.0).contains(&one) && one > 1.0, "{one}");
    let ten = number(find(&at("10"), "software-tracker", "paper", "resources"), "model");
    assert!((ten - (10.0 * (100.0 - one) - 100.0)).abs() < 1e-6, "{one} {ten}");
    assert_eq!(evaluate(&data, &["--pue", "0.5"]).code, 2);
}

#[test]
fn wrong_input_is_named_with_what_to_do() {
    let refused = |files: &Files, wanted: &[&str]| {
        let ran = evaluate(&files.path(""), &[]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
        for word in wanted {
            assert!(ran.stderr.contains(word), "no `{word}` in {}", ran.stderr);
        }
    };
    refused(&Files::new(), &["there is no `model_level_features.csv`", "the folder needs ml1_"]);
    let files = folder();
    let ml1 = made::table(&made::calls(), "ml1");
    files.write("ml1_level_features.csv", ml1.replacen("times_mean", "time", 1));
    refused(&files, &["ml1_level_features.csv", "no column `times_mean`"]);
    let mut lines: Vec<String> = ml1.lines().map(str::to_owned).collect();
    let cells: Vec<&str> = lines[3].split(',').collect();
    let row = [&cells[..12], &["NaN"], &cells[13..]].concat().join(",");
    lines[3] = row;
    files.write("ml1_level_features.csv", lines.join("\n"));
    refused(&files, &["line 4", "`energy_mean` is `NaN`"]);
    files.write("ml1_level_features.csv", "");
    refused(&files, &["ml1_level_features.csv", "holds no rows"]);
    let ran = evaluate(&files.path("absent.jsonl"), &[]);
    assert!(ran.code == 1 && ran.stderr.contains("absent.jsonl") && ran.stderr.contains("check that the path"));
    let empty = files.write("empty.jsonl", "");
    assert!(evaluate(&empty, &[]).stderr.contains("holds no rows"));
    let torn = files.write("torn.jsonl", "{\"model_name\": \"a\", ");
    let ran = evaluate(&torn, &[]);
    assert!(ran.code == 1 && ran.stderr.contains("torn.jsonl: line 1"), "{}", ran.stderr);
}

#[test]
fn what_is_missing_or_new_is_told_and_the_rest_used() {
    let files = folder();
    // A module without its row: its children hang below the next one above.
    let modules = made::table(&made::calls(), "module");
    let without: String = modules
        .lines()
        .filter(|line| !line.contains("layer.0.attention:Attention"))
        .map(|line| format!("{line}\n"))
        .collect();
    files.write("module_level_features.csv", without);
    let ran = evaluate(&files.path(""), &["--strategy", "specs-only", "--protocol", "leak-free"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("name a module that has no row"), "{}", ran.stderr);
    // Primitives of a kind that only the model that is left out has.
    let ran = evaluate(&folder().path(""), &["--strategy", "specs-only", "--protocol", "family"]);
    assert!(
        ran.stderr.contains("`conv1d` was never measured in training; it is predicted as `linear`"),
        "{}",
        ran.stderr
    );
    // One model alone cannot be left out of anything.
    let mut calls = made::calls();
    calls.retain(|call| call.model == "made-small");
    let one = Files::new();
    for name in TABLES {
        one.write(&format!("{name}_level_features.csv"), made::table(&calls, name));
    }
    for arguments in [&["--protocol", "paper"][..], &[]] {
        let ran = evaluate(&one.path(""), arguments);
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert_eq!(
            ran.stderr.matches("the protocol `paper` leaves nothing to train on").count(),
            1,
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.contains("measure more than one model"), "{}", ran.stderr);
    }
}

#[test]
fn a_kind_that_no_other_model_has_is_named_under_every_protocol() {
    let files = folder();
    let odd = |text: String| text.replace(":Conv1D", ":Squiggle").replace(":conv1d", ":squiggle");
    files.write("ml1_level_features.csv", odd(made::table(&made::calls(), "ml1")));
    for protocol in ["paper", "leak-free", "family"] {
        for method in ["predicted-sum", "specs-only"] {
            let ran = evaluate(&files.path(""), &["--strategy", method, "--protocol", protocol]);
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            let wanted = "`squiggle` was never measured in training and nothing like it was";
            assert!(ran.stderr.contains(wanted), "{protocol}, {method}: {}", ran.stderr);
        }
    }
}

/// Lines of trees with a mistake in the first node that has the field.
#[test]
fn wrong_lines_name_the_field() {
    let files = Files::new();
    let lines = made::jsonl(&made::calls());
    let said = |from: &str, to: &str| {
        let path = files.write("trees.jsonl", lines.replacen(from, to, 1));
        let ran = evaluate(&path, &["--strategy", "own-measured", "--protocol", "leak-free"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
        ran.stderr
    };
    for (from, to, wanted) in [
        (
            "\"ground_truth_energy\":",
            "\"ground_truth_energy\":NaN,\"x\":",
            "line 1: `ground_truth_energy` is `NaN`",
        ),
        ("\"flops\":", "\"flops\": -Infinity,\"x\":", "line 1: `flops` is `Infinity`"),
        ("\"times_mean\":", "\"times_mean\":-", "`times_mean of "),
        ("\"gpu_energy_mean\":", "\"gpu_energy_mean\":-", "`gpu_energy_mean of "),
        ("\"mem_bytes\":", "\"bytes\":", "missing field `mem_bytes`"),
    ] {
        let answer = said(from, to);
        assert!(answer.contains(wanted), "no {wanted} in {answer}");
    }
}

#[test]
fn a_method_without_what_it_looks_at_is_left_out() {
    let files = Files::new();
    let lines = made::jsonl(&made::calls()).replace("\"gpu_energy_mean\"", "\"gpu_energy\"");
    let path = files.write("trees.jsonl", lines);
    let ran = evaluate(&path, &["--protocol", "leak-free", "--seeds", "1", "--format", "json"]);
    for wanted in [
        "which has no `gpu_energy_mean`",
        "leak-free, own-measured and leak-free, measured-leaves: there are nodes without a latency and a device energy; \
         the method is left out",
        "leak-free, software-tracker: ",
    ] {
        assert!(ran.stderr.contains(wanted), "no {wanted} in {}", ran.stderr);
    }
    let rows = ran.json();
    let methods: Vec<&str> = rows.as_array().expect("a list").iter().map(|row| text(row, "method")).collect();
    let possible =
        ["irene-end2end", "irene-stepwise", "predicted-sum", "unstructured", "oracle-sum", "specs-only"];
    assert_eq!(methods, possible);
    let none = evaluate(&path, &["--protocol", "leak-free", "--strategy", "own-measured"]);
    assert!(none.code == 1 && none.stderr.contains("own-measured: there are nodes"), "{}", none.stderr);
}

/// What must hold on the published measurements, by the one command that prints it all.
#[test]
fn the_published_measurements_give_what_they_must() {
    let Some(data) = development("irene/device_1") else { return };
    let data: &Path = &data;
    let rows = evaluate(&data.display().to_string(), &["--format", "json"]).json();
    let value = |method: &str, protocol: &str, features: &str, level: &str| {
        let found = number(find(&rows, method, protocol, features), level);
        println!("{method} {protocol} {features} {level}: {found:.3} %");
        found
    };
    let near = |found: f64, wanted: f64, off: f64| assert!((found - wanted).abs() <= off, "{found}, not {wanted}");
    let within = |found: f64, low: f64, high: f64| assert!((low..=high).contains(&found), "{found}");
    near(value("irene-end2end", "paper", "full", "ml"), 0.700, 0.005);
    near(value("predicted-sum", "paper", "full", "module"), 16.40, 0.02);
    near(value("predicted-sum", "paper", "full", "model"), 17.69, 0.02);
    near(value("oracle-sum", "paper", "full", "module"), 16.44, 0.005);
    near(value("oracle-sum", "paper", "full", "model"), 17.69, 0.005);
    within(value("irene-end2end", "paper", "full", "module"), 8.5, 8.75);
    within(value("irene-end2end", "paper", "full", "model"), 4.5, 7.5);
    within(value("irene-stepwise", "paper", "full", "module"), 9.2, 9.35);
    let limits = [
        ("own-measured", "leak-free", "resources", 0.46, 0.48),
        ("measured-leaves", "leak-free", "full", 2.1, 1.5),
        ("specs-only", "leak-free", "specs", 2.7, 2.0),
        ("specs-only", "family", "specs", 4.0, 2.4),
        ("specs-only", "shape", "specs", 3.0, 2.0),
    ];
    for (method, protocol, features, module, model) in limits {
        within(value(method, protocol, features, "module"), 0.0, module);
        within(value(method, protocol, features, "model"), 0.0, model);
    }
}
