//! `ending.json`: what is known when a recording has ended. Where it is missing, the recorder was cut off.

use std::path::Path;

use jouletree_host::Now;
use jouletree_model::Nanos;
use jouletree_model::sampling::{Anchor, Class, Ending, Stats};
use serde::{Deserialize, Serialize};

use super::sensor::SensorRecord;
use crate::RunError;
use crate::manifest::{read_json, replace_json};

const ENDING: &str = "ending.json";

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// Its exit status; `None` when a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

impl From<std::process::ExitStatus> for Exit {
    fn from(status: std::process::ExitStatus) -> Exit {
        #[cfg(unix)]
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        #[cfg(not(unix))]
        let signal = None;
        Exit { code: status.code(), signal }
    }
}

/// The end of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct EndingRecord {
    pub(crate) exit: Option<Exit>,
    pub(crate) ended_ns: i64,
    pub(crate) ended_mono_ns: i64,
    pub(crate) sensors: Vec<SensorRecord>,
    pub(crate) remarks: Vec<String>,
    pub(crate) sampler: SamplerRecord,
    pub(crate) tree_time_ns: i64,
    pub(crate) own_time_ns: i64,
    /// How many samples the journal must hold.
    pub(crate) samples: u64,
    /// How many could not be written any more.
    pub(crate) unwritten: u64,
}

/// How well the sampler kept time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SamplerRecord {
    /// How often all sensors were read.
    pub wakes: u64,
    /// Deadlines that were skipped because the one before was so late.
    pub missed: u64,
    /// Samples that were dropped.
    pub overruns: u64,
    /// Incidents that are left out because there were too many.
    pub incidents_left_out: u64,
    /// Half of the wakes came no later than this.
    pub late_p50_ns: i64,
    /// 99 of 100 came no later than this.
    pub late_p99_ns: i64,
    /// The latest.
    pub late_most_ns: i64,
    /// The processor time of the sampler's thread.
    pub cpu_time_ns: i64,
    /// How the system treats it: `fifo`, `normal`, `refused` or `unknown`.
    pub class: String,
}

impl EndingRecord {
    pub(crate) fn of(ending: &Ending, exit: Option<Exit>, samples: u64, unwritten: u64) -> EndingRecord {
        let now = Anchor::now();
        EndingRecord {
            exit,
            ended_ns: now.wall.0,
            ended_mono_ns: now.mono.0,
            sensors: ending.sensors.iter().map(SensorRecord::from).collect(),
            remarks: ending.remarks.clone(),
            sampler: SamplerRecord::from(&ending.stats),
            tree_time_ns: ending.tree_time.0,
            own_time_ns: ending.own_time.0,
            samples,
            unwritten,
        }
    }

    pub(crate) fn write(&self, run: &Path) -> Result<(), RunError> {
        replace_json(&run.join(ENDING), self)
    }

    /// The ending of the recording in a folder; `None` when there is none.
    pub(crate) fn read(run: &Path) -> Result<Option<EndingRecord>, RunError> {
        let path = run.join(ENDING);
        if path.exists() { read_json(&path, "the end of a recording").map(Some) } else { Ok(None) }
    }

    pub(crate) fn file(run: &Path) -> std::path::PathBuf {
        run.join(ENDING)
    }
}

impl From<&Stats> for SamplerRecord {
    fn from(stats: &Stats) -> SamplerRecord {
        let nanos = |Nanos(nanos): Nanos| nanos;
        let class = match stats.class {
            Class::Unknown => "unknown",
            Class::Normal => "normal",
            Class::Refused => "refused",
            Class::Fifo => "fifo",
        };
        SamplerRecord {
            wakes: stats.wakes,
            missed: stats.missed,
            overruns: stats.overruns,
            incidents_left_out: stats.incidents_left_out,
            late_p50_ns: nanos(stats.late_p50),
            late_p99_ns: nanos(stats.late_p99),
            late_most_ns: nanos(stats.late_most),
            cpu_time_ns: nanos(stats.cpu_time),
            class: class.to_owned(),
        }
    }
}
