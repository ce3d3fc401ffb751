//! The sample data of the repository, accounted and shown: what comes out is whole, named right and the same however
//! it is asked for.

use crate::common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use common::*;
use serde_json::Value;

fn paths<'a>(result: &'a Value, key: &str) -> BTreeSet<&'a str> {
    list(result, key).iter().map(|op| text(op, "path")).collect()
}

fn count_of(ops: &[Value]) -> u64 {
    ops.iter().map(|op| op["count"].as_u64().expect("a count")).sum()
}

/// The events of a trace file that are neither of these categories.
fn events_except(source: &Value, categories: &[&str]) -> u64 {
    let counts = list(source, "counts").iter().filter(|row| !categories.contains(&text(row, "category")));
    counts.map(|row| row["events"].as_u64().expect("a count")).sum()
}

#[test]
fn no_energy_is_lost() {
    assert_conserved(timeline());
    assert_conserved(ranks());
}

#[test]
fn devices_are_told_apart() {
    let names = |result: &Value| -> Vec<String> {
        list(result, "devices").iter().map(|row| text(row, "device").to_owned()).collect()
    };
    assert_eq!(names(timeline()), ["host/cpu:0"]);
    let ranks = ranks();
    assert_eq!(names(ranks), ["host/cpu:0", "host/gpu:0", "host/gpu:1"]);
    for row in list(ranks, "devices") {
        assert_eq!(row["kind"], "estimated");
        assert_eq!(number(row, "uncovered_s"), 0.0);
        assert!(number(row, "attributed_j") > 0.0);
    }
}

#[test]
fn every_pass_is_there() {
    for result in [timeline(), ranks()] {
        let passes: BTreeSet<&str> = list(result, "ops").iter().map(|op| text(op, "pass")).collect();
        assert_eq!(passes, BTreeSet::from(["backward", "forward", "optimizer"]));
        let tree = result["tree"]["passes"].as_object().expect("an object");
        assert_eq!(tree.len(), 3);
        assert!(tree.values().all(|energy| energy.as_f64() > Some(0.0)));
    }
}

#[test]
fn equal_blocks_are_folded() {
    let timeline = timeline();
    let folded = paths(timeline, "summary");
    assert!(folded.contains("bert/encoder/transformer/attention/self/query/MatMul"), "{folded:?}");
    assert!(!folded.iter().any(|path| path.contains("layer_")), "{folded:?}");
    assert!(paths(timeline, "ops").iter().any(|path| path.starts_with("bert/encoder/layer_3/")));

    let ranks = ranks();
    let folded = paths(ranks, "summary");
    assert!(folded.iter().any(|path| path.starts_with("transformer/h.*/")), "{folded:?}");
    assert!(!folded.iter().any(|path| path.contains("h.0")), "{folded:?}");
    for result in [timeline, ranks] {
        assert_eq!(count_of(list(result, "summary")), count_of(list(result, "ops")));
    }
}

#[test]
fn the_optimizer_works_for_the_layers_of_its_variables() {
    let timeline = timeline();
    let unscoped =
        list(timeline, "ops").iter().filter(|op| op["pass"] == "optimizer" && !text(op, "name").contains('/'));
    let unscoped: Vec<&Value> = unscoped.collect();
    let in_model = |op: &&&Value| {
        let path = text(op, "path");
        path.starts_with("bert/") || path.starts_with("cls/")
    };
    assert!(unscoped.len() > 100);
    assert!(unscoped.iter().filter(in_model).count() * 10 > unscoped.len() * 9);
    let update = list(timeline, "ops").iter().find(|op| op["name"] == "Mul_154").expect("Mul_154");
    assert_eq!(text(update, "path"), "bert/encoder/layer_3/intermediate/dense/kernel/Mul");
}

#[test]
fn rewritten_names_are_undone_and_kept() {
    let timeline = timeline();
    let rewritten: Vec<&Value> = list(timeline, "ops")
        .iter()
        .filter(|op| ["ArithmeticOptimizer", "ConstantFolding"].iter().any(|mark| text(op, "name").contains(mark)))
        .collect();
    assert!(rewritten.len() >= 2);
    for op in rewritten {
        let path = text(op, "path");
        let marks = ["ArithmeticOptimizer", "ConstantFolding", "AddOpsRewrite", "_recip", "gradients"];
        assert!(!marks.iter().any(|mark| path.contains(mark)), "{op}");
    }
}

#[test]
fn what_is_no_operation_is_not_accounted() {
    let timeline = timeline();
    assert!(list(timeline, "ops").iter().all(|op| text(op, "name") != "_SOURCE"));
    let read = events_except(&list(timeline, "traces")[0], &[]);
    assert_eq!(count_of(list(timeline, "ops")), read - 1, "all but _SOURCE");

    let ranks = ranks();
    let read = |source| events_except(source, &["Trace", "gpu_user_annotation"]);
    let read: u64 = list(ranks, "traces").iter().map(read).sum();
    let marks_of_steps = 4;
    assert_eq!(count_of(list(ranks, "ops")), read - marks_of_steps);
}

#[test]
fn steps_are_known() {
    let numbers = |result: &Value| -> BTreeSet<u64> {
        list(result, "steps").iter().map(|row| row["step"].as_u64().expect("a step")).collect()
    };
    assert_eq!(numbers(timeline()), BTreeSet::from([5]));
    let ranks = ranks();
    assert_eq!(numbers(ranks), BTreeSet::from([3, 4]));
    assert_eq!(list(ranks, "steps").len(), 6, "two steps on each of three devices");
}

#[test]
fn backward_operations_lie_in_the_modules_of_their_forward_ones() {
    let ranks = ranks();
    let backward = |path: &str| {
        list(ranks, "ops").iter().any(|op| op["pass"] == "backward" && text(op, "path").starts_with(path))
    };
    for module in ["transformer/h.0/attn/", "transformer/h.3/mlp/", "lm_head/"] {
        assert!(backward(module), "{module}");
    }
}

#[test]
fn a_kept_run_is_shown_in_every_way() {
    let files = Files::new();
    let traces = [
        ("tf", vec![sample("timeline-5.json.gz"), "--power".into(), sample("power.csv")]),
        (
            "pt",
            vec![sample("rank0.json.gz"), sample("rank1.json.gz"), "--power".into(), sample("power-ranks.csv")],
        ),
    ];
    for (name, arguments) in traces {
        let folder = files.path(name);
        let accounted = account(arguments.iter().map(String::as_str).chain(["-o", &folder]));
        for by in ["layer", "op", "pass", "device", "step"] {
            for format in ["table", "json", "csv", "markdown"] {
                let choices = [
                    &[][..],
                    &["--summarize"],
                    &["--pass", "backward", "--summarize", "--by-power", "--top", "3"],
                ];
                // Devices and steps are those of the whole run, whatever is chosen.
                let choices = if matches!(by, "device" | "step") { &choices[..1] } else { &choices };
                for options in choices.iter().copied() {
                    let arguments = [&["show", &folder, "--by", by, "--format", format], options].concat();
                    let shown = run(&arguments);
                    assert_eq!(shown.stderr, "", "{arguments:?}");
                    let shown = shown.ok();
                    assert!(!shown.is_empty() || options.contains(&"--by-power"), "{arguments:?}");
                    match format {
                        "json" => drop(serde_json::from_str::<Value>(&shown).expect("JSON")),
                        // No operation of the short sample may have a power of its own.
                        "csv" => assert!(
                            options.contains(&"--by-power") || !rows_of(&shown).is_empty(),
                            "{arguments:?}"
                        ),
                        _ => assert!(shown.lines().all(|line| line == line.trim_end())),
                    }
                }
            }
        }
        let shown = |by| run(["show", &folder, "--by", by, "--format", "json"]).json();
        assert_eq!(shown("device"), accounted["devices"]);
        assert_eq!(shown("step"), accounted["steps"]);
        assert_eq!(shown("op"), accounted["ops"]);
        for by in ["layer", "module"] {
            let mut tree = shown(by);
            let beside = tree.as_object_mut().expect("an object");
            assert_eq!(
                (beside.remove("whole"), beside.remove("trust").is_some()),
                (Some(accounted["whole"].clone()), true)
            );
            assert_eq!(tree, accounted["tree"]);
        }
        for (pass, energy) in accounted["tree"]["passes"].as_object().expect("an object") {
            assert_close(number(&shown("pass"), pass), energy.as_f64().expect("an energy"), 1e-12, pass);
        }
        let folded = run(["show", &folder, "--by", "op", "--summarize", "--format", "json"]).json();
        assert_eq!(folded, accounted["summary"]);
    }
}

/// The rows of a CSV after its header.
fn rows_of(text: &str) -> Vec<csv::StringRecord> {
    csv::Reader::from_reader(text.as_bytes()).records().collect::<Result<_, _>>().expect("CSV")
}

#[test]
fn a_kept_run_accounts_to_the_same() {
    let files = Files::new();
    let (first, second) = (files.path("first"), files.path("second"));
    let accounted = account([
        &sample("rank0.json.gz"),
        &sample("rank1.json.gz"),
        "--power",
        &sample("power-ranks.csv"),
        "-o",
        &first,
    ]);
    assert_eq!(account([&first]), accounted);
    assert_eq!(account([&first, "-o", &second]), accounted);
    assert_eq!(account([&second]), accounted);
    let other_power = account([&first, "--power", &sample("power-ranks.csv")]);
    assert_eq!(other_power["devices"], accounted["devices"]);
}

fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry"))
        .map(|entry| (entry.file_name().into_string().expect("a name"), fs::read(entry.path()).expect("a file")))
        .collect();
    files.sort();
    files
}

#[test]
fn what_exists_is_never_overwritten() {
    let files = Files::new();
    let folder = files.path("run");
    let arguments =
        ["account", &sample("timeline-5.json.gz"), "--power", &sample("power.csv"), "-o", &folder, "--top", "1"];
    run(arguments).ok();
    let before = content(Path::new(&folder));
    let again = run(arguments);
    assert_eq!((again.code, again.stdout.as_str()), (1, ""));
    assert!(again.stderr.contains("exists") && again.stderr.contains("-o"), "{}", again.stderr);
    assert_eq!(content(Path::new(&folder)), before);
    let beside = fs::read_dir(Path::new(&folder).parent().expect("a folder")).expect("a folder").count();
    assert_eq!(beside, 1, "nothing is left beside the run");
}

#[test]
fn the_order_of_traces_does_not_matter() {
    let [rank0, rank1, power] = ["rank0.json.gz", "rank1.json.gz", "power-ranks.csv"].map(sample);
    let one = account([&rank0, &rank1, "--power", &power]);
    let other = account([&rank1, &rank0, "--power", &power]);
    let key = |op: &Value| ["path", "name", "type", "pass", "device"].map(|key| text(op, key).to_owned());
    let sorted = |result: &Value| {
        let mut ops: Vec<_> = list(result, "ops").iter().map(|op| (key(op), op.clone())).collect();
        ops.sort_by(|a, b| a.0.cmp(&b.0));
        ops
    };
    let (one_ops, other_ops) = (sorted(&one), sorted(&other));
    assert_eq!(one_ops.len(), other_ops.len());
    for ((one_key, one), (other_key, other)) in one_ops.iter().zip(&other_ops) {
        assert_eq!(one_key, other_key);
        assert_eq!(one["count"], other["count"]);
        assert_eq!(one["busy_s"], other["busy_s"]);
        assert_close(number(one, "energy_j"), number(other, "energy_j"), 1e-12, &one_key.join(" "));
    }
}

#[test]
fn the_report_honours_what_is_asked_for() {
    let report = |options: &[&str]| {
        let (trace, power) = (sample("timeline-5.json.gz"), sample("power.csv"));
        run([&["account", &trace, "--power", &power], options].concat()).ok()
    };
    let plain = report(&[]);
    for part in [
        "host/cpu:0",
        "estimated",
        "between operations",
        "trust: estimated",
        "by layer",
        "top 10 operations",
        "by pass",
    ] {
        assert!(plain.contains(part), "{part} in {plain}");
    }
    assert!(plain.contains("layer_0"));
    let folded = report(&["--summarize"]);
    assert!(folded.contains("transformer") && !folded.contains("layer_0"), "{folded}");
    assert!(report(&["--top", "3"]).contains("top 3 operations"));
    let backward = report(&["--pass", "backward"]);
    let passes = backward.split_once("by pass").expect("a table").1;
    assert!(passes.contains("backward") && !passes.contains("forward"), "{backward}");
    let (short, long) = (report(&["--depth", "1"]), report(&["--depth", "5", "--min-share", "0"]));
    assert!(short.lines().count() < plain.lines().count() && plain.lines().count() < long.lines().count());
}

#[test]
fn programs_get_every_operation() {
    let (trace, power) = (sample("timeline-5.json.gz"), sample("power.csv"));
    let arguments = ["account", &trace, "--power", &power, "--format", "csv"];
    let rows = run(arguments).ok();
    assert_eq!(rows_of(&rows).len(), list(timeline(), "ops").len());
    assert_eq!(
        rows.lines().next(),
        Some(
            "name,path,type,pass,device,energy_j,busy_s,power_w,count,approximate,low_j,high_j,label,run_share,base_share"
        )
    );
    assert_eq!(rows_of(&run([&arguments[..], &["--top", "4"]].concat()).ok()).len(), 4);
}

/// The sample's power up to a reading.
fn power_until(readings: usize) -> String {
    let power = fs::read_to_string(sample("power.csv")).expect("the sample");
    power.lines().take(readings + 1).map(|line| format!("{line}\n")).collect()
}

#[test]
fn nothing_is_extrapolated_unless_asked_for() {
    let files = Files::new();
    let (trace, power) = (sample("timeline-5.json.gz"), files.write("power.csv", power_until(20)));
    let silent = account([&trace, "--power", &power]);
    let (row, events) = (device(&silent, "host/cpu:0"), count_of(list(&silent, "ops")));
    assert!(number(row, "uncovered_s") > 0.1, "{row}");
    assert!(warnings(&silent).iter().any(|message| message.contains("while no power is known")));
    assert_conserved(&silent);

    let held = account([&trace, "--power", &power, "--hold", "10"]);
    let part = device(&held, "host/cpu:0");
    let last = 10.0e-3
        * power_until(20)
            .lines()
            .last()
            .and_then(|row| row.split(',').nth(2)?.parse::<f64>().ok())
            .expect("watts");
    assert_close(number(part, "measured_j"), number(row, "measured_j") + last, 1e-9, "one reading of 10 ms more");
    assert!(number(part, "uncovered_s") < number(row, "uncovered_s"));

    let whole = account([&trace, "--power", &power, "--hold", "1e6"]);
    assert_eq!(number(device(&whole, "host/cpu:0"), "uncovered_s"), 0.0);
    assert_eq!(count_of(list(&whole, "ops")), events, "what has no power is still counted");
    assert_conserved(&whole);
}

#[test]
fn rules_suit_units_and_can_be_chosen() {
    let (trace, power) = (sample("timeline-5.json.gz"), sample("power.csv"));
    let chosen = account([&trace, "--power", &power, "--rule", "recency"]);
    assert_eq!(chosen["devices"], timeline()["devices"]);
    let refused = run(["account", &trace, "--power", &power, "--rule", "counter"]);
    assert_eq!(refused.code, 1);
    assert!(
        refused.stderr.contains("power.csv") && refused.stderr.contains("--rule recency"),
        "{}",
        refused.stderr
    );

    let [rank0, rank1, power] = ["rank0.json.gz", "rank1.json.gz", "power-ranks.csv"].map(sample);
    let ranks = ranks();
    let counter = account([&rank0, &rank1, "--power", &power, "--rule", "counter"]);
    assert_eq!(counter["devices"], ranks["devices"]);
    let recency = account([&rank0, &rank1, "--power", &power, "--rule", "recency"]);
    assert_conserved(&recency);
    assert_ne!(recency["devices"], ranks["devices"]);
}

#[test]
fn the_printed_algorithm_conserves_too() {
    let [rank0, rank1, power] = ["rank0.json.gz", "rank1.json.gz", "power-ranks.csv"].map(sample);
    let paper = account([&rank0, &rank1, "--power", &power, "--semantics", "paper"]);
    assert_conserved(&paper);
    assert_eq!(count_of(list(&paper, "ops")), count_of(list(ranks(), "ops")));
}

#[test]
fn timings_go_to_standard_error() {
    let [rank0, power] = ["rank0.json.gz", "power-ranks.csv"].map(sample);
    let arguments = ["account", &rank0, "--power", &power, "--format", "json"];
    let plain = run(arguments);
    let timed = run(arguments.into_iter().chain(["--timings"]));
    assert_eq!(timed.stdout, plain.stdout);
    for stage in ["read", "power", "align", "sum", "print"] {
        let line = timed.stderr.lines().find(|line| line.starts_with(stage));
        assert!(line.is_some_and(|line| line.contains(" ms")), "{stage} in {}", timed.stderr);
        assert!(!plain.stderr.contains(" ms"));
    }
}

#[test]
fn exit_codes_tell_what_happened() {
    let (trace, power) = (sample("timeline-5.json.gz"), sample("power.csv"));
    let ranks_power = sample("power-ranks.csv");
    let rank = sample("rank0.json.gz");
    let table: [(&[&str], i32); 9] = [
        (&["account", &trace, "--power", &power], 0),
        (&["account", &trace, "--power", &power, "--strict"], 0),
        (&["account", &rank, "--power", &ranks_power], 0),
        (&["account", &rank, "--power", &ranks_power, "--strict"], 3),
        (&["account", &trace], 1),
        (&["account"], 2),
        (&["account", &trace, "--power", &power, "--hold", "-1"], 2),
        (&["show"], 2),
        (&["walk"], 2),
    ];
    for (arguments, code) in table {
        let ran = run(arguments);
        assert_eq!(ran.code, code, "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.stdout.is_empty(), matches!(code, 1 | 2), "{arguments:?}");
    }
    let no_power = run(["account", &trace]);
    assert!(no_power.stderr.contains("--power FILE"), "{}", no_power.stderr);
}

#[test]
fn help_shows_examples() {
    for verb in ["account", "show"] {
        let help = run([verb, "--help"]).ok();
        assert!(help.contains("Examples:") && help.contains(&format!("jouletree {verb} ")), "{help}");
    }
    let overview = run(["--help"]).ok();
    assert!(overview.contains("account") && overview.contains("show"));
    assert!(run(["--version"]).ok().starts_with("jouletree "));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let [rank0, power] = ["rank0.json.gz", "power-ranks.csv"].map(sample);
    for format in ["json", "csv", "table", "markdown"] {
        let mut command = jouletree();
        command.args(["account", &rank0, "--power", &power, "--format", format]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
        drop(child.stdout.take());
        let ran = ended(child.wait_with_output().expect("it ends"));
        assert_eq!(ran.code, 0, "{format}: {}", ran.stderr);
        assert!(!ran.stderr.contains("error"), "{format}: {}", ran.stderr);
    }
}
