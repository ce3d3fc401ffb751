//! Recordings as JSON and CSV; `docs/json.md` documents every field.

use jouletree_model::{Device, Joules, Kind, Nanos, Warning};
use jouletree_report::Trust;
use jouletree_run::{Balance, Exit, HostFacts, IncidentRecord, Recording, SamplerRecord, SensorRecord};
use serde::Serialize;

use crate::recorded::{known, own};

/// Everything there is to say about a recording.
#[derive(Serialize)]
pub struct Everything<'a> {
    command: &'a [String],
    pid: Option<u32>,
    host: &'a HostFacts,
    began_ns: i64,
    duration_s: f64,
    exit: Option<Exit>,
    complete: bool,
    period_s: f64,
    share_source: Option<&'a str>,
    devices: Vec<DeviceRow<'a>>,
    own_j: Option<f64>,
    own_kinds: Vec<Kind>,
    own_s: Option<f64>,
    tree_s: Option<f64>,
    samples: u64,
    lost_samples: u64,
    sampler: Option<SamplerRow<'a>>,
    sensors: Vec<SensorRow<'a>>,
    incidents: &'a [IncidentRecord],
    incidents_left_out: u64,
    remarks: &'a [String],
    trust: &'a Trust,
    warnings: &'a [Warning],
}

/// A device or a part of one.
#[derive(Serialize)]
pub struct DeviceRow<'a> {
    device: &'a Device,
    domain: Option<&'a str>,
    kind: Kind,
    energy_j: Option<f64>,
    low_j: Option<f64>,
    high_j: Option<f64>,
    power_w: Option<f64>,
    ours_j: Option<f64>,
    others_j: Option<f64>,
    idle_j: Option<f64>,
    unknown_j: Option<f64>,
    own_j: Option<f64>,
    coverage: f64,
    gaps: u64,
}

#[derive(Serialize)]
pub struct SamplerRow<'a> {
    wakes: u64,
    missed: u64,
    overruns: u64,
    late_p50_s: f64,
    late_p99_s: f64,
    late_most_s: f64,
    cpu_s: f64,
    class: &'a str,
}

#[derive(Serialize)]
struct SensorRow<'a> {
    device: &'a Device,
    domain: Option<&'a str>,
    source: &'a str,
    kind: Kind,
    step_j: f64,
    range_j: Option<f64>,
    period_s: f64,
    lag_s: f64,
    seen: Option<f64>,
    factor_p5: Option<f64>,
    factor_p95: Option<f64>,
}

/// All of a recording, for programs.
pub fn of<'a>(recording: &'a Recording, trust: &'a Trust, warnings: &'a [Warning]) -> Everything<'a> {
    let (own_j, own_kinds) = own(recording).map(|(energy, kinds)| (energy.0, kinds)).unzip();
    let seconds = |nanos: i64| Nanos(nanos).seconds();
    Everything {
        command: &recording.command,
        pid: recording.pid,
        host: &recording.host,
        began_ns: recording.began_ns,
        duration_s: seconds(recording.duration_ns),
        exit: recording.exit,
        complete: recording.complete,
        period_s: seconds(recording.period_ns),
        share_source: recording.share_source.as_deref(),
        devices: device_rows(recording),
        own_j,
        own_kinds: own_kinds.unwrap_or_default(),
        own_s: recording.own_time_ns.map(seconds),
        tree_s: recording.tree_time_ns.map(seconds),
        samples: recording.samples,
        lost_samples: recording.lost_samples,
        sampler: recording.sampler.as_ref().map(sampler),
        sensors: recording.sensors.iter().map(sensor).collect(),
        incidents: &recording.incidents,
        incidents_left_out: recording.incidents_left_out,
        remarks: &recording.remarks,
        trust,
        warnings,
    }
}

/// The balance of every device and of its parts. What nothing is known about has no energy.
pub fn device_rows<'a>(recording: &'a Recording) -> Vec<DeviceRow<'a>> {
    let row = |balance: &'a Balance| {
        let is_known = balance.coverage > 0.0;
        let if_known = |joules: Joules| is_known.then_some(joules.0);
        let parts = balance.parts.filter(|_| is_known);
        DeviceRow {
            device: &balance.device,
            domain: balance.domain.as_deref(),
            kind: balance.kind,
            energy_j: if_known(balance.energy),
            low_j: if_known(balance.low),
            high_j: if_known(balance.high),
            power_w: is_known.then(|| (balance.energy / known(recording, balance)).0),
            ours_j: parts.map(|parts| parts.ours.0),
            others_j: parts.map(|parts| parts.others.0),
            idle_j: parts.map(|parts| parts.idle.0),
            unknown_j: parts.map(|parts| parts.unknown.0),
            own_j: parts.map(|parts| parts.own.0),
            coverage: balance.coverage,
            gaps: balance.gaps,
        }
    };
    recording.balance.iter().map(row).collect()
}

/// How well sensors were read on time.
pub fn sampler(record: &SamplerRecord) -> SamplerRow<'_> {
    SamplerRow {
        wakes: record.wakes,
        missed: record.missed,
        overruns: record.overruns,
        late_p50_s: Nanos(record.late_p50_ns).seconds(),
        late_p99_s: Nanos(record.late_p99_ns).seconds(),
        late_most_s: Nanos(record.late_most_ns).seconds(),
        cpu_s: Nanos(record.cpu_time_ns).seconds(),
        class: &record.class,
    }
}

fn sensor(record: &SensorRecord) -> SensorRow<'_> {
    SensorRow {
        device: &record.device,
        domain: record.domain.as_deref(),
        source: &record.source,
        kind: record.kind,
        step_j: record.step_uj * 1e-6,
        range_j: record.range_uj.map(|range| range as f64 * 1e-6),
        period_s: Nanos(record.period_ns).seconds(),
        lag_s: Nanos(record.lag_ns).seconds(),
        seen: record.seen,
        factor_p5: record.bounds.map(|(low, _)| low),
        factor_p95: record.bounds.map(|(_, high)| high),
    }
}
