//! Runs come back as they were written, appear whole or not at all, and damage is reported rather than believed.

use crate::sample;

use std::fs;
use std::path::Path;

use jouletree_model::{Device, DeviceClass, EnergySeries, Event, Joules, Kind, Lane, Nanos, OpId, Step, Trace};
use jouletree_run::{
    MeteredSeries, PowerInput, RunError, RunFolder, Scope, read_power, read_power_parquet, write_power_parquet,
};
use proptest::prelude::*;

fn names_in(path: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_run_comes_back_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let (path, run) = (folder.path().join("deep/run"), sample::run());
    RunFolder::create(&path, &run.contents()).unwrap();
    assert_eq!(names_in(path.parent().unwrap()), ["run"]);
    let opened = RunFolder::open(&path).unwrap();
    for threads in [0, 1, 9] {
        assert_eq!(opened.read_trace(threads).unwrap(), run.trace);
    }
    assert_eq!(opened.read_footprint().unwrap(), run.footprint);
    assert_eq!(opened.read_power().unwrap(), run.power);
    assert_eq!(opened.read_model().unwrap(), run.trace.model);
    assert_eq!(opened.manifest().accounting, Some(run.contents().accounting));
    assert_eq!(read_power(&path).unwrap(), PowerInput::Series(run.power.clone()));
    assert_eq!(read_power(&path.join("power.parquet")).unwrap(), PowerInput::Series(run.power));
    assert_eq!(
        names_in(&path),
        [
            "charges.parquet",
            "events.parquet",
            "footprint.parquet",
            "intervals.parquet",
            "manifest.json",
            "ops.parquet",
            "power.parquet",
            "spans.parquet",
            "steps.parquet",
            "tree.json"
        ]
    );
}

#[test]
fn an_empty_run_comes_back_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let run = sample::Run { trace: Trace::default(), power: Vec::new(), footprint: Default::default() };
    RunFolder::create(&path, &run.contents()).unwrap();
    let opened = RunFolder::open(&path).unwrap();
    assert_eq!(opened.read_trace(2).unwrap(), run.trace);
    assert_eq!(opened.read_footprint().unwrap(), run.footprint);
    assert!(!path.join("steps.parquet").exists());
}

#[test]
fn many_row_groups_are_read_by_many_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let mut run = sample::run();
    let event =
        |i: i64| Event { start: Nanos(i * 3), end: Nanos(i * 3 + 2), op: OpId(i as u32 % 3), step: Step::NONE };
    run.trace.lanes = (0..3).map(|lane| Lane::new(lane, "t", (0..400_000).map(event).collect())).collect();
    let run_folder = RunFolder::create(&path, &run.contents()).unwrap();
    for threads in [1, 2, 3, 8] {
        assert!(run_folder.read_trace(threads).unwrap() == run.trace, "{threads} threads");
    }
}

#[test]
fn a_run_is_never_overwritten_nor_left_in_halves() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut run) = (folder.path().join("run"), sample::run());
    fs::write(&path, "mine").unwrap();
    let error = RunFolder::create(&path, &run.contents()).unwrap_err();
    assert!(error.to_string().ends_with("run exists: choose another -o or remove it"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"mine");

    let beyond = Event { start: Nanos(0), end: Nanos(1), op: OpId(3), step: Step::NONE };
    run.trace.lanes.push(Lane::new(0, "odd", vec![beyond]));
    let error = RunFolder::create(&folder.path().join("other"), &run.contents()).unwrap_err();
    assert!(error.to_string().contains("lane `odd` runs operation 3 of 3"), "{error}");
    run.trace.lanes = vec![Lane::new(7, "astray", Vec::new())];
    let error = RunFolder::create(&folder.path().join("other"), &run.contents()).unwrap_err();
    assert!(error.to_string().contains("`astray` is on a device that is not in the trace"), "{error}");
    run.trace = Trace::default();
    assert!(matches!(
        RunFolder::create(&folder.path().join("other"), &run.contents()),
        Err(RunError::Inconsistent(_))
    ));
    assert_eq!(names_in(folder.path()), ["run"]);
}

#[test]
fn what_is_not_a_run_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let message = |error: RunError| error.to_string();
    assert!(message(RunFolder::open(path).unwrap_err()).starts_with("not a run folder: no manifest.json in"));
    assert!(message(read_power(path).unwrap_err()).starts_with("not a run folder"));
    assert!(message(read_power(&path.join("no.csv")).unwrap_err()).ends_with("no.csv: cannot read the file"));
    fs::write(path.join("manifest.json"), r#"{"format_version": 3, "anything": 1}"#).unwrap();
    assert!(message(RunFolder::open(path).unwrap_err()).contains("written by a newer jouletree (format 3"));
    fs::write(path.join("manifest.json"), r#"{"format_version": 1}"#).unwrap();
    assert!(message(RunFolder::open(path).unwrap_err()).contains("missing field `jouletree`"));
    let neither_accounted_nor_recorded = r#"{"format_version": 2, "jouletree": "0.1.0", "created": "", "sources": [], "devices": [],
        "trace": {"devices": [], "lanes": [], "warnings": []}, "warnings": []}"#;
    fs::write(path.join("manifest.json"), neither_accounted_nor_recorded).unwrap();
    assert!(message(RunFolder::open(path).unwrap_err()).contains("missing or unknown `command`"));
    fs::write(path.join("p"), "epoch_ms,device,watts\n1794770717476,cpu:0,5\n").unwrap();
    assert!(matches!(read_power(&path.join("p")), Ok(PowerInput::Records(file)) if file.records.len() == 1));
    fs::write(path.join("p"), "PAR1").unwrap();
    assert!(message(read_power(&path.join("p")).unwrap_err()).contains("not a whole Parquet file"));
}

#[test]
fn files_that_contradict_each_other_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut run) = (folder.path().join("run"), sample::run());
    let opened = RunFolder::create(&path, &run.contents()).unwrap();
    let swap = |from: &Path, name: &str| fs::copy(from, path.join(name)).unwrap();
    let own_ops = folder.path().join("ops");
    fs::copy(path.join("ops.parquet"), &own_ops).unwrap();

    run.trace.ops = Default::default();
    run.trace.lanes.clear();
    run.footprint.ops = Default::default();
    run.footprint.energies.clear();
    run.footprint.charges.clear();
    let bare = folder.path().join("bare");
    RunFolder::create(&bare, &run.contents()).unwrap();
    swap(&bare.join("ops.parquet"), "ops.parquet");
    let error = opened.read_footprint().unwrap_err().to_string();
    assert!(error.contains("footprint.parquet: row 0: op_id is 2, there are only 0 operations"), "{error}");
    let error = opened.read_trace(1).unwrap_err().to_string();
    assert!(error.contains("events.parquet: row 0: op_id is 0, there are only 0 operations"), "{error}");
    swap(&own_ops, "ops.parquet");
    swap(&own_ops, "events.parquet");
    let error = opened.read_trace(1).unwrap_err().to_string();
    assert!(error.ends_with("events.parquet: column `start_ns` (Int64) is missing"), "{error}");
    swap(&bare.join("manifest.json"), "manifest.json");
    fs::remove_file(path.join("events.parquet")).unwrap();
    assert!(matches!(opened.read_trace(1), Err(RunError::Io { .. })));
}

fn metered() -> impl Strategy<Value = Vec<MeteredSeries>> {
    let points =
        proptest::collection::btree_map(-(i64::MAX / 2)..i64::MAX / 2, (0.0f64..1e12, any::<bool>()), 1..40);
    let meter = (0u32..4, proptest::option::of(".{0,5}"), any::<bool>());
    proptest::collection::btree_map(meter, (0usize..4, points), 0..5).prop_map(|meters| {
        let metered = |((device, domain, is_tree), (kind, points)): (
            (u32, _, bool),
            (usize, std::collections::BTreeMap<i64, _>),
        )| {
            let mut series = EnergySeries::default();
            let mut total = 0.0;
            for (time, (joules, gap)) in points {
                total += joules;
                series.push(Nanos(time), Joules(total), gap).unwrap();
            }
            let device = Device::new(DeviceClass::Gpu, device).on("näh");
            let scope = if is_tree { Scope::Tree } else { Scope::Device };
            MeteredSeries { device, domain, scope, kind: Kind::ALL[kind], series }
        };
        meters.into_iter().map(metered).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn power_comes_back_bit_for_bit(power in metered()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("power.parquet");
        write_power_parquet(&path, &power).unwrap();
        let read = read_power_parquet(&path).unwrap();
        prop_assert_eq!(&read, &power);
        let bits = |power: &[MeteredSeries]| -> Vec<u64> {
            power.iter().flat_map(|metered| metered.series.points()).map(|(_, joules, _)| joules.0.to_bits()).collect()
        };
        prop_assert_eq!(bits(&read), bits(&power));
    }

    #[test]
    fn traces_come_back(lanes in proptest::collection::vec(
        (0usize..3, proptest::collection::vec((any::<i64>(), any::<i64>(), 0u32..3, any::<u32>()), 0..30)), 0..5),
    ) {
        let mut run = sample::run();
        run.trace.lanes = lanes.into_iter().map(|(device, events)| {
            let event = |(start, end, op, step)| Event { start: Nanos(start), end: Nanos(end), op: OpId(op), step: Step(step) };
            Lane::new(device, "lane", events.into_iter().map(event).collect())
        }).collect();
        let folder = tempfile::tempdir().unwrap();
        let run_folder = RunFolder::create(&folder.path().join("run"), &run.contents()).unwrap();
        prop_assert_eq!(run_folder.read_trace(1).unwrap(), run.trace);
    }
}
