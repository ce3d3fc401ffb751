//! What is shown: plain data, the same for the screen, for lines of text and for JSON.

use jouletree_model::sampling::Stats;
use jouletree_model::{Device, Joules, Kind, Nanos, Watts};
use jouletree_series::share::Split;

use super::cpu_socket::Powers;
use super::ledger::Entry;

/// Everything that is known at an instant.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// What is watched, in words.
    pub subject: String,
    /// The time of day.
    pub wall: Option<Nanos>,
    /// The time since the start.
    pub elapsed: Nanos,
    /// The kind of the number that is furthest from a meter among those that are added up.
    pub kind: Option<Kind>,
    /// The devices, parts after their whole.
    pub devices: Vec<DeviceRow>,
    /// The sum of all devices, parts and what holds them left out; `None` when the power of one is not known.
    pub power: Option<Watts>,
    /// The same as energy.
    pub energy: Joules,
    /// Who used the sockets.
    pub sockets: Vec<SocketRow>,
    /// The process tree; `None` when the machine is watched.
    pub tree: Option<TreeRow>,
    /// Processes, in no particular order.
    pub processes: Vec<Entry>,
    /// The energy of processes that have ended.
    pub ended: Joules,
    /// Energy of processes that were not seen.
    pub unlisted: Joules,
    /// What happened, the oldest first.
    pub incidents: Vec<IncidentRow>,
    /// The monitor's own power by CPU time; `None` when it is not known.
    pub own_power: Option<Watts>,
    /// The same as energy.
    pub own_energy: Joules,
    /// How well the sampler keeps time.
    pub sampler: Stats,
    /// Samples that were lost because they were not read in time; no energy is lost with them.
    pub lost: u64,
}

/// A device or a part of it.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceRow {
    /// The device.
    pub device: Device,
    /// The part.
    pub domain: Option<String>,
    /// The kind of its numbers.
    pub kind: Kind,
    /// Where they come from.
    pub source: String,
    /// The power over the last second; `None` in a gap.
    pub power: Option<Watts>,
    /// Its 95 % interval, where that is known.
    pub interval: Option<(Watts, Watts)>,
    /// The power of each of the last 60 seconds, the oldest first.
    pub minute: Vec<Option<Watts>>,
    /// The energy since the start.
    pub energy: Joules,
    /// For how long it is known.
    pub known: Nanos,
}

/// Who used a socket.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SocketRow {
    /// The number of the socket.
    pub socket: u32,
    /// The power of each part.
    pub powers: Option<Powers>,
    /// The energy of each part.
    pub sum: Split,
    /// Energy whose share is not known yet.
    pub waiting: Joules,
}

/// What a process tree uses.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TreeRow {
    /// The CPUs that it keeps busy.
    pub cpus: f64,
    /// Memory in bytes, shared memory counted once where that is known.
    pub memory: u64,
    /// Its processes.
    pub processes: usize,
    /// Its threads.
    pub threads: usize,
    /// Whether all of it has ended.
    pub is_over: bool,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncidentRow {
    /// Its number, from zero.
    pub number: u64,
    /// The time since the start.
    pub elapsed: Nanos,
    /// The time of day.
    pub wall: Option<Nanos>,
    /// The device, if it is about one.
    pub device: Option<Device>,
    /// The part of it, if it is about one.
    pub domain: Option<String>,
    /// What sort of incident it is, in one word.
    pub kind: &'static str,
    /// What happened.
    pub what: String,
}

/// What processes are sorted by, the largest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// Power.
    #[default]
    Watts,
    /// Energy.
    Joules,
    /// CPU time.
    Cpu,
    /// Number, the smallest first.
    Pid,
}

impl Sort {
    /// The next way to sort.
    pub fn next(self) -> Sort {
        match self {
            Sort::Watts => Sort::Joules,
            Sort::Joules => Sort::Cpu,
            Sort::Cpu => Sort::Pid,
            Sort::Pid => Sort::Watts,
        }
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Sort::Watts => "watts",
            Sort::Joules => "joules",
            Sort::Cpu => "cpu",
            Sort::Pid => "pid",
        }
    }
}

impl View {
    /// The processes, sorted; equals by number.
    pub fn sorted(&self, sort: Sort) -> Vec<&Entry> {
        let mut entries: Vec<&Entry> = self.processes.iter().collect();
        entries.sort_by(|one, other| {
            let by = match sort {
                Sort::Watts => other.power.0.total_cmp(&one.power.0),
                Sort::Joules => other.energy.0.total_cmp(&one.energy.0),
                Sort::Cpu => other.cpus.total_cmp(&one.cpus),
                Sort::Pid => std::cmp::Ordering::Equal,
            };
            by.then(one.pid.cmp(&other.pid))
        });
        entries
    }

    /// The power of ours on all sockets, when all of it is known.
    pub fn ours(&self) -> Option<Watts> {
        let sum: Option<f64> = self.sockets.iter().map(|row| row.powers.map(|powers| powers.ours.0)).sum();
        sum.filter(|_| !self.sockets.is_empty()).map(Watts)
    }

    /// Whether there is no meter and everything is from a model.
    pub fn is_all_estimated(&self) -> bool {
        self.devices.iter().all(|row| row.kind >= Kind::Estimated)
    }
}

impl IncidentRow {
    /// What it is about, in words; nothing when it concerns all.
    pub fn about(&self) -> Option<String> {
        let device = short(self.device.as_ref()?);
        Some(self.domain.as_ref().map_or(device.clone(), |domain| format!("{device} {domain}")))
    }
}

impl DeviceRow {
    /// The name of the device without the machine where it has no name, or that of the part.
    pub fn name(&self) -> String {
        match &self.domain {
            Some(domain) => format!("  {domain}"),
            None => short(&self.device),
        }
    }
}

/// A device without the name of its machine where that says nothing.
pub fn short(device: &Device) -> String {
    let name = device.to_string();
    match name.split_once('/') {
        Some((_, local)) if device.is_on_unnamed_host() => local.to_owned(),
        _ => name,
    }
}
