//! The view as one line of JSON; `docs/json.md` documents every field.

use anyhow::Result;
use jouletree_model::{Device, Kind, Watts};
use jouletree_run::{IncidentRecord, SamplerRecord};
use serde::Serialize;

use super::ledger::Entry;
use super::view::{DeviceRow, IncidentRow, SocketRow, Sort, TreeRow, View};
use crate::recorded_json::{self, SamplerRow};

#[derive(Serialize)]
struct Instant<'a> {
    t_ns: Option<i64>,
    elapsed_s: f64,
    subject: &'a str,
    kind: Option<Kind>,
    power_w: Option<f64>,
    energy_j: f64,
    devices: Vec<DeviceLine<'a>>,
    sockets: Vec<SocketLine>,
    tree: Option<TreeLine>,
    processes: Vec<ProcessLine<'a>>,
    ended_j: f64,
    unlisted_j: f64,
    own_w: Option<f64>,
    own_j: f64,
    lost_samples: u64,
    sampler: SamplerRow<'a>,
    incidents: Vec<IncidentRecord>,
}

#[derive(Serialize)]
struct DeviceLine<'a> {
    device: &'a Device,
    domain: Option<&'a str>,
    kind: Kind,
    source: &'a str,
    power_w: Option<f64>,
    power_low_w: Option<f64>,
    power_high_w: Option<f64>,
    energy_j: f64,
    known_s: f64,
}

#[derive(Serialize)]
struct SocketLine {
    socket: u32,
    ours_w: Option<f64>,
    others_w: Option<f64>,
    idle_w: Option<f64>,
    unknown_w: Option<f64>,
    ours_j: f64,
    others_j: f64,
    idle_j: f64,
    unknown_j: f64,
    waiting_j: f64,
}

#[derive(Serialize)]
struct TreeLine {
    cpus: f64,
    memory_bytes: u64,
    processes: usize,
    threads: usize,
    is_over: bool,
}

#[derive(Serialize)]
struct ProcessLine<'a> {
    pid: u32,
    command: &'a str,
    threads: u32,
    cpus: f64,
    power_w: f64,
    energy_j: f64,
}

/// A view as a line, with the incidents from this number on.
pub fn line(view: &View, incidents_from: u64) -> Result<String> {
    let sampler = SamplerRecord::from(&view.sampler);
    let instant = Instant {
        t_ns: view.wall.map(|wall| wall.0),
        elapsed_s: view.elapsed.seconds(),
        subject: &view.subject,
        kind: view.kind,
        power_w: watts(view.power),
        energy_j: view.energy.0,
        devices: view.devices.iter().map(device).collect(),
        sockets: view.sockets.iter().map(socket).collect(),
        tree: view.tree.as_ref().map(tree),
        processes: view.sorted(Sort::Watts).into_iter().map(process).collect(),
        ended_j: view.ended.0,
        unlisted_j: view.unlisted.0,
        own_w: watts(view.own_power),
        own_j: view.own_energy.0,
        lost_samples: view.lost,
        sampler: recorded_json::sampler(&sampler),
        incidents: view.incidents.iter().filter(|row| row.number >= incidents_from).map(incident).collect(),
    };
    Ok(serde_json::to_string(&instant)? + "\n")
}

fn watts(power: Option<Watts>) -> Option<f64> {
    power.map(|power| power.0)
}

fn device(row: &DeviceRow) -> DeviceLine<'_> {
    DeviceLine {
        device: &row.device,
        domain: row.domain.as_deref(),
        kind: row.kind,
        source: &row.source,
        power_w: watts(row.power),
        power_low_w: row.interval.map(|(low, _)| low.0),
        power_high_w: row.interval.map(|(_, high)| high.0),
        energy_j: row.energy.0,
        known_s: row.known.seconds(),
    }
}

fn socket(row: &SocketRow) -> SocketLine {
    SocketLine {
        socket: row.socket,
        ours_w: row.powers.map(|powers| powers.ours.0),
        others_w: row.powers.map(|powers| powers.others.0),
        idle_w: row.powers.map(|powers| powers.idle.0),
        unknown_w: row.powers.map(|powers| powers.unknown.0),
        ours_j: row.sum.ours.0,
        others_j: row.sum.others.0,
        idle_j: row.sum.idle.0,
        unknown_j: row.sum.unknown.0,
        waiting_j: row.waiting.0,
    }
}

fn tree(row: &TreeRow) -> TreeLine {
    TreeLine {
        cpus: row.cpus,
        memory_bytes: row.memory,
        processes: row.processes,
        threads: row.threads,
        is_over: row.is_over,
    }
}

fn process(entry: &Entry) -> ProcessLine<'_> {
    ProcessLine {
        pid: entry.pid,
        command: &entry.command,
        threads: entry.threads,
        cpus: entry.cpus,
        power_w: entry.power.0,
        energy_j: entry.energy.0,
    }
}

fn incident(row: &IncidentRow) -> IncidentRecord {
    IncidentRecord {
        // The first batch of a session ties its clock to the time of day.
        t_ns: row.wall.map_or(0, |wall| wall.0),
        device: row.device.clone(),
        domain: row.domain.clone(),
        kind: row.kind.to_owned(),
        message: row.what.clone(),
    }
}
