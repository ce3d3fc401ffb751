//! A recording that went through its journal says what its batches say.

use test_support::recordings;

use std::fs;

use jouletree_model::sampling::{Anchor, Anchors, Batch, Incident, Mono, SensorInfo, ShareSample, What};
use jouletree_model::{DeviceClass, EnergySeries, Joules, Nanos};
use jouletree_run::{JournalWriter, PowerInput, RunError, RunFolder, read_power, recover};
use jouletree_series::ongoing::OngoingEnergy;
use jouletree_series::share::{Increment, Split, split};
use jouletree_series::{SeriesBuilder, Windows};
use proptest::prelude::*;
use recordings::*;

const TABLES: [&str; 5] = ["gpus.parquet", "manifest.json", "power.parquet", "resources.parquet", "share.parquet"];

/// The energy of a sensor over time, from all samples at once.
fn direct(info: &SensorInfo, number: u16, batches: &[Batch], began: Anchor) -> (EnergySeries, usize) {
    let mut builder = SeriesBuilder::new(info, PERIOD);
    let samples = batches.iter().flat_map(|batch| &batch.samples).filter(|sample| sample.sensor == number);
    samples.for_each(|sample| builder.take(*sample));
    let mut anchors = Anchors::default();
    anchors.push(began);
    (builder.series(&anchors).unwrap(), builder.gaps().len())
}

/// The shares of a socket, or those that a GPU's samples mean: each until the next, unknown ones left out.
fn shares(info: &SensorInfo, batches: &[Batch]) -> Vec<ShareSample> {
    if info.device.class() != DeviceClass::Gpu {
        return batches.iter().flat_map(|batch| &batch.shares).copied().collect();
    }
    let (mut shares, mut before) = (Vec::new(), None);
    for sample in batches.iter().flat_map(|batch| &batch.gpus) {
        let second_ago = Mono(sample.at.0 - 1_000_000_000);
        let from = before.replace(sample.at).unwrap_or(second_ago);
        if let Some(share) = sample.share {
            let (ours, others) = (share.share, 1.0 - share.share);
            shares.push(ShareSample { from, at: sample.at, socket: 0, ours, others, idle: 0.0, own: 0.0 });
        }
    }
    shares
}

fn direct_parts(info: &SensorInfo, series: &EnergySeries, batches: &[Batch], began: Anchor) -> Split {
    let points: Vec<_> = series.points().collect();
    let increments = points.windows(2).filter(|pair| !pair[0].2).map(|pair| Increment {
        from: Mono(pair[0].0.0 - began.wall.0 + began.mono.0),
        to: Mono(pair[1].0.0 - began.wall.0 + began.mono.0),
        energy: pair[1].1 - pair[0].1,
    });
    let increments: Vec<Increment> = increments.collect();
    let mut sum = Split::default();
    for part in split(&increments, &shares(info, batches), info.device.index()) {
        sum.ours += part.ours;
        sum.others += part.others;
        sum.idle += part.idle;
        sum.unknown += part.unknown;
        sum.own += part.own;
    }
    sum
}

#[track_caller]
fn assert_close(found: Joules, wanted: Joules, what: &str) {
    assert!((found.0 - wanted.0).abs() <= 1e-9 * wanted.0.abs() + 1e-9, "{what}: {found:?} {wanted:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn the_journal_changes_nothing(seed: u64, tenths in 1_u64..80, every in 1_usize..30) {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        let sensors = sensors();
        let header = header(&sensors);
        let began = anchor(&header);
        let batches = batches(seed, tenths, began);
        let opened = finish(write(&run, &header, &batches, every), &sensors);
        let recording = opened.manifest().recording.clone().unwrap();
        let mut power = opened.read_power().unwrap().into_iter();
        for (number, (info, balance)) in sensors.iter().zip(&recording.balance).enumerate() {
            let (series, gaps) = direct(info, number as u16, &batches, began);
            if series.points().len() > 0 {
                let metered = power.find(|m| m.device == info.device && m.domain == info.domain).unwrap();
                prop_assert_eq!(&metered.series, &series);
                prop_assert_eq!(metered.kind, info.kind);
                power = opened.read_power().unwrap().into_iter();
            }
            prop_assert_eq!(balance.gaps, gaps as u64);
            assert_close(balance.energy, series.total(), "energy");
            if let Some(extent) = series.extent() {
                let window = Windows::of(&series, info).energy_between(extent.start, extent.end);
                prop_assert!((balance.low.0 - window.low.0).abs() <= 1e-6 * (1.0 + window.low.0));
                prop_assert!((balance.high.0 - window.high.0).abs() <= 1e-6 * (1.0 + window.high.0));
            }
            let Some(parts) = balance.parts else {
                prop_assert!(info.domain.is_some());
                continue;
            };
            let wanted = direct_parts(info, &series, &batches, began);
            assert_close(parts.ours, wanted.ours, "ours");
            assert_close(parts.others, wanted.others, "others");
            assert_close(parts.idle, wanted.idle, "idle");
            assert_close(parts.unknown, wanted.unknown, "unknown");
            assert_close(parts.own, wanted.own, "own");
            assert_close(parts.ours + parts.others + parts.idle + parts.unknown, balance.energy, "the whole");
        }
        prop_assert_eq!(recording.samples, tenths * 125);
        prop_assert_eq!(recording.lost_samples, if tenths > 3 { 7 } else { 0 });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    /// A window that holds everything has the energy of the recording, while it goes on.
    #[test]
    fn the_window_of_a_whole_recording_is_its_balance(seed: u64, tenths in 1_u64..150) {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        let sensors = sensors();
        let header = header(&sensors);
        let batches = batches(seed, tenths, anchor(&header));
        let opened = finish(write(&run, &header, &batches, 5), &sensors);
        let mut live = OngoingEnergy::new(&sensors, PERIOD);
        let began = header.began_ns - 50_000_000;
        live.open(1, Nanos(began));
        batches.iter().for_each(|batch| live.take(batch));
        live.close(1, Nanos(began + (tenths as i64 + 10) * 100_000_000));
        let answer = live.finish().pop().unwrap();
        let recording = opened.manifest().recording.clone().unwrap();
        let wholes: Vec<_> = recording.balance.iter().filter(|balance| balance.domain.is_none()).collect();
        prop_assert_eq!(wholes.len(), answer.devices.len());
        for (found, wanted) in answer.devices.iter().zip(wholes) {
            prop_assert_eq!((&found.device, found.kind), (&wanted.device, wanted.kind));
            assert_close(found.energy.joules, wanted.energy, "energy");
            prop_assert!((found.energy.low.0 - wanted.low.0).abs() <= 1e-6 * (1.0 + wanted.low.0));
            prop_assert!((found.energy.high.0 - wanted.high.0).abs() <= 1e-6 * (1.0 + wanted.high.0));
            let parts = wanted.parts.unwrap();
            assert_close(found.parts.ours, parts.ours, "ours");
            assert_close(found.parts.others, parts.others, "others");
            assert_close(found.parts.idle, parts.idle, "idle");
            assert_close(found.parts.unknown, parts.unknown, "unknown");
            assert_close(found.parts.own, parts.own, "own");
        }
    }
}

#[test]
fn a_recording_is_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("deep/run");
    let sensors = sensors();
    let header = header(&sensors);
    let mut batches = batches(7, 30, anchor(&header));
    for (number, missed, worst) in [(3, 12, 9), (4, 1, 300), (20, 2, 11)] {
        let what = What::Late { missed, worst: Nanos(worst * 1_000_000) };
        let at = batches[number].samples[0].at;
        batches[number].incidents.push(Incident { at, sensor: None, what });
    }
    let writer = write(&run, &header, &batches, 4);
    assert_eq!(names_in(&run), ["journal", "recording.json"]);
    let opened = finish(writer, &sensors);
    assert_eq!(names_in(&run), TABLES);
    assert_eq!(RunFolder::open(&run).unwrap().manifest(), opened.manifest());
    assert_eq!(read_power(&run).unwrap(), PowerInput::Series(opened.read_power().unwrap()));

    let recording = opened.manifest().recording.clone().unwrap();
    assert!(recording.complete && recording.exit.unwrap().code == Some(0));
    assert_eq!((recording.command.join(" ").as_str(), recording.pid), ("python train.py", Some(4711)));
    assert_eq!((recording.own_time_ns, recording.tree_time_ns), (Some(11_000_000), Some(900_000_000)));
    assert_eq!(recording.remarks, ["performance events are refused"]);
    // Skipped readings are one incident, with their sum and the longest delay.
    let late: Vec<&str> =
        recording.incidents.iter().filter(|it| it.kind == "late").map(|it| it.message.as_str()).collect();
    assert_eq!(late, ["15 readings were skipped because the system was busy, for up to 300 ms at once"]);
    let incident = recording.incidents.iter().find(|incident| incident.kind != "late").unwrap();
    assert_eq!((incident.kind.as_str(), incident.device.as_ref()), ("lost", Some(&sensors[2].device)));
    assert!(recording.host.kernel.is_some() && recording.sampler.unwrap().missed == 1);
    let messages: Vec<&str> = opened.manifest().warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert_eq!(messages, ["7 samples were lost because the recorder could not take them in time"]);

    // It holds no operations, and says so.
    let error = opened.read_footprint().unwrap_err().to_string();
    assert!(error.contains("without operations") && error.contains("jouletree account TRACE --power"), "{error}");
    assert!(matches!(opened.read_trace(1), Err(RunError::OnlyRecorded(_))));
    assert!(matches!(JournalWriter::create(&run, &header), Err(RunError::Exists(_))));
}

#[test]
fn the_same_journal_gives_the_same_tables() {
    let folder = tempfile::tempdir().unwrap();
    let (run, twin) = (folder.path().join("run"), folder.path().join("twin"));
    let sensors = sensors();
    let header = header(&sensors);
    let writer = write(&run, &header, &batches(11, 60, anchor(&header)), 7);
    copy(&run, &twin);
    finish(writer, &sensors);
    // Its recorder is this process, and no process holds the copy.
    recover(&twin).unwrap();
    for name in TABLES.iter().filter(|name| name.ends_with("parquet")) {
        assert!(fs::read(run.join(name)).unwrap() == fs::read(twin.join(name)).unwrap(), "{name} differs");
    }
}

#[test]
fn a_clock_that_is_set_leaves_a_run_that_adds_up() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let sensors = sensors();
    let header = header(&sensors);
    let began = anchor(&header);
    let mut batches = batches(3, 60, began);
    for (number, by) in [(20, -700_000_000), (40, 3_600_000_000_000_i64)] {
        for anchor in batches.iter_mut().skip(number).flat_map(|batch| &mut batch.anchors) {
            anchor.wall += Nanos(by);
        }
    }
    let opened = finish(write(&run, &header, &batches, 5), &sensors);
    let power = opened.read_power().unwrap();
    let recording = opened.manifest().recording.clone().unwrap();
    for balance in recording.balance.iter().filter(|balance| balance.domain.is_none()) {
        let metered = power.iter().find(|m| m.device == balance.device && m.is_whole()).unwrap();
        assert_close(balance.energy, metered.series.total(), "the table and the manifest");
        let parts = balance.parts.unwrap();
        assert_close(parts.ours + parts.others + parts.idle + parts.unknown, balance.energy, "the whole");
        assert!(balance.coverage < 0.9, "{}", balance.coverage);
    }
    assert_eq!(recording.clocks.drift_ns, 3_599_300_000_000);
}

#[test]
fn nothing_at_all_is_a_run_too() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let opened = finish(JournalWriter::create(&run, &header(&[])).unwrap(), &[]);
    assert!(opened.read_power().unwrap().is_empty() && opened.manifest().warnings.is_empty());
    assert_eq!(names_in(&run), ["manifest.json", "power.parquet"]);
}
