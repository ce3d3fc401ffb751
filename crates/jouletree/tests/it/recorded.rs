//! Recordings seen from the command line. The numbers are made up; the way they take is the real one.

use crate::common;
use test_support::recordings;

use std::fs;

use common::*;
use serde_json::json;

#[test]
fn a_recording_is_shown() {
    let files = Files::new();
    let folder = files.path("run");
    recordings::record(folder.as_ref(), 1, 40);
    let shown = run(["show", &folder]);
    let (text, warnings) = (shown.stdout.clone(), shown.stderr.clone());
    assert_eq!(shown.code, 0, "{warnings}");
    assert!(text.starts_with("python train.py\non "), "{text}");
    assert!(text.contains("ended with status 0"), "{text}");
    for (device, kind) in [("host/cpu:0", "measured"), ("host/cpu:1", "estimated"), ("host/gpu:0", "derived")] {
        let row = text.lines().find(|line| line.starts_with(device)).expect(device);
        assert!(row.contains(kind) && row.contains(" … ") && row.contains(" W "), "{row}");
    }
    assert!(text.contains("  core of host/cpu:0"), "{text}");
    assert!(text.contains("\ntrust: estimated") && text.contains("fit for publication"), "{text}");
    let monitor = text.lines().find(|line| line.starts_with("jouletree itself")).expect("a line");
    assert!(monitor.contains("(counted under others)") && monitor.contains("11.0 ms"), "{monitor}");
    assert!(monitor.contains("(measured and estimated)"), "{monitor}");
    assert!(warnings.contains("host/dram:0: after 400 ms: it cannot be read: it is gone (ENODEV)"), "{warnings}");
    assert!(warnings.contains("performance events are refused") && warnings.contains("7 samples were lost"));
    assert_eq!(run(["show", &folder, "--by", "device"]).stdout, text);

    let csv = run(["show", &folder, "--format", "csv"]).ok();
    assert!(csv.starts_with("device,domain,kind,energy_j,low_j,high_j,power_w,ours_j,"), "{csv}");
    assert!(csv.contains("host/cpu:1,,estimated,") && csv.contains("host/cpu:0,core,measured,"), "{csv}");

    let result = run(["show", &folder, "--format", "json"]).json();
    for row in list(&result, "devices").iter().filter(|row| row["domain"].is_null()) {
        let parts = ["ours_j", "others_j", "idle_j", "unknown_j"].map(|key| number(row, key));
        assert_close(parts.iter().sum(), number(row, "energy_j"), 1e-9, text_of(row));
        assert!(
            number(row, "low_j") <= number(row, "energy_j") && number(row, "high_j") >= number(row, "energy_j")
        );
    }
    for by in ["op", "layer", "pass", "step"] {
        let refused = run(["show", &folder, "--by", by]);
        assert!(refused.code == 1 && refused.stderr.contains("account TRACE --power"), "{}", refused.stderr);
    }
}

fn text_of(row: &serde_json::Value) -> &str {
    text(row, "device")
}

#[test]
fn a_trace_is_accounted_with_recorded_power() {
    let files = Files::new();
    let folder = files.path("run");
    let recording = recordings::record(folder.as_ref(), 2, 30);
    let power = recording.read_power().expect("power");
    let cpu = power.iter().find(|series| series.device.to_string() == "host/cpu:0" && series.is_whole());
    let cpu = &cpu.expect("a processor").series;
    let start = cpu.extent().expect("some time").start.0 / 1000;
    let event = |name: &str, ts: i64, dur: i64| json!({"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": start + ts, "dur": dur});
    let events = [event("aten::mm", 100_000, 700_000), event("aten::add", 900_000, 600_000)];
    let trace = json!({"schemaVersion": 1, "traceEvents": events}).to_string();
    let trace = files.write("trace.json", trace);
    let result = account([trace.as_str(), "--power", &folder, "--energy", "device"]);
    assert_conserved(&result);
    let cpu_row = device(&result, "host/cpu:0");
    assert_close(number(cpu_row, "measured_j"), cpu.total().0, 1e-9, "measured");
    assert!(number(cpu_row, "attributed_j") > 0.2 * cpu.total().0, "{cpu_row}");
    assert!(
        warnings(&result).iter().any(|warning| warning.contains("it is gone (ENODEV)")),
        "{:?}",
        warnings(&result)
    );

    let refused = run(["account", &folder]);
    assert!(refused.code == 1 && refused.stderr.contains("without operations"), "{}", refused.stderr);
}

#[test]
fn a_recording_that_was_cut_off_is_finished_by_whoever_looks() {
    let files = Files::new();
    let folder = files.path("run");
    let sensors = recordings::sensors();
    let header = recordings::header(&sensors);
    let batches = recordings::batches(3, 20, recordings::anchor(&header));
    let writer = recordings::write(folder.as_ref(), &header, &batches, 4);
    let refused = run(["show", &folder]);
    let wanted = format!("still being recorded by process {}", std::process::id());
    assert!(refused.code == 1 && refused.stderr.contains(&wanted), "{}", refused.stderr);
    drop(writer);
    // This process recorded it and lives; only a copy by a recorder that is gone is free.
    let path = files.path("run/recording.json");
    let mut gone: serde_json::Value = serde_json::from_slice(&fs::read(&path).expect("a header")).expect("JSON");
    gone["recorder"]["started"] = json!(1);
    fs::write(&path, gone.to_string()).expect("written");
    let shown = run(["show", &folder]);
    assert!(shown.code == 0 && shown.stdout.contains("the recorder was cut off"), "{}", shown.stderr);
    assert!(shown.stderr.contains("what it had written is shown"), "{}", shown.stderr);
    let again = run(["show", &folder]);
    assert_eq!((again.stdout, again.stderr), (shown.stdout, shown.stderr));
}
