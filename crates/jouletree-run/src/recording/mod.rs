//! Recordings: what `manifest.json` says about one, and how its journal becomes a run.

mod meters;
mod settle;
mod shares;
mod tables;

use jouletree_model::{Device, Interval, Joules, Kind, Nanos, Spread};
use jouletree_series::share::Split;
use jouletree_series::{DeviceBalance, DeviceSeries};
use serde::{Deserialize, Serialize};

use crate::RunError;
use crate::journal::{Exit, HostFacts, SamplerRecord, SensorRecord};

pub use settle::recover;
pub(crate) use settle::{clear_journal, settle};

/// How the power of a run was recorded, and who used it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// The command that was recorded.
    pub command: Vec<String>,
    /// The process that was watched.
    pub pid: Option<u32>,
    /// The machine.
    pub host: HostFacts,
    /// When it began, in nanoseconds since the epoch.
    pub began_ns: i64,
    /// How long it took.
    pub duration_ns: i64,
    /// How the command ended; `None` when there was none, or when the recording was cut off.
    pub exit: Option<Exit>,
    /// Whether it ended as it should; otherwise the recorder was cut off, and this is what it had written.
    pub complete: bool,
    /// How often sensors were read.
    pub period_ns: i64,
    /// Where the tree's processor time comes from.
    pub share_source: Option<String>,
    /// The sensors, with what they learned about themselves.
    pub sensors: Vec<SensorRecord>,
    /// The energy of every device, and of the parts of devices that are metered on their own.
    pub balance: Vec<Balance>,
    /// What ties its times to the time of day.
    pub clocks: Clocks,
    /// How many samples there are.
    pub samples: u64,
    /// How many were lost because they were not read in time.
    pub lost_samples: u64,
    /// How well the sampler kept time; `None` when the recording was cut off.
    pub sampler: Option<SamplerRecord>,
    /// The processor time of the tree; `None` when the recording was cut off.
    pub tree_time_ns: Option<i64>,
    /// The processor time that recording took.
    pub own_time_ns: Option<i64>,
    /// What happened, the first of it.
    pub incidents: Vec<IncidentRecord>,
    /// How many incidents are left out here.
    pub incidents_left_out: u64,
    /// What a person should know about the numbers.
    pub remarks: Vec<String>,
}

/// The energy of a device or of a part of it, over a whole recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Balance {
    /// The device.
    pub device: Device,
    /// The part of the device; its energy is in that of the whole and never added to it.
    pub domain: Option<String>,
    /// The kind of the numbers.
    pub kind: Kind,
    /// What is known of its energy.
    #[serde(rename = "energy_j")]
    pub energy: Joules,
    /// It is not less, in 97.5 of 100 cases.
    #[serde(rename = "low_j")]
    pub low: Joules,
    /// It is not more, in 97.5 of 100 cases. Energy in gaps is in none of these numbers.
    #[serde(rename = "high_j")]
    pub high: Joules,
    /// The part of the recording about which something is known.
    pub coverage: f64,
    /// How often there was a gap.
    pub gaps: u64,
    /// Who used it; `None` for the part of a device.
    pub parts: Option<Parts>,
}

impl Recording {
    /// Relative 95 % uncertainty of each device, where it is known.
    pub fn spreads(&self) -> impl Iterator<Item = (Device, Spread)> {
        let wholes = self.balance.iter().filter(|balance| balance.domain.is_none());
        wholes.filter_map(|balance| Some((balance.device.clone(), balance.spread()?)))
    }
}

impl Balance {
    /// The balance of a sensor's samples over a recording of this length.
    pub(crate) fn of(series: DeviceSeries, length: Nanos) -> Result<Balance, RunError> {
        let DeviceBalance { energy, parts, gaps } =
            series.balance(length).map_err(|error| RunError::Inconsistent(error.to_string()))?;
        Ok(Balance {
            device: series.info.device,
            domain: series.info.domain,
            kind: series.info.kind,
            energy: energy.joules,
            low: energy.low,
            high: energy.high,
            coverage: energy.coverage,
            gaps,
            parts: parts.map(Parts::from),
        })
    }

    /// By what every part of this energy may be off; `None` where nothing is known.
    pub fn spread(&self) -> Option<Spread> {
        let interval = Interval { low: self.low, high: self.high };
        Spread::of(self.energy, interval).filter(|_| self.coverage > 0.0)
    }
}

/// Who used an energy. Ours, others', idle and unknown make all of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Parts {
    /// The tree's.
    #[serde(rename = "ours_j")]
    pub ours: Joules,
    /// That of other processes, the monitor included.
    #[serde(rename = "others_j")]
    pub others: Joules,
    /// Idle energy.
    #[serde(rename = "idle_j")]
    pub idle: Joules,
    /// That of times without a known share.
    #[serde(rename = "unknown_j")]
    pub unknown: Joules,
    /// The monitor's part of the others'.
    #[serde(rename = "own_j")]
    pub own: Joules,
}

impl From<Split> for Parts {
    fn from(split: Split) -> Parts {
        let Split { ours, others, own, idle, unknown } = split;
        Parts { ours, others, idle, unknown, own }
    }
}

/// What ties a recording to the time of day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    /// How often the clocks were compared.
    pub anchors: u64,
    /// By how much the time of day went ahead of the monotonic clock over the recording.
    pub drift_ns: i64,
}

/// Something that happened during a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentRecord {
    /// When, in nanoseconds since the epoch.
    pub t_ns: i64,
    /// The device, unless it concerns all.
    pub device: Option<Device>,
    /// The part of the device.
    pub domain: Option<String>,
    /// What sort of incident it was, in one word.
    pub kind: String,
    /// What happened.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn balance(domain: Option<&str>, energy: f64, coverage: f64) -> Balance {
        Balance {
            device: "host/cpu:0".parse().unwrap(),
            domain: domain.map(str::to_owned),
            kind: Kind::Estimated,
            energy: Joules(energy),
            low: Joules(0.5 * energy),
            high: Joules(2.0 * energy),
            coverage,
            gaps: 0,
            parts: None,
        }
    }

    #[test]
    fn the_spread_of_a_device_is_that_of_its_whole_energy() {
        let spread = balance(None, 8.0, 1.0).spread().unwrap();
        assert_eq!((spread.low(), spread.high()), (0.5, 2.0));
        assert_eq!(balance(None, 0.0, 1.0).spread(), None);
        assert_eq!(balance(None, 8.0, 0.0).spread(), None);
    }
}
