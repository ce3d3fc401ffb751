//! Real traces of the development data: golden energies, counts, and where self time lands. Skipped without them.

use crate::common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use common::*;
use serde_json::Value;

const GOLDEN: [&str; 2] = ["tf215_bert_tiny_timeline-5", "tf215_bert_tiny_unfused_timeline-5"];

/// A golden timeline with its power, accounted, and what it must come to.
fn golden(stem: &str, options: &[&str]) -> Option<(Value, Value)> {
    let trace = development_data(&format!("{stem}.json.gz"))?.display().to_string();
    let power = development_data(&format!("{stem}.power.csv"))?.display().to_string();
    let wanted = read_json(&development_data(&format!("{stem}.golden.json"))?);
    let arguments = [&[trace.as_str(), "--power", power.as_str()], options].concat();
    Some((account(arguments), wanted))
}

/// Energy by the name the framework gave.
fn by_name(result: &Value) -> BTreeMap<&str, f64> {
    let mut energies = BTreeMap::new();
    for op in list(result, "ops") {
        *energies.entry(text(op, "name")).or_default() += number(op, "energy_j");
    }
    energies
}

/// The pairs of a golden list.
fn pairs<'a>(golden: &'a Value, key: &str) -> Vec<(&'a str, f64)> {
    let pair = |pair: &'a Value| (pair[0].as_str().expect("a name"), pair[1].as_f64().expect("an energy"));
    list(golden, key).iter().map(pair).collect()
}

fn assert_golden(result: &Value, golden: &Value, what: &str) {
    let energies = by_name(result);
    assert_close(energies.values().sum(), number(golden, "sum_J"), 1e-6, what);
    let mut worst = 0.0_f64;
    for (name, energy) in pairs(golden, "top") {
        let found = energies.get(name).copied().unwrap_or_else(|| panic!("{what}: no {name}"));
        assert_close(found, energy, 1e-6, name);
        worst = worst.max((found / energy - 1.0).abs());
    }
    let sum: f64 = energies.values().sum();
    println!("{what}: {sum:.9} J, golden {}; worst of the top operations {worst:.1e}", golden["sum_J"]);
}

#[test]
fn golden_energies_of_half_open_intervals() {
    for stem in GOLDEN {
        let Some((result, golden)) = golden(stem, &[]) else { return };
        assert_golden(&result, &golden["half_open"], &format!("{stem}, half open"));
        assert_conserved(&result);
    }
}

#[test]
fn golden_energies_of_the_printed_algorithm() {
    for stem in GOLDEN {
        let Some((result, golden)) = golden(stem, &["--semantics", "paper"]) else { return };
        assert_golden(&result, &golden["alg2_inclusive_us"], &format!("{stem}, Algorithm 2"));
        assert_conserved(&result);
    }
}

#[test]
fn golden_scopes() {
    for stem in GOLDEN {
        let Some((result, golden)) = golden(stem, &[]) else { return };
        let mut scopes: BTreeMap<String, f64> = BTreeMap::new();
        for (name, energy) in by_name(&result) {
            let parts: Vec<&str> = name.split('/').collect();
            for depth in 1..parts.len().min(5) {
                *scopes.entry(parts[..depth].join("/")).or_default() += energy;
            }
        }
        for (scope, energy) in pairs(&golden["half_open"], "scopes") {
            assert_close(scopes.get(scope).copied().unwrap_or(0.0), energy, 1e-6, scope);
        }
    }
}

#[test]
fn repeated_layers_are_folded() {
    for stem in GOLDEN {
        let Some((result, _)) = golden(stem, &[]) else { return };
        let paths: Vec<&str> = list(&result, "summary").iter().map(|op| text(op, "path")).collect();
        let unfolded: Vec<&&str> = paths
            .iter()
            .filter(|path| path.split('/').any(|part| matches!(part, "layer_0" | "layer_1")))
            .collect();
        assert!(unfolded.is_empty(), "{stem}: {unfolded:?}");
        assert!(paths.iter().any(|path| path.starts_with("bert/encoder/transformer/")), "{stem}");
    }
}

/// A device of `EXPECTED.json` as we call it, and the category of its events.
fn expected_device(name: &str) -> (String, String) {
    match name.split_once(' ') {
        Some((gpu, category)) if gpu.starts_with("GPU:") => {
            (format!("host/{}", gpu.to_ascii_lowercase()), category.to_owned())
        }
        Some(("host", category)) => ("host/cpu:0".to_owned(), category.to_owned()),
        _ => ("host/cpu:0".to_owned(), "Op".to_owned()),
    }
}

/// What `EXPECTED.json` says about a trace, and the trace accounted with power for all its devices. Each is
/// accounted once, whatever number of tests look at it.
fn real(name: &str) -> Option<&'static (Value, Value)> {
    static DONE: Mutex<BTreeMap<String, &'static (Value, Value)>> = Mutex::new(BTreeMap::new());
    let trace = development_data(name)?.display().to_string();
    let facts = read_json(&development_data("EXPECTED.json")?)[name].clone();
    let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = done.get(name) {
        return Some(known);
    }
    let devices: BTreeSet<String> = expected_counts(&facts).into_keys().map(|(device, _)| device).collect();
    let devices: Vec<&str> = devices.iter().map(String::as_str).collect();
    let [start, end] = ["first_start_ns", "last_end_ns"].map(|key| facts[key].as_i64().expect("a time"));
    let files = Files::new();
    let power = files.write("power.csv", power_over(start - 1_000, end + 1_000, &devices));
    let result = account([&trace, "--power", &power]);
    let known: &'static (Value, Value) = Box::leak(Box::new((facts, result)));
    done.insert(name.to_owned(), known);
    Some(known)
}

fn expected_counts(facts: &Value) -> BTreeMap<(String, String), u64> {
    let devices = facts["devices"].as_object().expect("an object").iter();
    devices.map(|(name, facts)| (expected_device(name), facts["x_events"].as_u64().expect("a count"))).collect()
}

#[test]
fn counts_are_those_expected() {
    let Some(expected) = development_data("EXPECTED.json") else { return };
    let mut traces = 0;
    for (name, facts) in read_json(&expected).as_object().expect("an object") {
        if !matches!(text(facts, "kind"), "kineto" | "tf-timeline") {
            continue;
        }
        let Some((facts, result)) = real(name) else { return };
        let counts = list(&list(result, "traces")[0], "counts").iter();
        let found: BTreeMap<(String, String), u64> = counts
            .map(|row| {
                let place = (text(row, "device").to_owned(), text(row, "category").to_owned());
                (place, row["events"].as_u64().expect("a count"))
            })
            .collect();
        assert_eq!(found, expected_counts(facts), "{name}");
        assert!(warnings(result).is_empty(), "{name}: {:?}", warnings(result));
        assert_conserved(result);
        traces += 1;
    }
    println!("counts of {traces} traces are as expected");
    assert!(traces >= 9, "only {traces} traces");
}

/// The energies of the operations of a device, by what distinguishes them.
fn energies_on<'a>(result: &'a Value, device: &str) -> BTreeMap<[&'a str; 4], f64> {
    let mut energies = BTreeMap::new();
    for op in list(result, "ops").iter().filter(|op| op["device"] == device) {
        let key = ["path", "name", "type", "pass"].map(|key| text(op, key));
        *energies.entry(key).or_default() += number(op, "energy_j");
    }
    energies
}

#[test]
fn two_ranks_account_to_two_gpus() {
    let names = [0, 1].map(|rank| format!("kineto_gpu_hta_sampled_rank{rank}.json.gz"));
    let Some(expected) = development_data("EXPECTED.json").map(|path| read_json(&path)) else { return };
    let start = names.iter().filter_map(|name| expected[name]["first_start_ns"].as_i64()).min().expect("a time");
    let end = names.iter().filter_map(|name| expected[name]["last_end_ns"].as_i64()).max().expect("a time");
    let files = Files::new();
    let power = files.write("power.csv", power_over(start - 7, end + 9, &["cpu:0", "gpu:0", "gpu:1"]));
    let Some([rank0, rank1]) = both(names.each_ref().map(|name| development_data(name))) else { return };

    let together = account([&rank0, &rank1, "--power", &power]);
    assert_conserved(&together);
    for (rank, gpu) in [(&rank0, "host/gpu:0"), (&rank1, "host/gpu:1")] {
        let alone = account([rank, "--power", &power]);
        let (found, wanted) = (energies_on(&together, gpu), energies_on(&alone, gpu));
        assert!(!wanted.is_empty());
        assert!(found.keys().eq(wanted.keys()), "{gpu} runs other operations");
        for (key, energy) in &wanted {
            assert_close(found[key], *energy, 1e-9, &format!("{gpu} {key:?}"));
        }
        // The processor is one, and both ranks run on it.
        assert!(energies_on(&together, "host/cpu:0").len() > energies_on(&alone, "host/cpu:0").len());
        let joules = number(device(&together, gpu), "attributed_j");
        assert_close(joules, number(device(&alone, gpu), "attributed_j"), 1e-9, gpu);
        println!("{gpu}: {joules:.6} J attributed, alone and with the other rank");
    }
}

fn both(paths: [Option<std::path::PathBuf>; 2]) -> Option<[String; 2]> {
    let [first, second] = paths;
    Some([first?, second?].map(|path| path.display().to_string()))
}

#[test]
fn self_time_lands_in_named_modules() {
    for name in ["torch215_bert_tiny_hooks.json.gz", "torch222_bert_tiny_hooks.json.gz"] {
        let Some((_, result)) = real(name) else { return };
        let is_of_model =
            |op: &&Value| op["device"] == "host/cpu:0" && op["type"] != "python" && op["pass"] != "optimizer";
        let in_module = |op: &&Value| {
            text(op, "path").split_once('/').is_some_and(|(first, _)| !matches!(first, "" | "gradients"))
        };
        let of_model: Vec<&Value> = list(result, "ops").iter().filter(is_of_model).collect();
        let busy = |ops: &mut dyn Iterator<Item = &Value>| ops.map(|op| number(op, "busy_s")).sum::<f64>();
        let all = busy(&mut of_model.iter().copied());
        let named = busy(&mut of_model.iter().copied().filter(in_module));
        println!("{name}: {:.4} % of forward and backward self time lies in a named module", 100.0 * named / all);
        assert!(named >= 0.999 * all, "{name}: only {} of {all} s", named);
        for pass in ["forward", "backward"] {
            assert!(of_model.iter().any(|op| op["pass"] == pass), "{name}: no {pass} operation");
        }
    }
}

#[test]
fn kernels_find_their_launch_and_collectives_stand_apart() {
    let name = "kineto_gpu_hta_a100_ddp_rank0of2.json.gz";
    let Some((_, result)) = real(name) else { return };
    let on_gpu: Vec<&Value> = list(result, "ops").iter().filter(|op| op["device"] == "host/gpu:0").collect();
    let lost: Vec<_> = on_gpu.iter().filter(|op| text(op, "path").starts_with("unlaunched")).collect();
    assert!(lost.is_empty(), "{lost:?}");
    let collectives: Vec<_> = on_gpu.iter().filter(|op| text(op, "name").starts_with("nccl")).collect();
    assert!(!collectives.is_empty());
    assert!(collectives.iter().all(|op| text(op, "path").starts_with("collectives/")), "{collectives:?}");
    let others = on_gpu.iter().filter(|op| !text(op, "name").starts_with("nccl"));
    assert!(others.clone().count() > 50);
    assert!(!others.clone().any(|op| text(op, "path").starts_with("collectives/")));
}

#[test]
fn relative_times_are_told_apart_from_the_wall_clock() {
    let Some(trace) = development_data("torch113_debian_legacy_list.json.gz") else { return };
    let ran = run(["account", &trace.display().to_string(), "--power", &sample("power.csv")]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.contains("cover different times"), "{}", ran.stderr);
}
