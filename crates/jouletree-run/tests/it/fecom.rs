//! Data in FECoM's layouts: what is read of it, and how damage is reported.

use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use jouletree_model::{DeviceClass, Nanos, SampleUnit};
use jouletree_run::fecom::{FecomKind, FecomRecord, read_experiment, read_fecom, read_fecom_rows, read_raw_trace};
use serde_json::{Value, json};

/// A record as FECoM writes it, with few samples.
fn record(function: &str) -> Value {
    let frame =
        |columns: &[&str], data: Value| json!({"columns": columns, "index": [0, 1], "data": data}).to_string();
    let perf = |energy: f64| frame(&["time_elapsed", "energy (J)"], json!([[0.5005, energy], [1.001, 18]]));
    let gpu = json!([[1690489932.197, 19.06, 0.0, 31], [1690489932.698, 19.14, 0.501, 31]]);
    let gpu = frame(&["timestamp", "power_draw (W)", "time_elapsed", "temperature"], gpu);
    json!({ function: {
        "energy_data": {"cpu": perf(17.19), "ram": perf(3.71), "gpu": gpu},
        "times": {
            "start_time_execution": 1690489932500000001_i64, "end_time_execution": 1690489933000000000_i64,
            "start_time_perf": 0.5005, "end_time_perf": 1.001, "sys_start_time_perf": 1690489932182300634_i64,
            "start_time_nvidia": 0.0, "end_time_nvidia": 0.501, "sys_start_time_nvidia": 1690489932185317850_i64,
            "begin_stable_check_time": 1, "begin_temperature_check_time": 1,
        },
        "cpu_temperatures": "{}",
        "settings": {"measurement_interval_s": 0.5, "wait_per_stable_check_loop_s": 20, "max_wait_s": 120},
        "input_sizes": {"args_size": 4710203, "kwargs_size": null, "object_size": 12},
    }})
}

fn read(value: &Value) -> Result<Vec<FecomRecord>, String> {
    let bytes = value.to_string();
    read_experiment("experiment-3.json", bytes.as_bytes(), "images/cnn", 3, FecomKind::Method)
        .map_err(|error| error.to_string())
}

#[test]
fn an_experiment_is_read() {
    let records = read(&json!([record("tensorflow.keras.Sequential.fit()"), record("project-level")])).unwrap();
    assert_eq!(records.len(), 2);
    assert_eq!((records[0].kind, records[1].kind), (FecomKind::Method, FecomKind::Project));
    let first = &records[0];
    assert_eq!((first.call, records[1].call, first.experiment), (0, 1, 3));
    assert_eq!((first.sizes.input(), first.sizes.object), (Some(4_710_203), Some(12)));
    assert_eq!(
        (first.times.start, first.settings.interval),
        (Nanos(1_690_489_932_500_000_001), Nanos(500_000_000))
    );
    let [cpu, ram, gpu] = first.sampled.as_slice() else { panic!("{first:?}") };
    assert_eq!((cpu.device.class(), ram.device.class()), (DeviceClass::Cpu, DeviceClass::Dram));
    assert_eq!(
        (cpu.unit, cpu.samples[0].time, cpu.samples[0].value),
        (SampleUnit::Joules, Nanos(500_500_000), 17.19)
    );
    assert_eq!(cpu.began, Nanos(1_690_489_932_182_300_634));
    // nvidia-smi says itself when its first sample was.
    assert_eq!((gpu.unit, gpu.samples[1].value), (SampleUnit::Watts, 19.14));
    assert!((gpu.began.0 - 1_690_489_932_197_000_000).abs() < 1000, "{:?}", gpu.began);
}

/// Reads a record in which something is replaced.
fn broken(path: &str, value: Value) -> String {
    let mut records = json!([record("a()"), record("b()")]);
    *records.pointer_mut(&format!("/1/b()/{path}")).unwrap() = value;
    read(&records).unwrap_err()
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let at = "experiment-3.json: record 2 (b()): ";
    for (path, value, wanted) in [
        ("times", json!({}), "missing field `start_time_execution`"),
        ("times/start_time_perf", json!("soon"), "invalid type: string \"soon\""),
        ("times/start_time_perf", json!(1e300), "`times.start_time_perf` is no time"),
        ("settings/measurement_interval_s", json!(0), "`settings.measurement_interval_s` is not between"),
        ("input_sizes/args_size", json!(-1), "invalid value: integer `-1`"),
        (
            "energy_data/cpu",
            json!("{\"columns\":[\"time_elapsed\"],\"data\":[]}"),
            "energy_data.cpu: there is no column `energy (J)`",
        ),
        ("energy_data/ram", json!("{\"columns\":["), "energy_data.ram: not JSON: EOF"),
        (
            "energy_data/gpu",
            json!("{\"columns\":[\"time_elapsed\",\"power_draw (W)\"],\"data\":[[1,null]]}"),
            "energy_data.gpu: row 0 has no number in column `power_draw (W)`",
        ),
        (
            "energy_data/cpu",
            json!("{\"columns\":[\"time_elapsed\",\"energy (J)\"],\"data\":[[1,1],[1,1]]}"),
            "energy_data.cpu: row 1: time does not advance",
        ),
        ("energy_data", json!({"cpu": ""}), "missing field `ram`"),
    ] {
        let error = broken(path, value);
        assert!(error.starts_with(at) && error.contains(wanted), "{error} / {wanted}");
    }
    assert_eq!(read(&json!({})).unwrap_err(), "experiment-3.json: not a list of records");
    assert!(read(&json!([1])).unwrap_err().contains("record 1: not an object with one key"));
    let cut = read_experiment("x", b"[{\"a\": ", "p", 1, FecomKind::Method).unwrap_err().to_string();
    assert!(cut.starts_with("x: not JSON: EOF while parsing a value at line 1 column 7"), "{cut}");
}

const HEADER: &str = "sampling_ms,project,experiment,call_index,function,device,exec_time_s,n_samples,gross_j,baseline_w,baseline_sd_w,net_j,net_shifted_j,tail_time_s,tail_net_j,args_bytes,kwargs_bytes,object_bytes,nested_corrupt\n";

#[test]
fn a_table_is_read() {
    let table = format!(
        "{HEADER}500,images/cnn,3,7,\"f(x, y)\",ram,168.5,336,1209.04,7.191,0.1,0.952,1.2,1.5,-0.122,100,,5,0\n\
         500,images/cnn,3,8,project-level,gpu,0.1,0,,19.1,,,,,,,,,1\n"
    );
    let rows = read_fecom_rows("t", table.as_bytes(), FecomKind::Size).unwrap();
    let [first, second] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!(
        (first.kind, first.call, first.function.as_str(), first.samples),
        (FecomKind::Size, 7, "f(x, y)", 336)
    );
    assert_eq!((first.net.unwrap().0, first.tail_net.unwrap().0, first.sizes.input()), (0.952, -0.122, Some(100)));
    assert_eq!((second.kind, second.net, second.is_corrupt), (FecomKind::Project, None, true));
    for (row, wanted) in [
        ("500,p,x,0,f,cpu,1,1,1,1,1,1,1,1,1,1,1,1,0", "line 2: `x` in column `experiment` is not a whole number"),
        ("500,p,1,0,f,tpu,1,1,1,1,1,1,1,1,1,1,1,1,0", "line 2: `tpu` in column `device` is not cpu, ram or gpu"),
        (
            "500,p,1,0,f,cpu,1,1,NaN,1,1,1,1,1,1,1,1,1,0",
            "line 2: `NaN` in column `gross_j` is not a finite number",
        ),
        (
            "500,p,1,0,f,cpu,1e30,1,1,1,1,1,1,1,1,1,1,1,0",
            "line 2: `1e30` in column `exec_time_s` is not a number of seconds",
        ),
        ("500,p,1", "line 2: not readable as CSV"),
    ] {
        let error = read_fecom_rows("t", format!("{HEADER}{row}\n").as_bytes(), FecomKind::Method).unwrap_err();
        assert!(error.to_string().starts_with(&format!("t: {wanted}")), "{error}");
    }
    let error = read_fecom_rows("t", b"a,b\n1,2\n", FecomKind::Method).unwrap_err().to_string();
    assert_eq!(error, "t: line 2: there is no column `exec_time_s`");
}

fn times(function: &str, experiment: u32) -> Value {
    let mut record = record("f");
    let record = record["f"].as_object_mut().unwrap();
    json!({"function": function, "experiment": experiment, "times": record["times"], "settings": record["settings"]})
}

#[test]
fn raw_samples_find_their_times() {
    let csv = "function,experiment,device,sample,time_s,value,unit\nf,1,cpu,0,0.5,17,J\nf,1,cpu,1,1.0,18,J\nf,2,gpu,0,0,20,W\n";
    let times_file = json!([times("f", 1), times("f", 2)]).to_string();
    let records = read_raw_trace("r.csv", csv.as_bytes(), "r.json", times_file.as_bytes(), "p").unwrap();
    assert_eq!(
        (records.len(), records[0].sampled[0].samples.len(), records[1].sampled[0].unit),
        (2, 2, SampleUnit::Watts)
    );
    let one = json!([times("f", 1)]).to_string();
    let error = read_raw_trace("r.csv", csv.as_bytes(), "r.json", one.as_bytes(), "p").unwrap_err().to_string();
    assert_eq!(error, "r.csv: r.json has no times of `f`, experiment 2");
    let still = "device,time_s,value,unit\ncpu,1,1,J\ncpu,1,1,J\n";
    let error = read_raw_trace("r.csv", still.as_bytes(), "r.json", one.as_bytes(), "p").unwrap_err().to_string();
    assert_eq!(error, "r.csv: line 3: time does not advance");
}

#[test]
fn files_and_folders_are_known_by_what_they_hold() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let script = path("data/data-size/images/cnn_fit");
    fs::create_dir_all(&script).unwrap();
    for number in [10, 2] {
        fs::write(script.join(format!("experiment-{number}.json")), json!([record("f()")]).to_string()).unwrap();
    }
    let data = read_fecom(&path("data")).unwrap();
    let found: Vec<(&str, u32, FecomKind)> =
        data.records.iter().map(|record| (record.project.as_str(), record.experiment, record.kind)).collect();
    assert_eq!(found, [("images/cnn_fit", 2, FecomKind::Size), ("images/cnn_fit", 10, FecomKind::Size)]);

    // A packed table, and a packed file that is cut off.
    let row = "500,p,1,0,f,cpu,1,1,1,1,1,1,1,1,1,1,1,1,0\n";
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(format!("{HEADER}{row}").as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    fs::write(path("method_level.csv.gz"), &packed).unwrap();
    assert_eq!(read_fecom(&path("method_level.csv.gz")).unwrap().rows.len(), 1);
    assert_eq!(read_fecom(folder.path()).unwrap().rows.len(), 1);
    fs::write(path("cut.csv.gz"), &packed[..packed.len() / 2]).unwrap();
    assert!(read_fecom(&path("cut.csv.gz")).unwrap_err().to_string().contains("cut.csv.gz: cannot be read"));

    fs::write(path("raw.csv"), "device,time_s,value,unit\ncpu,1,1,J\n").unwrap();
    let error = read_fecom(&path("raw.csv")).unwrap_err().to_string();
    assert!(error.contains("raw samples need their times beside them") && error.ends_with("raw.json"), "{error}");
    fs::write(path("raw.json"), times("f", 1).to_string()).unwrap();
    assert_eq!(read_fecom(&path("raw.csv")).unwrap().records[0].project, "raw");
    fs::write(path("other.txt"), "hello").unwrap();
    assert!(read_fecom(&path("other.txt")).unwrap_err().to_string().contains("this is no data of FECoM"));
    fs::create_dir(path("empty")).unwrap();
    assert!(read_fecom(&path("empty")).unwrap_err().to_string().contains("no experiment-N.json and no table"));
    assert!(read_fecom(&path("nowhere")).is_err());
}
