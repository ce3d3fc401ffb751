//! Every real trace of the development data against an independent count of what is in it: events, sums of durations,
//! unions, time bases, markers, and how much of the time finds its layer.

use crate::common;

use std::collections::BTreeMap;
use std::path::PathBuf;

use common::*;
use serde_json::Value;

/// What `jouletree inspect --format json` says of a development file; `None` where it is not there.
fn inspect(file: &str, more: &[&str]) -> Option<Value> {
    let path = development_data(file)?.display().to_string();
    Some(run([&["inspect", &path, "--format", "json"][..], more].concat()).json())
}

fn expected() -> Option<serde_json::Map<String, Value>> {
    let expected = read_json(&development_data("EXPECTED.json")?);
    Some(expected.as_object().expect("an object").clone())
}

/// The device and the category under which we count what the independent count calls `name`.
fn counted_as(kind: &str, name: &str) -> (String, String) {
    let cpu = "host/cpu:0".to_owned();
    match kind {
        "kineto" => match name.strip_prefix("GPU:").and_then(|rest| rest.split_once(' ')) {
            Some((number, category)) => (format!("host/gpu:{number}"), category.to_owned()),
            None => (cpu, name.strip_prefix("host ").expect("the host").to_owned()),
        },
        "tf-timeline" => (cpu, "Op".to_owned()),
        "xplane" => (cpu, name.split_once(' ').expect("plane and line").1.to_owned()),
        // Written by PyTorch without Kineto: events without a category.
        "chrome-other" if name == "CPU functions" => (cpu, String::new()),
        _ => (cpu, name.to_owned()),
    }
}

/// Events, microseconds and busy microseconds by device and category.
fn held(inspection: &Value) -> BTreeMap<(String, String), (u64, f64, f64)> {
    let mut held = BTreeMap::new();
    for device in list(inspection, "devices") {
        for row in list(device, "categories") {
            let key = (text(device, "device").to_owned(), text(row, "category").to_owned());
            let events = row["events"].as_u64().expect("a count");
            held.insert(key, (events, 1e6 * number(row, "duration_s"), 1e6 * number(row, "busy_s")));
        }
    }
    held
}

#[test]
fn counts_sums_and_unions_are_those_of_an_independent_reader() {
    let Some(expected) = expected() else { return };
    for (file, wanted) in &expected {
        let inspection = inspect(file, &[]).expect("the file is there");
        let kind = text(wanted, "kind");
        let mut held = held(&inspection);
        for (name, row) in wanted["devices"].as_object().expect("devices") {
            let key = counted_as(kind, name);
            let (events, sum, busy) = held.remove(&key).unwrap_or_else(|| panic!("{file}: no {key:?}"));
            assert_eq!(Some(events), row["x_events"].as_u64(), "{file} {name}: events");
            // Both are whole nanoseconds, the independent count of the sum, ours of each event: the trace viewer's
            // instants of one picosecond are lost to us.
            let rounding =
                if text(&inspection, "format") == "chrome-trace" { 1e-6 * events as f64 } else { 0.000_6 };
            for (what, found, wanted) in [("sum", sum, "sum_dur_us"), ("union", busy, "busy_union_us")] {
                let wanted = number(row, wanted);
                assert!((found - wanted).abs() <= rounding, "{file} {name}: {what} {found}, wanted {wanted}");
            }
        }
        // What the independent count leaves out: instants of thread pools, which take no time.
        held.retain(|(_, category), _| category != "ThreadpoolListener");
        assert!(held.is_empty(), "{file}: more than was counted: {held:?}");
        println!(
            "{file}: {} devices and categories equal",
            wanted["devices"].as_object().map_or(0, |map| map.len())
        );
    }
    println!("{} files", expected.len());
}

#[test]
fn time_bases_are_those_of_an_independent_reader() {
    let Some(expected) = expected() else { return };
    for (file, wanted) in &expected {
        let inspection = inspect(file, &[]).expect("the file is there");
        let integer = |value: &Value| value.as_i64();
        let times = [integer(&inspection["start_ns"]), integer(&inspection["end_ns"])];
        if text(wanted, "kind") == "xplane" {
            let base = integer(&inspection["base_ns"]).expect("a base");
            match integer(&wanted["profile_start_time_ns"]) {
                Some(own) => {
                    assert_eq!((base, &inspection["base_from"]), (own, &Value::from("the file")), "{file}")
                }
                None => {
                    let beside = file.replace(".xplane.pb.gz", ".meta.json");
                    let bracket = read_json(&development_data(&beside).expect("a sidecar"));
                    let (before, after) =
                        (integer(&bracket["before_start_ns"]), integer(&bracket["after_start_ns"]));
                    assert!(before <= Some(base) && Some(base) <= after, "{file}: {base}");
                }
            }
            let picos = [&wanted["first_start_ps"], &wanted["last_end_ps"]].map(integer);
            assert_eq!(times, picos.map(|picos| picos.map(|picos| base + picos / 1000)), "{file}");
        } else {
            assert_eq!(text(&inspection, "time_base"), text(wanted, "time"), "{file}");
            let base = integer(&inspection["base_ns"]).unwrap_or(0);
            assert_eq!(Some(base), integer(&wanted["base_time_ns"]), "{file}");
            assert_eq!(times, [&wanted["first_start_ns"], &wanted["last_end_ns"]].map(integer), "{file}");
        }
        println!("{file}: {} from {}", inspection["time_base"], inspection["base_from"]);
    }
}

#[test]
fn markers_land_where_they_say() {
    const LATE: i64 = 200_000;
    for file in [
        "torch222_bert_tiny_hooks.json.gz",
        "torch222_bert_tiny_stack.json.gz",
        "torch215_bert_tiny_hooks.json.gz",
        "jax0102_minibert.xplane.pb.gz",
    ] {
        let Some(inspection) = inspect(file, &[]) else { return };
        let markers = list(&inspection, "markers");
        assert!(!markers.is_empty(), "{file}: no marker");
        for marker in markers {
            let [at, wall] = ["at_ns", "wall_ns"].map(|key| marker[key].as_i64().expect("an instant"));
            println!("{file}: marker {} ns after its time of day", at - wall);
            assert!((0..=LATE).contains(&(at - wall)), "{file}: {} ns off", at - wall);
        }
    }
}

/// The largest operations of flat traces: self time is duration there, so they rank as in the independent count.
#[test]
fn the_largest_operations_are_those_of_an_independent_reader() {
    let Some(expected) = expected() else { return };
    for file in ["tf215_bert_tiny_timeline-5.json.gz", "tf215_bert_tiny_timeline-6.json.gz"] {
        let inspection = inspect(file, &["--top", "8"]).expect("the file is there");
        let device = expected[file]["devices"].as_object().and_then(|devices| devices.values().next());
        let wanted = list(device.expect("a device"), "top_by_total_dur").iter().filter(|row| row[0] != "_SOURCE");
        for (found, wanted) in list(&inspection, "top").iter().zip(wanted) {
            assert_eq!((&found["name"], &found["count"]), (&wanted[0], &wanted[1]), "{file}");
            assert_close(1e6 * number(found, "self_s"), wanted[2].as_f64().expect("µs"), 1e-9, file);
        }
    }
}

#[test]
fn time_lands_in_named_layers() {
    const WANTED: f64 = 0.99;
    let model: Option<PathBuf> = development_data("onnx_bert_tiny.graph.gz");
    let model = model.map(|path| path.display().to_string()).unwrap_or_default();
    for (file, more) in [
        ("tf215_keras_minibert.xplane.pb.gz", &[][..]),
        ("tf221_keras_minibert.xplane.pb.gz", &[]),
        ("jax0102_minibert.xplane.pb.gz", &[]),
        ("ort131_bert_tiny_fused.json.gz", &["--model", &model]),
        ("ort131_bert_tiny_fused.json.gz", &[]),
    ] {
        let Some(inspection) = inspect(file, more) else { return };
        let share = number(&inspection, "in_layers");
        println!(
            "{file} {}: {:.3} % of self time below a named layer",
            more.first().unwrap_or(&""),
            100.0 * share
        );
        assert!(share >= WANTED, "{file}: {share}");
    }
}

/// Every trace is accounted with power over its time, and no energy is lost on the way to operations, tree and summary.
#[test]
fn every_trace_is_accounted_and_energy_is_conserved() {
    let Some(expected) = expected() else { return };
    let files = Files::new();
    for file in expected.keys() {
        let path = development_data(file).expect("the file is there").display().to_string();
        let inspection = inspect(file, &[]).expect("the file is there");
        let [start, end] = ["start_ns", "end_ns"].map(|key| inspection[key].as_i64().expect("an instant"));
        let base = if text(&inspection, "time_base") == "relative" { 1_772_442_000_000_000_000 } else { 0 };
        let devices: Vec<&str> =
            list(&inspection, "devices").iter().map(|device| text(device, "device")).collect();
        let power = files.write("power.csv", power_over(base + start, base + end, &devices));
        let mut arguments = vec![path, "--power".to_owned(), power];
        if base > 0 {
            arguments.extend(["--base-ns".to_owned(), base.to_string()]);
        }
        let result = account(&arguments);
        assert_conserved(&result);
        let attributed: f64 = list(&result, "devices").iter().map(|device| number(device, "attributed_j")).sum();
        assert!(attributed > 0.0, "{file}: nothing was attributed");
        println!("{file}: {attributed:.3} J attributed on {}", devices.join(", "));
    }
}
