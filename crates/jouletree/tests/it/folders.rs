//! Several files of one run: ranks, hosts, steps, and folders of them.

use crate::common;

use std::fs;

use common::*;
use serde_json::{Value, json};

const START_US: i64 = 1_772_442_000_000_000;

/// A rank of a job on a machine: one operator that launches one kernel.
fn rank(host: Option<&str>, rank: i64, kernel: &str) -> Vec<u8> {
    let event = |cat: &str, name: &str, tid: i64, ts: i64, dur: i64, args: Value| json!({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": START_US + ts, "dur": dur, "args": args});
    let mut document = json!({
        "schemaVersion": 1,
        "distributedInfo": {"rank": rank},
        "traceEvents": [
            event("user_annotation", "module::net.dense", 1, 0, 800, json!({})),
            event("cpu_op", "aten::mm", 1, 10, 500, json!({})),
            event("cuda_runtime", "cudaLaunchKernel", 1, 20, 30, json!({"correlation": 1})),
            event("kernel", kernel, 7, 100, 400, json!({"device": 0, "correlation": 1})),
        ],
    });
    if let Some(host) = host {
        document["host_name"] = json!(host);
    }
    document.to_string().into_bytes()
}

/// Power of 100 W on each device over all that happens.
fn power(devices: &[&str]) -> String {
    let row = |ts: i64| devices.iter().map(move |device| format!("{},{device},100\n", START_US + ts));
    format!("epoch_us,device,watts\n{}", [0, 1000, 2000].into_iter().flat_map(row).collect::<String>())
}

fn energy(result: &Value, device: &str) -> f64 {
    let on_device = list(result, "ops").iter().filter(|op| op["device"] == device);
    on_device.map(|op| number(op, "energy_j")).sum()
}

#[test]
fn machines_are_told_apart_when_there_are_several() {
    let files = Files::new();
    fs::create_dir(files.path("job")).expect("a folder");
    files.write("job/rank0.json", rank(Some("n1"), 0, "gemm"));
    files.write("job/rank1.json.gz", packed(&rank(Some("n2"), 1, "gemm")));
    let power = files.write("power.csv", power(&["n1/gpu:0", "n2/gpu:0", "n1/cpu:0"]));
    let result = account([&files.path("job"), "--power", &power]);
    assert_conserved(&result);
    for gpu in ["n1/gpu:0", "n2/gpu:0"] {
        // 400 µs of 100 W.
        assert_close(energy(&result, gpu), 0.04, 1e-9, gpu);
        assert_close(number(device(&result, gpu), "measured_j"), 0.2, 1e-9, gpu);
    }
    let names: Vec<&str> = list(&result, "devices").iter().map(|device| text(device, "device")).collect();
    assert_eq!(names, ["n1/cpu:0", "n1/gpu:0", "n2/cpu:0", "n2/gpu:0"]);
    // One operation, on both.
    let paths = list(&result, "ops").iter().filter(|op| op["name"] == "gemm").map(|op| text(op, "path"));
    assert_eq!(paths.collect::<Vec<_>>(), ["net/dense/aten::mm", "net/dense/aten::mm"]);
}

#[test]
fn one_machine_needs_no_name_and_may_have_one() {
    let files = Files::new();
    let trace = files.write("rank0.json", rank(Some("n1"), 0, "gemm"));
    for (devices, named) in [(["gpu:0", "cpu:0"], "host/gpu:0"), (["n1/gpu:0", "n1/cpu:0"], "n1/gpu:0")] {
        let power = files.write("power.csv", power(&devices));
        let result = account([&trace, "--power", &power]);
        assert_close(energy(&result, named), 0.04, 1e-9, named);
        assert_eq!(list(&result, "devices").len(), 2);
    }
}

#[test]
fn a_folder_stands_for_the_traces_in_it() {
    let files = Files::new();
    fs::create_dir_all(files.path("logs/plugins/profile/2026_11_16")).expect("folders");
    files.write("logs/plugins/profile/2026_11_16/rank0.json", rank(None, 0, "gemm"));
    files.write("logs/notes.txt", "not a trace");
    files.write("logs/power.csv", power(&["gpu:0"]));
    files.write("logs/.hidden.json", rank(None, 9, "gemm"));
    files.write("logs/model.json", r#"{"nodes": []}"#);
    let result = account([&files.path("logs"), "--power", &files.path("logs/power.csv")]);
    let read: Vec<&str> = list(&result, "traces").iter().map(|trace| text(trace, "file")).collect();
    assert_eq!(read.len(), 1, "{read:?}");
    assert!(read[0].ends_with("rank0.json"));
    // The same file by name and by folder.
    let trace = files.path("logs/plugins/profile/2026_11_16/rank0.json");
    let twice = run(["account", &files.path("logs"), &trace, "--power", &files.path("logs/power.csv")]);
    assert_eq!(twice.code, 1);
    assert!(twice.stderr.contains("given twice"), "{}", twice.stderr);
}

#[test]
fn a_base_is_used_where_the_file_has_none() {
    let files = Files::new();
    let relative = json!({"schemaVersion": 1, "traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 100, "dur": 400}]});
    let trace = files.write("trace.json", relative.to_string());
    let power = files.write("power.csv", power(&["cpu:0"]));
    let without = run(["account", &trace, "--power", &power]);
    assert_eq!(without.code, 1);
    assert!(without.stderr.contains("--base-ns"), "{}", without.stderr);
    let base = format!("{}", START_US * 1000);
    let given = account([&trace, "--power", &power, "--base-ns", &base]);
    assert_close(energy(&given, "host/cpu:0"), 0.04, 1e-9, "given");
    files.write("trace.meta.json", format!(r#"{{"start_ns": {base}}}"#));
    let beside = account([&trace, "--power", &power]);
    assert_close(energy(&beside, "host/cpu:0"), 0.04, 1e-9, "beside");
    assert_eq!(beside["traces"][0]["time_base"]["origin"], "sidecar");
}

#[test]
fn inspecting_says_what_is_there_and_what_is_missing() {
    let files = Files::new();
    let trace = files.write("rank0.json", rank(Some("n1"), 0, "gemm"));
    let inspection = run(["inspect", &trace, "--format", "json"]).json();
    assert_eq!(inspection["format"], "pytorch-kineto");
    assert_eq!(inspection["time_base"], "epoch");
    let gpu = device(&inspection, "host/gpu:0");
    assert_eq!((&gpu["lanes"], &gpu["events"]), (&json!(1), &json!(1)));
    assert_close(number(gpu, "busy_s"), 400e-6, 1e-9, "the kernel");
    let top: Vec<&str> = list(&inspection, "top").iter().map(|row| text(row, "name")).collect();
    assert_eq!(top, ["aten::mm", "gemm", "module::net.dense", "cudaLaunchKernel"]);
    assert_eq!(inspection["missing"], json!([]));
    let table = run(["inspect", &trace]).ok();
    for part in ["pytorch-kineto", "times of day", "host/gpu:0", "kernel", "gemm", "nothing but power"] {
        assert!(table.contains(part), "{part} is missing in: {table}");
    }
    let none = run(["inspect", &files.path("none.json")]);
    assert_eq!((none.code, none.stdout.as_str()), (1, ""));
    assert!(none.stderr.contains("none.json: cannot be read"), "{}", none.stderr);
}
