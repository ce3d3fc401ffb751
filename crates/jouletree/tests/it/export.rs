//! `jouletree export`: every format against the footprint it comes from, read back by independent code and, where they
//! can be had, by the programs it is meant for.

use crate::common;
use crate::decoded;
use test_support::recordings;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use common::*;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

const FORMATS: [&str; 7] = ["speedscope", "collapsed", "pprof", "perfetto", "firefox", "csv", "parquet"];
const PICOWATT_HOURS_PER_JOULE: f64 = 1e12 / 3600.0;

/// An exported run, by way of standard output.
fn exported(run: &str, format: &str) -> Vec<u8> {
    let output =
        jouletree().args(["export", run, "--to", format, "-o", "-"]).output().expect("the command starts");
    assert!(output.status.success(), "{format}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn exported_text(run: &str, format: &str) -> String {
    String::from_utf8(exported(run, format)).expect("UTF-8")
}

/// What an event was charged with; one that took no time says nothing.
fn joules(event: &decoded::Slice) -> f64 {
    assert!(event.args["joules"].is_number() || event.duration_us == 0.0, "{event:?}");
    event.args["joules"].as_f64().unwrap_or(0.0)
}

/// A run in a folder, and what accounting said of it.
struct Sample {
    files: Files,
    result: Value,
}

impl Sample {
    fn account(traces: &[&str], power: &str) -> Sample {
        let files = Files::new();
        let run = files.path("run");
        let arguments = traces.iter().copied().chain(["--power", power, "-o", run.as_str()]);
        let result = account(arguments.collect::<Vec<_>>());
        Sample { files, result }
    }

    fn ranks() -> Sample {
        Sample::account(&[&sample("rank0.json.gz"), &sample("rank1.json.gz")], &sample("power-ranks.csv"))
    }

    fn timeline() -> Sample {
        Sample::account(&[&sample("timeline-5.json.gz")], &sample("power.csv"))
    }

    fn run(&self) -> String {
        self.files.path("run")
    }

    /// A number of every device, by name.
    fn devices(&self, key: &str) -> BTreeMap<String, f64> {
        list(&self.result, "devices")
            .iter()
            .map(|row| (text(row, "device").to_owned(), number(row, key)))
            .collect()
    }

    /// The sum of a number of all operations on a device.
    fn of_ops(&self, device: &str, key: &str) -> f64 {
        list(&self.result, "ops").iter().filter(|op| op["device"] == device).map(|op| number(op, key)).sum()
    }

    fn busy_ns(&self, device: &str) -> f64 {
        self.of_ops(device, "busy_s") * 1e9
    }
}

#[test]
fn speedscope_has_a_profile_of_joules_and_one_of_time_for_each_device() {
    for run in [Sample::ranks(), Sample::timeline()] {
        let file: Value = serde_json::from_slice(&exported(&run.run(), "speedscope")).expect("JSON");
        assert_eq!(file["$schema"], "https://www.speedscope.app/file-format-schema.json");
        let frames = file["shared"]["frames"].as_array().expect("frames");
        let mut totals = BTreeMap::new();
        for profile in list(&file, "profiles") {
            assert_eq!(profile["type"], "sampled");
            let (samples, weights) = (list(profile, "samples"), list(profile, "weights"));
            assert_eq!(samples.len(), weights.len());
            let places = samples.iter().flat_map(|sample| sample.as_array().expect("a stack"));
            assert!(
                places.map(|place| place.as_u64().expect("a number")).all(|place| place < frames.len() as u64)
            );
            assert!(weights.iter().all(|weight| weight.as_f64() > Some(0.0)));
            let total: f64 = weights.iter().filter_map(Value::as_f64).sum();
            assert_close(number(profile, "endValue") - number(profile, "startValue"), total, 1e-12, "the end");
            totals.insert(text(profile, "name").to_owned(), (text(profile, "unit").to_owned(), total));
        }
        for (device, measured) in run.devices("measured_j") {
            let (unit, joules) = &totals[&format!("{device}: energy in joules (estimated)")];
            assert_eq!(unit, "none");
            assert_close(*joules, measured, 1e-9, &device);
            let (unit, time) = &totals[&format!("{device}: time")];
            assert_eq!(unit, "nanoseconds");
            assert_close(*time, run.busy_ns(&device), 1e-9, &device);
        }
    }
}

#[test]
fn folded_stacks_are_whole_microjoules() {
    let run = Sample::timeline();
    let stacks = decoded::folded(&exported_text(&run.run(), "collapsed"));
    let path = ["bert", "encoder", "layer_2", "intermediate", "dense", "MatMul"].map(str::to_owned);
    let op = list(&run.result, "ops").iter().find(|op| op["path"] == path.join("/") && op["pass"] == "forward");
    assert_eq!(stacks[&path.to_vec()] as f64, (number(op.expect("an operation"), "energy_j") * 1e6).round());
    assert!(stacks.keys().any(|frames| frames.last().is_some_and(|leaf| leaf == "MatMul_(backward)")));
    let total: u64 = stacks.values().sum();
    assert_close(total as f64 * 1e-6, run.devices("measured_j")["host/cpu:0"], 1e-5, "all stacks");

    // Several devices are distinguished.
    let run = Sample::ranks();
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for (frames, microjoules) in decoded::folded(&exported_text(&run.run(), "collapsed")) {
        *sums.entry(frames[0].clone()).or_default() += microjoules as f64 * 1e-6;
    }
    for (device, measured) in run.devices("measured_j") {
        assert_close(sums[&device], measured, 1e-4, &device);
    }
}

#[test]
fn pprof_has_energy_time_and_counts_with_labels() {
    for run in [Sample::ranks(), Sample::timeline()] {
        let (types, samples) = decoded::pprof(&exported(&run.run(), "pprof"));
        let wanted = [("energy", "µJ"), ("time", "nanoseconds"), ("count", "count")];
        assert_eq!(types, wanted.map(|(kind, unit)| (kind.to_owned(), unit.to_owned())));
        let mut sums: BTreeMap<&str, [f64; 3]> = BTreeMap::new();
        for sample in &samples {
            assert_eq!(sample.values.len(), 3);
            let sums = sums.entry(&sample.labels["device"]).or_default();
            sums.iter_mut().zip(&sample.values).for_each(|(sum, value)| *sum += *value as f64);
        }
        for (device, measured) in run.devices("measured_j") {
            let [energy, time, count] = sums[device.as_str()];
            // What rounding leaves goes to the next value, so that sums are right to half a unit.
            assert!((energy * 1e-6 - measured).abs() <= 0.501e-6, "{device}: {energy} µJ of {measured} J");
            assert_close(time, run.busy_ns(&device), 1e-9, &device);
            assert_close(count, run.of_ops(&device, "count"), 1e-12, &device);
        }
        let passes: BTreeSet<&str> =
            samples.iter().filter_map(|sample| sample.labels.get("pass").map(String::as_str)).collect();
        assert_eq!(passes, BTreeSet::from(["backward", "forward", "optimizer"]));
        assert!(samples.iter().any(|sample| sample.frames.len() > 4));
    }
}

#[test]
fn perfetto_has_every_event_with_its_joules() {
    for run in [Sample::ranks(), Sample::timeline()] {
        let (events, power) = decoded::chrome(&exported(&run.run(), "perfetto"));
        assert_eq!(exported(&run.run(), "chrome"), exported(&run.run(), "perfetto"));
        for (device, attributed) in run.devices("attributed_j") {
            let on_device = || events.iter().filter(|event| event.process == device);
            assert_eq!(on_device().count() as f64, run.of_ops(&device, "count"), "{device}");
            let joules: f64 = on_device().map(joules).sum();
            assert_close(joules, attributed, 1e-9, &device);
            assert!(on_device().all(|event| !event.thread.is_empty() && !event.name.is_empty()));
            // The counter holds each value until the next; the last says that nothing more is known.
            let counter = &power[&device];
            let energy = counter.windows(2).map(|pair| pair[0].1 * (pair[1].0 - pair[0].0) * 1e-6).sum::<f64>();
            assert_close(energy, run.devices("measured_j")[&device], 1e-6, &device);
            assert_eq!(counter.last().map(|point| point.1), Some(0.0));
        }
        // What an operation used in all is what its events were charged with.
        let mut by_op: BTreeMap<(String, String, String), f64> = BTreeMap::new();
        for event in &events {
            let key = [&event.args["path"], &event.args["op"], &event.args["pass"]];
            let [path, name, pass] = key.map(|part| part.as_str().expect("text").to_owned());
            *by_op.entry((path, name, pass)).or_default() += joules(event);
        }
        let mut booked: BTreeMap<(String, String, String), f64> = BTreeMap::new();
        for op in list(&run.result, "ops") {
            let [path, name, pass] = ["path", "name", "pass"].map(|key| text(op, key).to_owned());
            *booked.entry((path, name, pass)).or_default() += number(op, "energy_j");
        }
        let largest = booked.values().fold(0.0, |a: f64, b| a.max(*b));
        for (key, energy) in &booked {
            assert!((by_op[key] - energy).abs() <= 1e-6 * energy + 1e-12 * largest, "{key:?}");
        }
    }
}

#[test]
fn layers_that_ran_are_slices_that_nest() {
    let rows = decoded::chrome_rows(&exported(&Sample::timeline().run(), "perfetto"));
    let layers = &rows[&("host/cpu:0".to_owned(), "layers".to_owned())];
    let depth =
        |name: &str| layers.iter().filter(|layer| layer.0 == name).map(|layer| layer.3).collect::<BTreeSet<_>>();
    assert_eq!((depth("forward"), depth("bert"), depth("encoder")), ([0].into(), [1].into(), [2].into()));
    assert!(layers.iter().all(|(_, start, end, _)| start < end));
    assert!(rows.contains_key(&("program".to_owned(), "steps".to_owned())), "{:?}", rows.keys());
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let run = Sample::timeline();
    for format in FORMATS {
        let mut command = jouletree();
        command.args(["export", &run.run(), "--to", format, "-o", "-"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
        // As `head` does once it has its lines.
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the command ends");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && complaint.is_empty(), "{format}: {} {complaint}", output.status);
    }
}

#[test]
fn firefox_has_power_tracks_and_weighted_stacks() {
    for run in [Sample::ranks(), Sample::timeline()] {
        let (product, threads, power) = decoded::firefox(&exported(&run.run(), "firefox"));
        assert!(product.ends_with("(1 sample = 1 µJ)"), "{product}");
        for (device, measured) in run.devices("measured_j") {
            let energy = power[&format!("Power: {device} (estimated)")] / PICOWATT_HOURS_PER_JOULE;
            assert_close(energy, measured, 1e-9, &device);
            let samples =
                threads.iter().filter(|thread| thread.process == device).flat_map(|thread| &thread.samples);
            let weight: f64 = samples.map(|(_, weight)| weight).sum();
            assert_close(weight * 1e-6, run.devices("attributed_j")[&device], 1e-5, &device);
        }
        assert!(threads.iter().flat_map(|thread| &thread.samples).any(|(frames, _)| frames.len() > 4));
        let mut markers = threads.iter().flat_map(|thread| &thread.markers);
        assert!(markers.any(|(row, text)| row == "steps" && !text.is_empty()), "no step is marked");
        let mut names: Vec<(&str, &str)> =
            threads.iter().map(|thread| (thread.process.as_str(), thread.name.as_str())).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "{names:?}");
    }
}

#[test]
fn tables_have_a_row_for_each_operation() {
    let run = Sample::ranks();
    let table = exported(&run.run(), "csv");
    let mut reader = csv::Reader::from_reader(table.as_slice());
    let header: Vec<String> = reader.headers().expect("a header").iter().map(str::to_owned).collect();
    assert_eq!(header.join(","), "device,path,label,op_type,name,pass,stage,energy_j,busy_ns,power_w,count,kind");
    let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().expect("rows");
    assert_eq!(rows.len(), list(&run.result, "ops").len());
    let energies: Vec<f64> = rows.iter().map(|row| row[7].parse().expect("joules")).collect();
    assert!(energies.is_sorted_by(|a, b| a >= b), "the largest first");
    assert!(rows.iter().all(|row| row[6].is_empty() && &row[11] == "estimated"));

    let parquet = parquet_table(&exported(&run.run(), "parquet"));
    assert_eq!(parquet.len(), rows.len());
    for (row, FlatRow { path, label, energy, count, .. }) in rows.iter().zip(&parquet) {
        assert_eq!((&row[1], &row[2]), (path.as_str(), label.as_str()));
        assert_eq!((row[7].parse().ok(), row[10].parse().ok()), (*energy, Some(*count)));
    }
    for (device, attributed) in run.devices("attributed_j") {
        let sum: f64 =
            rows.iter().zip(&energies).filter(|(row, _)| row[0] == device).map(|(_, energy)| energy).sum();
        assert_close(sum, attributed, 1e-9, &device);
    }
}

/// A row of a flat table.
pub struct FlatRow {
    pub path: String,
    pub label: String,
    pub pass: String,
    pub device: String,
    pub stage: Option<String>,
    pub energy: Option<f64>,
    pub count: u64,
}

/// The rows of a Parquet file, as its own library reads them.
pub fn parquet_table(bytes: &[u8]) -> Vec<FlatRow> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("table.parquet");
    fs::write(&path, bytes).expect("the file is written");
    let file = fs::File::open(&path).expect("the file");
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet").build().expect("Parquet");
    let mut rows = Vec::new();
    for batch in reader {
        let batch = batch.expect("rows");
        let column = |name: &str| batch.column_by_name(name).expect("a column").clone();
        let words = |name: &str| -> Vec<Option<String>> {
            column(name).as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
        };
        let [paths, labels, passes, devices, stages] = ["path", "label", "pass", "device", "stage"].map(words);
        let (energies, counts) = (column("energy_j"), column("count"));
        for (row, energy) in energies.as_primitive::<Float64Type>().iter().enumerate() {
            let word = |words: &[Option<String>]| words[row].clone().expect("text");
            rows.push(FlatRow {
                path: word(&paths),
                label: word(&labels),
                pass: word(&passes),
                device: word(&devices),
                stage: stages[row].clone(),
                energy,
                count: counts.as_primitive::<UInt64Type>().value(row),
            });
        }
    }
    rows
}

/// Names that break what is careless.
fn nasty() -> Vec<String> {
    let mut names = [
        "<script>alert('x')",
        "\"double\" 'single' `back` \\ & %s {0}",
        "two\nlines\r\nand\ta tab",
        "semi;colon;; 12 34",
        "=1+1",
        "\u{1}\u{2028}é漢🔥",
    ]
    .map(str::to_owned)
    .to_vec();
    names.push("é".repeat(4000));
    names
}

/// A run of operations with these names, one after the other, 1 ms each at 100 W.
fn run_of(names: &[String]) -> Sample {
    run_of_paths(&names.iter().map(|name| format!("net/{name}")).collect::<Vec<String>>())
}

/// The same by whole paths.
fn run_of_paths(names: &[String]) -> Sample {
    const START: i64 = 1_772_442_000_000_000_000;
    let files = Files::new();
    let mut table = csv::Writer::from_writer(Vec::new());
    table.write_record(["start_ns", "end_ns", "device", "lane", "op"]).expect("memory");
    for (name, start) in names.iter().zip((START..).step_by(1_000_000)) {
        let (start, end) = (start.to_string(), (start + 1_000_000).to_string());
        table.write_record([&start, &end, "cpu:0", "1", name]).expect("memory");
    }
    let trace = files.write("events.csv", table.into_inner().expect("memory"));
    let end = START + names.len() as i64 * 1_000_000;
    let power = files.write("power.csv", format!("epoch_ns,device,watts\n{START},cpu:0,100\n{end},cpu:0,100\n"));
    let sample = Sample::account(&[&trace], &power);
    assert_eq!(list(&sample.result, "ops").len(), names.len());
    sample
}

#[test]
fn names_survive() {
    let run = run_of(&nasty());
    let path = run.run();
    let wanted: BTreeSet<String> = nasty().into_iter().collect();
    let is_there = |what: &str, found: BTreeSet<String>| {
        let lost: Vec<&String> = wanted.difference(&found).collect();
        assert!(lost.is_empty(), "{what}: {lost:?}");
    };

    let file: Value = serde_json::from_slice(&exported(&path, "speedscope")).expect("JSON");
    let frames = file["shared"]["frames"].as_array().expect("frames");
    is_there("speedscope", frames.iter().map(|frame| text(frame, "name").to_owned()).collect());
    let (_, samples) = decoded::pprof(&exported(&path, "pprof"));
    is_there("pprof", samples.iter().filter_map(|sample| sample.frames.last().cloned()).collect());
    let (events, _) = decoded::chrome(&exported(&path, "perfetto"));
    for event in &events {
        assert_eq!(event.args["path"], format!("net/{}", event.name));
        assert_close(number(&event.args, "joules"), 0.1, 1e-9, &event.name);
        assert_close(number(&event.args, "watts"), 100.0, 1e-9, &event.name);
    }
    is_there("perfetto", events.into_iter().map(|event| event.name).collect());
    let (_, threads, _) = decoded::firefox(&exported(&path, "firefox"));
    let leaves =
        threads.iter().flat_map(|thread| &thread.samples).filter_map(|(frames, _)| frames.last().cloned());
    is_there("firefox", leaves.collect());
    let table = exported(&path, "csv");
    let rows = csv::Reader::from_reader(table.as_slice()).into_records().map(|row| row.expect("a row"));
    let tail = |path: &str| path.strip_prefix("net/").expect("a path").to_owned();
    // A spreadsheet opens it: control characters are replaced there.
    let visible = |letter: char| match letter {
        '\n' | '\r' | '\t' => ' ',
        letter if letter.is_control() => '\u{fffd}',
        letter => letter,
    };
    let expected: BTreeSet<String> = nasty().iter().map(|name| name.chars().map(visible).collect()).collect();
    assert_eq!(rows.map(|row| tail(&row[1])).collect::<BTreeSet<String>>(), expected);
    is_there("parquet", parquet_table(&exported(&path, "parquet")).iter().map(|row| tail(&row.path)).collect());

    // Folded stacks have no way to write some of them; what they become stays apart.
    let stacks = decoded::folded(&exported_text(&path, "collapsed"));
    assert_eq!(stacks.len(), wanted.len());
    assert!(stacks.keys().any(|frames| frames[1] == "semi:colon::_12_34"), "{:?}", stacks.keys());
    assert!(stacks.values().all(|microjoules| *microjoules == 100_000));
}

/// Names come from programs, and spreadsheets compute what looks like a formula.
#[test]
fn no_cell_is_a_formula() {
    let names = ["=HYPERLINK(\"http://x\")", "+1+1", "-cmd", "@SUM(A1)", "\t=1", "plain", "a\u{1b}[31mb"]
        .map(str::to_owned);
    let sample = run_of_paths(&names);
    let path = sample.run();
    let shown = ["op", "layer"].map(|by| {
        run(["show", path.as_str(), "--by", by, "--format", "csv", "--min-share", "0"]).ok().into_bytes()
    });
    for table in [&exported(&path, "csv"), &shown[0], &shown[1]] {
        let rows = csv::Reader::from_reader(table.as_slice()).into_records().map(|row| row.expect("a row"));
        let cells: Vec<String> = rows.flat_map(|row| row.iter().map(str::to_owned).collect::<Vec<_>>()).collect();
        let is_formula =
            |cell: &String| cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err();
        assert_eq!(cells.iter().find(|cell| is_formula(cell) || cell.contains(char::is_control)), None);
        for name in ["'+1+1", "'-cmd", "'@SUM(A1)", "plain"] {
            assert!(cells.iter().any(|cell| cell == name), "{name} is not in {cells:?}");
        }
    }
}

#[test]
fn one_operation_is_enough() {
    let run = run_of(&["MatMul".to_owned()]);
    for format in FORMATS {
        assert!(!exported(&run.run(), format).is_empty());
    }
    assert_eq!(exported_text(&run.run(), "collapsed"), "net;MatMul 100000\n");
}

#[test]
fn power_alone_has_a_timeline_and_no_footprint() {
    let files = Files::new();
    let folder = files.path("run");
    let recording = recordings::record(folder.as_ref(), 1, 40);
    let measured: BTreeMap<String, f64> = recording
        .read_power()
        .expect("power")
        .iter()
        .filter(|series| series.is_whole())
        .map(|series| (series.device.to_string(), series.series.total().0))
        .collect();
    assert!(measured.len() > 2);
    let (events, power) = decoded::chrome(&exported(&folder, "perfetto"));
    assert!(events.is_empty());
    assert_eq!(power.keys().collect::<Vec<_>>(), measured.keys().collect::<Vec<_>>());
    let (_, threads, power) = decoded::firefox(&exported(&folder, "firefox"));
    assert!(threads.iter().all(|thread| thread.samples.is_empty()));
    for (device, measured) in measured {
        let counter =
            power.iter().find(|(name, _)| name.starts_with(&format!("Power: {device} "))).expect("a counter");
        assert_close(counter.1 / PICOWATT_HOURS_PER_JOULE, measured, 1e-9, &device);
    }
    for format in ["speedscope", "collapsed", "pprof", "csv", "parquet"] {
        let refused = run(["export", &folder, "--to", format, "-o", &files.path("file")]);
        assert!(refused.code == 1 && refused.stderr.contains("account TRACE --power"), "{}", refused.stderr);
    }
    assert!(!Path::new(&files.path("file")).exists());
}

#[test]
fn recorded_power_is_exported_as_it_was_accounted() {
    let files = Files::new();
    let folder = files.path("recording");
    let recording = recordings::record(folder.as_ref(), 2, 30);
    let power = recording.read_power().expect("power");
    let start = power.iter().find_map(|series| series.series.extent()).expect("some time").start.0;
    let rows: String = [(100, 700), (900, 300)]
        .iter()
        .map(|(at, long)| {
            format!("{},{},cpu:0,1,net/mm\n", start + at * 1_000_000, start + (at + long) * 1_000_000)
        })
        .collect();
    let trace = files.write("events.csv", format!("start_ns,end_ns,device,lane,op\n{rows}"));
    // Memory and the other socket work for the operation, too; of each, what the process tree used.
    for energy in ["tree", "device"] {
        let run = files.path(energy);
        let result = account([trace.as_str(), "--power", &folder, "--energy", energy, "-o", &run]);
        let booked: f64 = list(&result, "ops").iter().filter_map(|op| op["energy_j"].as_f64()).sum();
        let (events, _) = decoded::chrome(&exported(&run, "perfetto"));
        assert_eq!(events.len(), 2);
        let charged: f64 = events.iter().map(|event| number(&event.args, "joules")).sum();
        assert_close(charged, booked, 1e-6, energy);
    }
}

#[test]
fn the_published_algorithm_knows_no_events() {
    let files = Files::new();
    let (trace, power, folder) = (sample("timeline-5.json.gz"), sample("power.csv"), files.path("run"));
    account([trace.as_str(), "--power", &power, "--semantics", "paper", "-o", &folder]);
    let ran = run(["export", &folder, "--to", "perfetto", "-o", "-"]);
    assert!(
        ran.code == 0 && ran.stderr.contains("warning") && ran.stderr.contains("exact rule"),
        "{}",
        ran.stderr
    );
    assert!(run(["export", &folder, "--to", "csv", "-o", "-"]).stderr.is_empty());
}

#[test]
fn files_are_named_after_the_run_and_never_overwritten() {
    let sample = run_of(&["MatMul".to_owned()]);
    let here = tempfile::tempdir().expect("a folder");
    let export = |arguments: &[&str]| {
        let mut command = jouletree();
        command.current_dir(here.path()).arg("export").args(arguments);
        ended(command.output().expect("the command starts"))
    };
    for format in FORMATS {
        let ran = export(&[&sample.run(), "--to", format]);
        assert!(
            ran.code == 0 && ran.stdout.is_empty() && ran.stderr.starts_with("jouletree: wrote run."),
            "{}",
            ran.stderr
        );
    }
    let names = || -> BTreeSet<String> {
        let entries = fs::read_dir(here.path()).expect("the folder");
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect()
    };
    let wanted = [".csv", ".firefox.json", ".folded", ".parquet", ".pb.gz", ".perfetto.json", ".speedscope.json"];
    assert_eq!(names(), wanted.map(|suffix| format!("run{suffix}")).into());
    let again = export(&[&sample.run(), "--to", "csv"]);
    assert!(again.code == 1 && again.stderr.contains("run.csv exists: choose another -o"), "{}", again.stderr);
    let nowhere = export(&[&sample.run(), "--to", "csv", "-o", "missing/run.csv"]);
    assert!(nowhere.code == 1 && nowhere.stderr.contains("is its folder there?"), "{}", nowhere.stderr);
    let no_run = export(&["missing", "--to", "csv"]);
    assert!(no_run.code == 1 && no_run.stderr.contains("there is no folder missing"), "{}", no_run.stderr);
    assert_eq!(names().len(), wanted.len(), "nothing half-written remains");
}

#[test]
fn tables_that_do_not_belong_together_are_refused() {
    let (one, other) = (Sample::timeline(), run_of(&["a", "b"].map(str::to_owned)));
    fs::copy(Path::new(&one.run()).join("power.parquet"), Path::new(&other.run()).join("power.parquet"))
        .expect("a file");
    let target = other.files.path("file.json");
    let refused = run(["export", &other.run(), "--to", "perfetto", "-o", &target]);
    assert!(refused.code == 1 && refused.stderr.contains("do not belong together"), "{}", refused.stderr);
    assert!(!Path::new(&target).exists());
}

/// Where the packages of `readers/package.json` are, installed once in the cache folder; `None` with a message where Node
/// or its registry cannot be reached.
fn node_readers() -> Option<PathBuf> {
    let package = root().join("crates/jouletree/tests/it/readers/package.json");
    let pins = fs::read_to_string(&package).expect("readers/package.json");
    let cache = std::env::var_os("JOULETREE_CACHE").map(PathBuf::from).or_else(|| {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        Some(cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?.join("jouletree"))
    })?;
    let folder = cache.join("readers");
    let is_ready = || {
        folder.join("node_modules/speedscope").is_dir()
            && fs::read_to_string(folder.join("package.json")).is_ok_and(|known| known == pins)
    };
    if !is_ready() {
        fs::create_dir_all(&folder).expect("a folder in the cache");
        fs::write(folder.join("package.json"), &pins).expect("the file is written");
        let npm = Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock"])
            .current_dir(&folder)
            .output();
        if !npm.is_ok_and(|output| output.status.success()) {
            let _ = fs::remove_file(folder.join("package.json"));
            println!(
                "skipped: speedscope's schema and others cannot be installed; they need npm and its registry"
            );
            return None;
        }
    }
    Some(folder)
}

/// The Python of the environment `readers`; `None` with a message where it cannot be made.
fn python_readers() -> Option<PathBuf> {
    let made = Command::new("python3").arg(root().join("tools/environment.py")).arg("readers").output();
    let Some(output) = made.ok().filter(|output| output.status.success()) else {
        println!("skipped: Go's pprof and Arrow cannot be installed; they need Python and its package index");
        return None;
    };
    Some(PathBuf::from(String::from_utf8(output.stdout).expect("UTF-8").trim_end()))
}

/// What the reader of a format finds in a file.
fn read_by(program: &Path, script: &str, arguments: &[&str]) -> Value {
    let script = root().join("crates/jouletree/tests/it/readers").join(script);
    let output = Command::new(program).arg(script).args(arguments).output().expect("the reader starts");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn packages_of_node_read_the_files() {
    let Some(modules) = node_readers() else { return };
    let modules = modules.display().to_string();
    let read = |format: &str, file: &str| read_by(Path::new("node"), "read.mjs", &[&modules, format, file]);
    for run in [Sample::ranks(), Sample::timeline(), run_of(&nasty())] {
        let measured: f64 = run.devices("measured_j").values().sum();
        let profiles = read("speedscope", &run.files.write("file.json", exported(&run.run(), "speedscope")));
        let joules = profiles.as_array().expect("profiles").iter().filter(|profile| profile["unit"] == "none");
        assert_close(joules.map(|profile| number(profile, "total")).sum(), measured, 1e-9, "speedscope");
        let profile = read("pprof", &run.files.write("file.pb.gz", exported(&run.run(), "pprof")));
        assert_close(profile["totals"][0].as_f64().expect("a total") * 1e-6, measured, 1e-5, "pprof");
    }
    let run = run_of(&nasty());
    let profile = read("pprof", &run.files.write("file.pb.gz", exported(&run.run(), "pprof")));
    let found: BTreeSet<&str> = list(&profile, "names").iter().filter_map(Value::as_str).collect();
    assert!(nasty().iter().all(|name| found.contains(name.as_str())), "{found:?}");
}

#[test]
fn go_and_arrow_read_the_files() {
    let Some(python) = python_readers() else { return };
    let read = |format: &str, file: &str| read_by(&python, "read.py", &[format, file]);
    for run in [Sample::ranks(), Sample::timeline(), run_of(&nasty())] {
        let measured: f64 = run.devices("measured_j").values().sum();
        let found = read("pprof", &run.files.write("file.pb.gz", exported(&run.run(), "pprof")));
        assert_close(number(&found["totals"], "energy/µJ") * 1e-6, measured, 1e-5, "energy");
        let top = text(&found, "top");
        assert!(top.contains("File: run\n") && top.contains("µJ"), "pprof prints the unit and the program: {top}");
        let busy: f64 = run.devices("measured_j").keys().map(|device| run.busy_ns(device)).sum();
        assert_close(number(&found["totals"], "time/nanoseconds"), busy, 1e-9, "time");
        assert!(text(&found, "tags").contains("host/cpu:0") && text(&found, "tags").contains("forward"));
        let found = read("parquet", &run.files.write("file.parquet", exported(&run.run(), "parquet")));
        assert_eq!(number(&found, "rows"), list(&run.result, "ops").len() as f64);
        let attributed: f64 = run.devices("attributed_j").values().sum();
        assert_close(number(&found, "energy_j"), attributed, 1e-9, "Arrow");
    }
}
