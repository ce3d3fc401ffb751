//! Run folders of format version 1 open in every verb that takes a run, with the numbers that the version that wrote them
//! printed. `tests/version1/README.md` says how both were made.

use crate::common;

use std::fs;
use std::path::Path;

use common::*;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

const RUNS: [&str; 4] = ["recorded", "power", "accounted", "predicted"];

fn data() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/version1")
}

/// Copies of the runs in a folder of their own.
fn copies() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for run in RUNS {
        let copy = folder.path().join(run);
        fs::create_dir(&copy).expect("a folder");
        for file in fs::read_dir(data().join(run)).expect("a run").map(|file| file.expect("a file").path()) {
            fs::copy(&file, copy.join(file.file_name().expect("a name"))).expect("a copy");
        }
    }
    folder
}

/// What a command printed for programs, tables as lists of rows; `None` when it printed for people.
fn printed(arguments: &str, text: &str) -> Option<Value> {
    let is_table = |ending: &str| arguments.contains(&format!("--to {ending} "));
    if arguments.contains("--format csv") || ["csv", "emissions.csv", "eco2ai"].into_iter().any(is_table) {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let cell = |text: &str| text.parse::<f64>().map_or_else(|_| json!(text), |number| json!(number));
        let rows = reader.deserialize::<std::collections::BTreeMap<String, String>>().map(|row| {
            let row = row.expect("a row").into_iter();
            Value::Object(row.map(|(key, text)| (key, cell(&text))).collect::<Map<_, _>>())
        });
        return Some(rows.collect());
    }
    if is_table("collapsed") {
        let number = |line: &str| line.rsplit(' ').next().and_then(|word| word.parse::<f64>().ok());
        return Some(text.lines().map(|line| json!({"µJ": number(line).expect("a number")})).collect());
    }
    let lines = || text.lines().map(serde_json::from_str::<Value>).collect::<Result<Value, _>>();
    serde_json::from_str(text).or_else(|_| lines()).ok()
}

/// Fails unless all numbers that are expected are there and the same; there may be more.
#[track_caller]
fn compare(found: &Value, expected: &Value, place: &str) {
    match expected {
        Value::Object(expected) if expected.contains_key("#") => {
            let found = found.as_array().unwrap_or_else(|| panic!("{place}: no list"));
            assert_eq!(expected["#"], json!(found.len()), "{place}: another length");
            for (key, sum) in expected["sums"].as_object().expect("sums") {
                let numbers = found.iter().filter_map(|row| row[key].as_f64());
                let sum = sum.as_f64().expect("a number");
                assert_close(numbers.sum(), sum, 1e-12, &format!("{place}: the sum of {key}"));
            }
        }
        Value::Object(expected) => {
            for (key, expected) in expected {
                let place = format!("{place}/{key}");
                compare(found.get(key).unwrap_or_else(|| panic!("{place} is missing")), expected, &place);
            }
        }
        Value::Array(expected) => {
            let found = found.as_array().unwrap_or_else(|| panic!("{place}: no list"));
            assert_eq!(found.len(), expected.len(), "{place}: another length");
            for (row, (found, expected)) in found.iter().zip(expected).enumerate() {
                // What was no number was not kept.
                if !expected.is_null() || found.is_number() {
                    compare(found, expected, &format!("{place}/{row}"));
                }
            }
        }
        Value::Number(expected) => assert_eq!(found.as_f64(), expected.as_f64(), "{place}"),
        other => assert_eq!(found, other, "{place}"),
    }
}

fn opens_in_every_verb(run: &str) {
    let folder = copies();
    let expected = read_json(&data().join("expected").join(format!("{run}.json")));
    let mut compared = 0;
    for (arguments, expected) in expected.as_object().expect("commands") {
        let words = arguments.split_whitespace();
        let ran = ended(jouletree().args(words).current_dir(folder.path()).output().expect("the command starts"));
        assert_eq!(json!(ran.code), expected["status"], "{arguments}: {}", ran.stderr);
        if let Some(numbers) = expected.get("numbers") {
            let found = printed(arguments, &ran.stdout).unwrap_or_else(|| panic!("{arguments}: {}", ran.stdout));
            compare(&found, numbers, arguments);
            compared += 1;
        }
    }
    assert!(compared >= 8, "{compared} outputs of {run} have numbers");
    for name in fs::read_dir(data().join(run)).expect("a run").map(|file| file.expect("a file").file_name()) {
        let content = |folder: &Path| fs::read(folder.join(run).join(&name)).expect("a file");
        assert!(content(&data()) == content(folder.path()), "{run}/{} was changed", name.to_string_lossy());
    }
}

#[test]
fn a_recorded_run_opens_in_every_verb() {
    opens_in_every_verb("recorded");
}

#[test]
fn a_recording_of_power_opens_in_every_verb() {
    opens_in_every_verb("power");
}

#[test]
fn an_accounted_run_opens_in_every_verb() {
    opens_in_every_verb("accounted");
}

#[test]
fn a_predicted_run_opens_in_every_verb() {
    opens_in_every_verb("predicted");
}
