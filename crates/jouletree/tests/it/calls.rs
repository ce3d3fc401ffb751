//! `jouletree calls` from outside: a run whose energies are known, and the published data of FECoM.

use crate::called;
use crate::common;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use common::*;
use flate2::read::GzDecoder;
use serde_json::Value;

fn rows<const N: usize>(arguments: [&str; N]) -> Vec<Value> {
    let mut command = jouletree();
    command.arg("calls").args(arguments).args(["--format", "json"]);
    let result = ended(command.output().expect("the command starts")).json();
    result.as_array().expect("a list").clone()
}

fn near(found: &Value, key: &str, wanted: f64, off: f64) {
    let found = number(found, key);
    assert!((found - wanted).abs() <= off, "{key}: {found}, wanted {wanted}");
}

fn run_of_calls(files: &Files) -> String {
    let path = files.path("called");
    called::called_run(Path::new(&path));
    path
}

#[test]
fn what_calls_of_a_run_used() {
    let files = Files::new();
    let run_folder = run_of_calls(&files);
    let rows = rows([&run_folder]);
    assert_eq!(rows.len(), 8);
    let [outer, inner, again, short] = &rows[..4] else { panic!("{rows:?}") };
    assert_eq!((text(outer, "site"), text(outer, "device")), ("train.py:12:4", "host/cpu:0"));
    near(outer, "gross_j", 1600.0, 1e-6);
    near(outer, "net_j", 1400.0, 0.1);
    near(outer, "baseline_w", 20.0, 0.01);
    near(outer, "inclusive_j", 1600.0, 1e-6);
    near(outer, "exclusive_j", 720.0, 1e-6);
    near(outer, "tail_s", 5.0, 0.11);
    near(outer, "tail_j", 200.0, 1.0);
    near(inner, "net_j", 800.0, 0.1);
    near(inner, "exclusive_j", 880.0, 1e-6);
    assert!(inner["tail_j"].is_null() && inner["parent"] == 0, "the outer call still runs: {inner}");
    // The tail of the first call is no part of the second one's baseline.
    near(again, "baseline_w", 20.0, 0.01);
    near(again, "net_j", 200.0, 0.1);
    assert_eq!((&again["number"], text(short, "below_resolution")), (&Value::from(2), "no reading"));
    for gpu in &rows[4..] {
        assert_eq!(gpu["device"], "host/gpu:0");
        assert!(!gpu["below_resolution"].is_null(), "{gpu}");
    }
    let table = run(["calls", &run_folder]).ok();
    assert!(table.contains("tensorflow.keras.Sequential.fit #1") && table.contains("< "), "{table}");
    assert!(table.contains("0 of 4 calls began on a stable machine; they waited 0.0 s in total"), "{table}");
    assert!(
        table.contains(
            "#1 began on an unstable machine after 0.0 s: host/cpu:0: 56.0 °C, over the limit of 55.0 °C"
        )
    );
    let csv = run(["calls", &run_folder, "--format", "csv"]).ok();
    assert_eq!((csv.lines().count(), csv.lines().next().unwrap().split(',').count()), (9, 33));
    assert!(run(["calls", &run_folder, "--format", "markdown"]).ok().starts_with("| # | call |"));
}

/// Calls have the energy of their own process tree; the machine's is for those who ask for it, and FECoM's rule.
#[test]
fn calls_have_the_energy_of_their_tree() {
    let files = Files::new();
    let path = files.path("called");
    called::called_run_of_a_tree(Path::new(&path), 0.25);
    let tree = rows([&path]);
    assert_eq!((text(&tree[0], "device"), text(&tree[0], "energy")), ("host/cpu:0", "tree"));
    near(&tree[0], "gross_j", 400.0, 1e-6);
    near(&tree[0], "exclusive_j", 180.0, 1e-6);
    assert!(tree[0]["tail_j"].is_null(), "what the tree does next is no tail");
    // FECoM's rule beside it is about the machine.
    near(&tree[0], "other_net_j", 1350.0, 1.0);
    assert!(tree[4..].iter().all(|gpu| gpu["energy"] == "device"), "{tree:?}");
    let device = rows([&path, "--energy", "device"]);
    near(&device[0], "gross_j", 1600.0, 1e-6);
    assert_eq!(text(&device[0], "energy"), "device");
    near(&device[0], "tail_j", 200.0, 1.0);
    let fecom = rows([&path, "--window", "fecom"]);
    near(&fecom[0], "net_j", 1350.0, 1.0);
    let functions = rows([&path, "--by", "function"]);
    let fit = functions.iter().find(|row| row["function"] == "tensorflow.keras.Sequential.fit").unwrap();
    // 400 J and 2 s at a quarter of 120 W.
    near(fit, "mean_j", (400.0 + 60.0) / 2.0, 0.1);
    let project = &rows([&path, "--by", "project"])[0];
    near(project, "whole_j", 0.25 * 3600.0, 0.2);
}

#[test]
fn fecoms_rule_on_our_own_runs() {
    let files = Files::new();
    let rows = rows([&run_of_calls(&files), "--window", "fecom"]);
    // Half-second samples: the window is one early, so that one of idling is in and one of the call is out.
    near(&rows[0], "net_j", 1350.0, 1.0);
    near(&rows[0], "other_net_j", 1400.0, 0.1);
    assert_eq!(rows[0]["samples"], 20);
    assert!(rows[3]["net_j"].is_null(), "no sample");
}

#[test]
fn calls_and_the_rest_make_up_the_whole() {
    let files = Files::new();
    let rows = rows([&run_of_calls(&files), "--by", "project"]);
    let cpu = &rows[0];
    near(cpu, "whole_j", 600.0 + 1600.0 + 300.0 + 300.0 + 240.0 + 560.0, 1e-6);
    near(cpu, "all_calls_j", 1600.0 + 240.0 + 0.2, 0.1);
    assert_close(number(cpu, "all_calls_j") + number(cpu, "outside_j"), number(cpu, "whole_j"), 1e-9, "the sum");
    let outside: f64 = ["before_j", "between_j", "after_j"].iter().map(|part| number(cpu, part)).sum();
    assert_close(outside, number(cpu, "outside_j"), 1e-9, "the outside");
    near(cpu, "before_j", 600.0, 1e-6);
    near(cpu, "tails_j", 200.0, 1.5);
}

#[test]
fn functions_and_sizes_over_runs() {
    let files = Files::new();
    let first = run_of_calls(&files);
    let second = files.path("second");
    called::called_run(Path::new(&second));
    let sizes = rows([&first, "--by", "size"]);
    let fit =
        sizes.iter().find(|row| text(row, "function").ends_with("fit") && row["device"] == "host/cpu:0").unwrap();
    // 1400 J of 14 MiB and 200 J of 2 MiB.
    near(fit, "slope_j_per_mib", 100.0, 0.05);
    let functions = rows([&first, &second, "--by", "function"]);
    let fit = functions.iter().find(|row| text(row, "function").ends_with("fit")).unwrap();
    near(fit, "mean_j", 800.0, 0.1);
    assert_eq!(fit["calls"], 2, "of one name; runs of other folders are other programs");
}

#[test]
fn what_cannot_be_shown_is_told() {
    let files = Files::new();
    let plain = files.path("plain");
    run(["account", &sample("timeline-5.json.gz"), "--power", &sample("power.csv"), "-o", &plain]).ok();
    let error = |arguments: &[&str]| {
        let ran = run(arguments.iter());
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        ran.stderr
    };
    assert!(error(&["calls", &plain]).contains("no calls were recorded; run the program with --level call"));
    let empty = files.path("empty");
    fs::create_dir(&empty).unwrap();
    assert!(error(&["calls", &empty]).contains("neither a run folder nor data of FECoM"));
    let broken = files.write("experiment-1.json", "[{\"f()\": {\"settings\": {}}}]");
    assert!(
        error(&["calls", &broken])
            .contains("experiment-1.json: record 1 (f()): missing field `measurement_interval_s`")
    );
    let run_folder = run_of_calls(&files);
    for (figure, wanted) in [("call.gif", ".svg, .pdf or .png"), ("experiment-1.json", ".svg, .pdf or .png")] {
        assert!(error(&["calls", &run_folder, "--figure", &files.path(figure)]).contains(wanted));
    }
    let number = ["calls", &run_folder, "--figure", &files.path("call.svg"), "--call", "99"];
    assert!(error(&number).contains("there is no such call"));
    assert!(!Path::new(&files.path("call.svg")).exists());
}

#[test]
fn a_call_is_drawn() {
    let files = Files::new();
    let run_folder = run_of_calls(&files);
    for (name, head) in [("call.svg", &b"<svg"[..]), ("call.pdf", b"%PDF"), ("call.png", b"\x89PNG")] {
        let file = files.path(name);
        run(["calls", &run_folder, "--figure", &file]).ok();
        assert!(fs::read(&file).unwrap().starts_with(head), "{name}");
        let again = run(["calls", &run_folder, "--figure", &file]);
        assert!(again.code == 1 && again.stderr.contains("exists"), "{}", again.stderr);
    }
    let svg = fs::read_to_string(files.path("call.svg")).unwrap();
    for word in ["tensorflow.keras.Sequential.fit", ">call<", ">tail<", ">idle<", "cpu:0", "gpu:0", "Power (W)"] {
        assert!(svg.contains(word), "no {word}");
    }
}

/// What the fuzz target checks, on seeds in which something was changed.
mod nonsense {
    use jouletree_account::calls::fecom::{FecomRule, Stamps, net};
    use jouletree_account::calls::{CallMeter, NetRule, quiet, series_of};
    use jouletree_model::TimeRange;
    use jouletree_run::fecom::{FecomKind, FecomRecord, read_experiment, read_fecom_rows, read_raw_trace};
    use proptest::prelude::*;

    fn check(record: &FecomRecord) {
        let times = &record.times;
        for sampled in &record.sampled {
            let stamps =
                Stamps { start: times.start_perf, end: times.end_perf, baseline_before: times.start_perf };
            let fecom = net(sampled, stamps, &FecomRule::default());
            assert_eq!(fecom.samples > 0, fecom.gross.is_some());
            let Ok(series) = series_of(sampled) else { continue };
            let window = TimeRange { start: times.start, end: times.end };
            let since = series.extent().map_or(window.start, |extent| extent.start);
            let rule = NetRule::for_class(sampled.device.class());
            let exact =
                CallMeter::new(&series, rule).net(window, &quiet(&[], since, window.start, rule.baseline), None);
            assert!(exact.standard_error.is_none_or(|error| error.0 >= 0.0 || error.0.is_nan()), "{exact:?}");
        }
    }

    fn seed(name: &str) -> Vec<u8> {
        std::fs::read(super::root().join("fuzz/seeds/fecom").join(name)).expect("a seed")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn does_no_harm(
            name in proptest::sample::select(vec!["experiment.json", "raw.txt", "table.csv"]),
            changes in proptest::collection::vec((any::<prop::sample::Index>(), "[0-9eE.,:\\[\\]{}\\-]|\\PC"), 0..6),
        ) {
            let mut data = seed(name);
            for (place, change) in &changes {
                let place = place.index(data.len());
                data.splice(place..place + 1, change.bytes());
            }
            let _ = read_fecom_rows("seed", &data, FecomKind::Method);
            if let Ok(records) = read_experiment("seed", &data, "p", 1, FecomKind::Size) {
                prop_assert!(name == "experiment.json");
                records.iter().for_each(check);
            }
            let middle = data.windows(3).position(|window| window == b"\n-\n").unwrap_or(data.len());
            let (csv, times) = (&data[..middle], data.get(middle + 3..).unwrap_or_default());
            if let Ok(records) = read_raw_trace("seed", csv, "seed", times, "p") {
                records.iter().for_each(check);
            }
        }
    }

    #[test]
    fn seeds_are_good() {
        assert_eq!(read_fecom_rows("seed", &seed("table.csv"), FecomKind::Method).unwrap().len(), 1);
        let records = read_experiment("seed", &seed("experiment.json"), "p", 1, FecomKind::Size).unwrap();
        assert_eq!(records[0].sampled.len(), 3);
        let text = String::from_utf8(seed("raw.txt")).unwrap();
        let (csv, times) = text.split_once("\n-\n").unwrap();
        let records = read_raw_trace("seed", csv.as_bytes(), "seed", times.as_bytes(), "p").unwrap();
        assert_eq!(records[0].sampled[0].samples.len(), 2);
    }
}

/// A file of FECoM's data; `None` with a message where there is none.
fn fecom(name: &str) -> Option<String> {
    let folder = match std::env::var_os("JOULETREE_DATA") {
        Some(folder) => PathBuf::from(folder),
        None => root().join("../shared/data"),
    };
    let file = folder.join("fecom/energy").join(name);
    if !file.exists() {
        println!("skipped: no {name} in {}; set JOULETREE_DATA to the development data", folder.display());
        return None;
    }
    Some(file.display().to_string())
}

#[test]
fn energies_go_with_time_and_size_as_the_study_says() {
    let (Some(methods), Some(sizes)) = (fecom("method_level.csv.gz"), fecom("data_size.csv.gz")) else { return };
    let found = |rows: &[Value], device: &str, against: &str, functions: &str| {
        let is_it = |row: &&Value| {
            (text(row, "device"), text(row, "against"), text(row, "functions")) == (device, against, functions)
        };
        rows.iter().find(is_it).expect("a row").clone()
    };
    let all = rows([&methods, "--by", "trend", "--window", "fecom"]);
    let cpu = found(&all, "host/cpu:0", "time", "all");
    near(&cpu, "r", 0.997, 5e-4);
    near(&cpu, "slope", 13.0, 0.05);
    assert_eq!((&cpu["points"], text(&cpu, "slope_unit")), (&34.into(), "W"));
    near(&found(&all, "host/gpu:0", "time", "all"), "r", 0.991, 5e-4);
    near(&found(&all, "host/dram:0", "time", "all"), "r", -0.70, 5e-3);
    // The published table lacks one of the programs.
    let files = Files::new();
    let mut table = String::new();
    GzDecoder::new(fs::File::open(&methods).unwrap()).read_to_string(&mut table).unwrap();
    let mut lines: Vec<&str> = table.lines().collect();
    lines.retain(|line| !line.contains("images/classification"));
    let without = files.write("method_level.csv", lines.join("\n"));
    let published = rows([&without, "--by", "trend", "--window", "fecom"]);
    // As they are printed: r to two digits; p to one or two, where it is small.
    for (functions, count, wanted) in [
        ("over 1 s", 19, [(0.86, (2e-6, 5e-7)), (0.90, (1e-7, 5e-8)), (-0.47, (0.042, 5e-4))]),
        ("over 1 MiB", 7, [(0.92, (0.003, 5e-4)), (0.94, (0.002, 5e-4)), (-0.48, (0.5, 0.45))]),
        ("up to 1 s", 12, [(0.02, (0.5, 0.5)), (0.10, (0.5, 0.45)), (0.00, (0.5, 0.5))]),
        ("up to 1 MiB", 24, [(-0.06, (0.5, 0.45)), (-0.06, (0.5, 0.45)), (0.16, (0.5, 0.45))]),
    ] {
        for (device, (r, (p, rounded))) in ["host/cpu:0", "host/gpu:0", "host/dram:0"].into_iter().zip(wanted) {
            let row = found(&published, device, "size", functions);
            assert_eq!(row["points"], count, "{functions}");
            near(&row, "r", r, 5e-3);
            near(&row, "p", p, rounded);
        }
    }
    let steps = rows([&sizes, "--by", "trend", "--window", "fecom"]);
    for (device, r) in [("host/cpu:0", 0.880), ("host/gpu:0", 0.892), ("host/dram:0", 0.188)] {
        let row = found(&steps, device, "size", "all, each size");
        assert_eq!(row["points"], 90);
        near(&row, "r", r, 5e-4);
    }
}

#[test]
fn the_published_trace_by_fecoms_rule() {
    let Some(trace) = fecom("raw_trace_example.csv") else { return };
    let rows = rows([&trace, "--window", "fecom"]);
    let wanted = [
        ("host/cpu:0", 7872.09, 2130.522, 25.532299, 36.754),
        ("host/dram:0", 1209.04, 0.952, 1.501954, -0.122),
        ("host/gpu:0", 13300.66, 10097.446, 19.015, 1078.953375),
    ];
    for (row, (device, gross, net, tail_time, tail)) in rows.iter().zip(wanted) {
        assert_eq!((text(row, "device"), &row["samples"], &row["baseline_n"]), (device, &336.into(), &40.into()));
        near(row, "gross_j", gross, 1e-6);
        near(row, "net_j", net, 1e-6);
        near(row, "tail_s", tail_time, 1e-6);
        near(row, "tail_j", tail, 1e-6);
    }
    assert_eq!(rows.len(), 3);
}

/// What was recomputed independently for ten runs of two calls.
#[test]
fn all_published_traces_by_fecoms_rule() {
    let Some(traces) = fecom("raw_traces_images_cnn.csv.gz") else { return };
    let answer = read_json(Path::new(&traces.replace(".csv.gz", ".json")));
    let rows = rows([&traces, "--window", "fecom"]);
    assert_eq!(rows.len(), 60);
    for row in &rows {
        let call = (answer.as_array().unwrap().iter())
            .find(|call| call["function"] == row["function"] && call["experiment"] == row["run"])
            .expect("a call");
        let device = match text(row, "device") {
            "host/cpu:0" => "cpu",
            "host/dram:0" => "ram",
            _ => "gpu",
        };
        let wanted = &call["recomputed"][device];
        assert_eq!(row["samples"], wanted["n_samples"]);
        for key in ["gross_j", "net_j"] {
            near(row, key, number(wanted, key), 1e-6);
        }
        near(row, "tail_s", number(wanted, "tail_time_s"), 1e-6);
        near(row, "tail_j", number(wanted, "tail_net_j"), 1e-6);
    }
}

#[test]
fn the_372_published_statistics() {
    let (Some(table), Some(published)) = (fecom("method_level.csv.gz"), fecom("published_method_stats.csv"))
    else {
        return;
    };
    let rows = rows([&table, "--by", "function", "--window", "fecom"]);
    let found: BTreeMap<(String, String, String), &Value> = (rows.iter())
        .map(|row| {
            let key = (
                text(row, "project").to_owned(),
                without_brackets(text(row, "function")),
                text(row, "device").to_owned(),
            );
            (key, row)
        })
        .collect();
    let mut reader = csv::Reader::from_path(published).unwrap();
    let header = reader.headers().unwrap().clone();
    let mut compared = 0;
    for record in reader.records() {
        let record = record.unwrap();
        let field =
            |name: &str| record.get(header.iter().position(|column| column == name).unwrap()).unwrap().to_owned();
        for (short, device) in [("cpu", "host/cpu:0"), ("ram", "host/dram:0"), ("gpu", "host/gpu:0")] {
            let row = found[&(field("project"), field("function"), device.to_owned())];
            for statistic in ["mean", "median", "max", "min"] {
                let wanted: f64 = field(&format!("{short}_{statistic}_net_j")).parse().unwrap();
                near(row, &format!("{statistic}_j"), wanted, 1e-4);
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 372);
}

/// FECoM's clean-up of names: the shortest pairs of brackets are left out.
fn without_brackets(name: &str) -> String {
    let mut rest = name;
    let mut clean = String::new();
    while let Some((before, after)) = rest.split_once('(') {
        let Some((_, after)) = after.split_once(')') else { break };
        clean += before;
        rest = after;
    }
    clean + rest
}

#[test]
fn sums_of_calls_against_projects() {
    let (Some(calls), Some(projects)) = (fecom("method_level.csv.gz"), fecom("project_level.csv.gz")) else {
        return;
    };
    let rows = rows([&calls, &projects, "--by", "project", "--window", "fecom"]);
    let total = |device: &str| {
        rows.iter().find(|row| row["project"].is_null() && row["device"] == device).expect("the sum").clone()
    };
    let (cpu, dram, gpu) = (total("host/cpu:0"), total("host/dram:0"), total("host/gpu:0"));
    for (row, last, all, whole) in [(&cpu, 0.257, 0.359, 37543.0), (&gpu, 0.232, 0.334, 154854.0)] {
        near(row, "last_of_name_ratio", last, 5e-4);
        near(row, "all_calls_ratio", all, 5e-4);
        near(row, "whole_j", whole, 0.5);
        // All 21 wholes are larger: one way in 2²¹.
        assert_eq!(number(row, "wilcoxon_p"), 0.5_f64.powi(21));
    }
    // The tests, by scipy 1.17 on the same table.
    near(&dram, "wilcoxon_p", 0.0021424293518066406, 1e-12);
    near(&cpu, "pearson_r", 0.1527129833989221, 1e-9);
    near(&cpu, "pearson_p", 0.508702029005985, 1e-9);
    near(&gpu, "pearson_r", 0.19882743013184162, 1e-9);
    assert_close(number(&cpu, "shapiro_p"), 5.97967312505605e-07, 1e-4, "Shapiro-Wilk");
    assert_close(number(&dram, "shapiro_p"), 0.018248470640623262, 1e-4, "Shapiro-Wilk");
    near(&cpu, "all_calls_j", 13495.0, 0.5);
    near(&gpu, "all_calls_j", 51786.0, 0.5);
    near(&gpu, "tails_j", 64_088.0, 0.5);
    let autoencoder = |device: &str| {
        rows.iter().find(|row| row["project"] == "generative/autoencoder" && row["device"] == device).unwrap()
    };
    near(autoencoder("host/cpu:0"), "all_calls_j", 3397.0, 0.5);
    near(autoencoder("host/cpu:0"), "last_of_name_j", 41.0, 0.5);
    assert_eq!(rows.len(), 66);
}

#[test]
fn energy_against_size() {
    let Some(table) = fecom("data_size.csv.gz") else { return };
    let rows = rows([&table, "--by", "size", "--window", "fecom"]);
    let row = |project: &str, device: &str| {
        rows.iter().find(|row| row["project"] == project && row["device"] == device).expect("a line")
    };
    // Slope in joules for each mebibyte and r, processor, graphics processor and memory: scipy.stats.linregress of the means
    // of the same table. The notes on the study have them with fewer digits, two of them rounded twice (0.994 for 0.99346,
    // 0.982 for 0.98149).
    for (project, cpu, gpu, dram) in [
        ("images/cnn_fit", (1.565569, 0.996094), (7.638722, 0.998515), (0.004124, 0.412758)),
        ("keras/classification_fit", (3.578798, 0.993758), (16.440628, 0.994627), (-0.073514, -0.987148)),
        ("quickstart/beginner_fit", (1.743413, 0.993459), (8.200147, 0.993788), (-0.020943, -0.973035)),
        ("generative/autoencoder", (3.305670, 0.981491), (15.230005, 0.984711), (-0.040713, -0.960899)),
        ("images/cnn_evaluate", (0.075048, 0.962663), (0.119470, 0.898833), (0.004660, 0.977307)),
        ("keras/classification_evaluate", (0.197485, 0.952959), (0.314173, 0.848151), (0.004073, 0.729236)),
    ] {
        for (device, (slope, r)) in [("host/cpu:0", cpu), ("host/gpu:0", gpu), ("host/dram:0", dram)] {
            let line = row(project, device);
            near(line, "slope_j_per_mib", slope, 5.1e-7);
            near(line, "r", r, 5.1e-7);
            assert!(number(line, "slope_low") < slope && slope < number(line, "slope_high"));
        }
    }
    assert_eq!(row("estimator/keras_model_to_estimator_train", "host/cpu:0")["steps"], 0);
    for (project, with_energy) in
        [("keras/regression_adapt", 43), ("keras/regression_predict", 15), ("load_data/numpy", 2)]
    {
        assert_eq!(row(project, "host/cpu:0")["with_energy"], with_energy);
    }
}
