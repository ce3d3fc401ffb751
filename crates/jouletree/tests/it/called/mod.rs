//! A run whose calls and power are made up, so that every energy is known.

// Each test file uses its part of this.
#![allow(dead_code)]

use std::path::Path;

use jouletree_model::{
    Call, CallSite, CallStability, Calls, Device, DeviceClass, EnergySeries, Footprint, Joules, Kind, Nanos,
    TimeRange, Trace,
};
use jouletree_run::{Accounting, MeteredSeries, RunContents, RunFolder, Scope};

/// When it begins.
const BEGIN: i64 = 1_772_442_000_000_000_000;
/// From one reading to the next, in milliseconds.
const PERIOD: i64 = 100;
/// Until when, in seconds, and at how many watts: idling; a call of 10 s with another of 4 s inside it; its tail; a call of
/// 2 s.
const POWER: [(f64, f64); 8] = [
    (30.0, 20.0),
    (32.0, 120.0),
    (36.0, 220.0),
    (40.0, 120.0),
    (45.0, 60.0),
    (60.0, 20.0),
    (62.0, 120.0),
    (90.0, 20.0),
];

fn at(seconds: f64) -> Nanos {
    Nanos(BEGIN + (seconds * 1e9).round() as i64)
}

fn series(power: &[(f64, f64)]) -> EnergySeries {
    let mut series = EnergySeries::default();
    for reading in 0..=90_000 / PERIOD {
        let time = (reading * PERIOD) as f64 / 1e3;
        let mut from = 0.0;
        let mut used = 0.0;
        for (until, watts) in power {
            used += watts * (until.min(time) - from).max(0.0);
            from = *until;
        }
        // Readings waver by a tenth of a joule, one up, one down.
        let noise = if reading % 2 == 0 { 0.0 } else { 0.1 };
        series.push(at(time), Joules(used + noise), false).expect("time advances");
    }
    series
}

/// Writes the run.
pub fn called_run(path: &Path) {
    write(path, &[]);
}

/// The same where a process tree is known to have used a part of the processor's energy.
pub fn called_run_of_a_tree(path: &Path, part: f64) {
    let of_tree = POWER.map(|(until, watts)| (until, part * watts));
    let ours = MeteredSeries {
        device: Device::new(DeviceClass::Cpu, 0),
        domain: None,
        scope: Scope::Tree,
        kind: Kind::Derived,
        series: series(&of_tree),
    };
    write(path, &[ours]);
}

fn write(path: &Path, ours: &[MeteredSeries]) {
    let metered = |class, power: &[(f64, f64)]| MeteredSeries {
        device: Device::new(class, 0),
        domain: None,
        scope: Scope::Device,
        kind: Kind::Measured,
        series: series(power),
    };
    let mut power = vec![metered(DeviceClass::Cpu, &POWER), metered(DeviceClass::Gpu, &[(90.0, 15.0)])];
    power.splice(1..1, ours.iter().cloned());
    let (trace, footprint) = (Trace::default(), Footprint::default());
    let contents =
        RunContents { accounting: Accounting::default(), trace: &trace, power: &power, footprint: &footprint };
    let run = RunFolder::create(path, &contents).expect("a run");
    let mut calls = Calls::default();
    for (line, name) in [(12, "tensorflow.keras.Sequential.fit"), (30, "tensorflow.data.Dataset.map")] {
        calls.push_site(CallSite { file: "train.py".into(), line, column: 4, name: name.into() });
    }
    let mut add = |site, number, parent, start, end, bytes| {
        let call = Call {
            site,
            number,
            thread: 1,
            parent,
            range: TimeRange { start: at(start), end: at(end) },
            argument_bytes: Some(bytes),
            shapes: "(60000, 28, 28) uint8".into(),
            result_bytes: Some(64),
            waited: Nanos(0),
            stability: CallStability::Unstable("host/cpu:0: 56.0 °C, over the limit of 55.0 °C".into()),
        };
        calls.push(call).expect("a call")
    };
    let outer = add(0, 1, None, 30.0, 40.0, 14 << 20);
    add(1, 1, Some(outer), 32.0, 36.0, 5 << 20);
    add(0, 2, None, 60.0, 62.0, 2 << 20);
    add(1, 2, None, 70.03, 70.04, 1 << 20);
    run.write_calls(&calls).expect("calls");
}
