//! The state of the live view: batches of a session and passes over the processes come in, a [`View`] goes out. Nothing
//! here reads a clock, a file or a key, so that scripts can play it.

mod shown;

use std::collections::VecDeque;

use jouletree_meter::share::ProcScan;
use jouletree_model::sampling::{Anchor, Anchors, Batch, Incident, Mono, ResourceSample, SensorInfo, ShareSample};
use jouletree_model::{DeviceClass, Joules, Kind, Nanos};

use super::cpu_socket::CpuSocket;
use super::gauge::{Gauge, NOW};
use super::ledger::Ledger;
use super::view::IncidentRow;

/// So many incidents are kept.
const INCIDENTS: usize = 100;

/// What is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The first process of the tree; `None` for the machine.
    pub pid: Option<u32>,
    /// In words.
    pub words: String,
}

/// Everything that is known so far.
#[derive(Debug)]
pub struct State {
    subject: Subject,
    gauges: Vec<Gauge>,
    /// For each gauge the socket that it meters, by its place.
    metered: Vec<Option<usize>>,
    sockets: Vec<CpuSocket>,
    /// Whether the only gauge of a processor covers all sockets, as an estimate does.
    is_for_all: bool,
    ledger: Ledger,
    began: Option<Mono>,
    now: Mono,
    anchor: Option<Anchor>,
    resources: Option<ResourceSample>,
    is_over: bool,
    incidents: VecDeque<IncidentRow>,
    incidents_shown: u64,
    lost: u64,
}

impl State {
    /// Nothing is known yet of these sensors. Processes are passed over once in an `interval`.
    pub fn new(sensors: &[SensorInfo], subject: Subject, interval: Nanos) -> State {
        let gauges: Vec<Gauge> = sensors.iter().cloned().map(Gauge::new).collect();
        let (now, timeout) = (interval.max(NOW), interval + interval + NOW);
        let mut sockets = Vec::new();
        let metered = sensors
            .iter()
            .map(|info| {
                let is_socket = info.device.class() == DeviceClass::Cpu && info.domain.is_none();
                is_socket.then(|| {
                    sockets.push(CpuSocket::new(info.device.index(), now, timeout));
                    sockets.len() - 1
                })
            })
            .collect();
        let is_estimated = sensors.iter().all(|info| info.kind >= Kind::Estimated || info.domain.is_some());
        State {
            is_for_all: sockets.len() == 1 && is_estimated,
            ledger: Ledger::new(subject.pid),
            subject,
            gauges,
            metered,
            sockets,
            began: None,
            now: Mono::default(),
            anchor: None,
            resources: None,
            is_over: false,
            incidents: VecDeque::new(),
            incidents_shown: 0,
            lost: 0,
        }
    }

    /// Takes what a session brought.
    pub fn take(&mut self, batch: &Batch) {
        for sample in &batch.samples {
            self.began.get_or_insert(sample.at);
            self.now = self.now.max(sample.at);
            let place = usize::from(sample.sensor);
            let Some(increment) = self.gauges.get_mut(place).and_then(|gauge| gauge.take(*sample)) else {
                continue;
            };
            let socket = self.metered.get(place).copied().flatten().and_then(|place| self.sockets.get_mut(place));
            if let Some(socket) = socket {
                socket.used(increment);
            }
        }
        self.anchor = batch.anchors.last().copied().or(self.anchor);
        self.resources = batch.resources.last().copied().or(self.resources);
        self.lost = self.lost.saturating_add(batch.lost);
        batch.incidents.iter().for_each(|incident| self.show_incident(incident));
        self.share(&batch.shares);
    }

    /// Takes a pass over all processes. Where no tree is watched its shares are those of the machine.
    pub fn pass(&mut self, pass: &ProcScan) {
        if self.subject.pid.is_none() {
            self.share(&pass.shares);
        }
        let energies: Vec<Joules> = self.sockets.iter_mut().map(CpuSocket::hand_out).collect();
        let (sockets, is_for_all) = (&self.sockets, self.is_for_all);
        self.ledger.charge(pass, &energies, |process| match is_for_all {
            true => Some(0),
            false => sockets.iter().position(|socket| socket.number() == process.socket),
        });
    }

    /// Takes what sensors learned about themselves.
    pub fn learn(&mut self, sensors: &[SensorInfo]) {
        self.gauges.iter_mut().zip(sensors).for_each(|(gauge, info)| gauge.learn(info));
    }

    /// All processes of the tree have ended.
    pub fn is_over(&mut self) {
        self.is_over = true;
    }

    /// Nothing more will come: what waits for a share is cut by what is known.
    pub fn finish(&mut self) {
        self.sockets.iter_mut().for_each(CpuSocket::finish);
        let left = self.sockets.iter_mut().map(CpuSocket::hand_out).sum();
        self.ledger.close(left);
    }

    fn wall(&self, at: Mono) -> Option<Nanos> {
        let mut anchors = Anchors::default();
        anchors.push(self.anchor?);
        anchors.wall(at)
    }

    fn share(&mut self, shares: &[ShareSample]) {
        match (self.sockets.as_mut_slice(), self.is_for_all) {
            ([socket], true) => {
                // Shares of one window follow each other.
                shares.chunk_by(|one, other| one.at == other.at).for_each(|window| socket.share(mean(window)));
            }
            (sockets, _) => {
                for share in shares {
                    sockets.iter_mut().filter(|socket| socket.number() == share.socket).for_each(|socket| {
                        socket.share(*share);
                    });
                }
            }
        }
        let now = self.now;
        self.sockets.iter_mut().for_each(|socket| socket.settle(now));
    }

    fn show_incident(&mut self, incident: &Incident) {
        let info = incident.sensor.and_then(|sensor| self.gauges.get(usize::from(sensor))).map(Gauge::info);
        let row = IncidentRow {
            number: self.incidents_shown,
            elapsed: self.began.map_or(Nanos(0), |began| incident.at - began),
            wall: self.wall(incident.at),
            device: info.map(|info| info.device.clone()),
            domain: info.and_then(|info| info.domain.clone()),
            kind: incident.what.word(),
            what: incident.what.to_string(),
        };
        self.incidents_shown += 1;
        self.incidents.push_back(row);
        while self.incidents.len() > INCIDENTS {
            self.incidents.pop_front();
        }
    }
}

/// One share for all sockets, which are taken to be alike.
fn mean(window: &[ShareSample]) -> ShareSample {
    let mean = |part: fn(&ShareSample) -> f64| window.iter().map(part).sum::<f64>() / window.len() as f64;
    let (ours, others, idle) = (mean(|share| share.ours), mean(|share| share.others), mean(|share| share.idle));
    let own = mean(|share| share.own);
    window
        .first()
        .map_or(ShareSample { from: Mono(0), at: Mono(0), socket: 0, ours, others, idle, own }, |first| {
            ShareSample { ours, others, idle, own, ..*first }
        })
}

#[cfg(test)]
mod tests;
