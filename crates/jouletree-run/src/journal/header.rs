//! `recording.json`: what is being recorded, on which machine, and by whom.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use jouletree_host::{Now, Roots, began};
use jouletree_model::sampling::{Anchor, Mono, SensorInfo};
use jouletree_model::{Nanos, redacted};
use serde::{Deserialize, Serialize};

use super::samples::is_instant;
use super::sensor::SensorRecord;
use crate::manifest::{FORMAT_VERSION, read_json};
use crate::{RunError, files};

/// The file of the header.
pub(crate) const HEADER: &str = "recording.json";

/// What is being recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordingHeader {
    /// The version of the folder's format.
    pub format_version: u64,
    /// The version of the jouletree that records.
    pub jouletree: String,
    /// The command that is recorded; empty when a process was joined or only the machine is watched.
    pub command: Vec<String>,
    /// The process that is watched.
    pub pid: Option<u32>,
    /// Who records.
    pub recorder: Recorder,
    /// The machine.
    pub host: HostFacts,
    /// The sensors, in the order of the samples' numbers.
    pub sensors: Vec<SensorRecord>,
    /// How often they are read.
    pub period_ns: i64,
    /// Where the tree's processor time comes from.
    pub share_source: Option<String>,
    /// When the recording began, by the time of day.
    pub began_ns: i64,
    /// The same by the monotonic clock.
    pub began_mono_ns: i64,
}

/// The process that records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorder {
    /// Its number.
    pub pid: u32,
    /// When it was started, in ticks since the machine was; `None` when the system does not report it.
    pub started: Option<u64>,
    /// The start of the machine in which that number holds.
    pub boot: Option<String>,
}

/// What is known about a machine; nothing where the system does not report it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Its name.
    pub name: Option<String>,
    /// Its operating system.
    pub os: Option<String>,
    /// The release of its kernel.
    pub kernel: Option<String>,
    /// The model of its processors.
    pub cpu: Option<String>,
    /// How many logical processors it has.
    pub cpus: Option<u64>,
    /// The architecture of its processors.
    #[serde(default)]
    pub arch: Option<String>,
    /// How much memory it has, in bytes.
    #[serde(default)]
    pub memory: Option<u64>,
}

impl RecordingHeader {
    /// The header of a recording that begins now, by this process.
    pub fn new(roots: &Roots, command: Vec<String>, pid: Option<u32>, sensors: &[SensorInfo]) -> RecordingHeader {
        let began = Anchor::now();
        RecordingHeader {
            format_version: FORMAT_VERSION,
            jouletree: env!("CARGO_PKG_VERSION").to_owned(),
            command: redacted(&command),
            pid,
            recorder: Recorder::this(),
            host: HostFacts::of(roots),
            sensors: sensors.iter().map(SensorRecord::from).collect(),
            period_ns: 4_000_000,
            share_source: None,
            began_ns: began.wall.0,
            began_mono_ns: began.mono.0,
        }
    }

    /// The same with sensors read at another period.
    pub fn with_period(self, period: Nanos) -> RecordingHeader {
        RecordingHeader { period_ns: period.0, ..self }
    }

    /// The same with the source of processor time.
    pub fn with_share_source(self, source: Option<String>) -> RecordingHeader {
        RecordingHeader { share_source: source, ..self }
    }

    /// The same of another machine, of which nothing but its name is known, and which began at an instant of its own clocks.
    pub fn of_another(self, name: String, began: Anchor) -> RecordingHeader {
        let host = HostFacts { name: Some(name), ..HostFacts::default() };
        RecordingHeader { host, began_ns: began.wall.0, began_mono_ns: began.mono.0, ..self }
    }

    /// Reads the header of the recording in a folder.
    pub(crate) fn read(run: &Path) -> Result<RecordingHeader, RunError> {
        let path = run.join(HEADER);
        let header: RecordingHeader = read_json(&path, "a header of a recording")?;
        if !is_instant(header.began_ns) || !is_instant(header.began_mono_ns) {
            return Err(RunError::content(&path, "the recording began at no time that can be"));
        }
        Ok(header)
    }

    /// The first tie between the clocks.
    pub(crate) fn anchor(&self) -> Anchor {
        let mono = Mono(self.began_mono_ns);
        Anchor { mono, wall: Nanos(self.began_ns), boot: Nanos(self.began_mono_ns) }
    }
}

impl Recorder {
    fn this() -> Recorder {
        let pid = std::process::id();
        Recorder { pid, started: started(pid), boot: text("/proc/sys/kernel/random/boot_id") }
    }

    /// Whether it is another process that still runs.
    fn runs(&self) -> bool {
        let is_here = self.boot.is_some() && self.boot == text("/proc/sys/kernel/random/boot_id");
        let is_another = self.pid != std::process::id();
        is_here && is_another && self.started.is_some() && self.started == started(self.pid)
    }
}

impl HostFacts {
    /// The facts of this machine.
    pub fn of(roots: &Roots) -> HostFacts {
        let cpuinfo = fs::read_to_string(roots.proc.join("cpuinfo")).unwrap_or_default();
        let value = |line: &str| line.split_once(':').map(|(_, value)| value.trim().to_owned());
        let models = ["model name", "Model", "cpu model"];
        let cpu =
            models.iter().find_map(|name| cpuinfo.lines().find(|line| line.starts_with(name)).and_then(value));
        let cpus = cpuinfo.lines().filter(|line| line.starts_with("processor")).count() as u64;
        let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let os =
            release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).map(|name| name.trim_matches('"'));
        HostFacts {
            name: text(roots.proc.join("sys/kernel/hostname")),
            os: os.map(str::to_owned),
            kernel: text(roots.proc.join("sys/kernel/osrelease")),
            cpu,
            cpus: Some(cpus).filter(|cpus| *cpus > 0),
            arch: Some(std::env::consts::ARCH.to_owned()),
            memory: memory(&fs::read_to_string(roots.proc.join("meminfo")).unwrap_or_default()),
        }
    }
}

/// All memory that the system reports.
fn memory(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Holds a recording for this process alone, as long as the file is open. A recorder does so while it records.
pub(crate) fn lock(run: &Path, header: &RecordingHeader) -> Result<File, RunError> {
    let path = run.join(HEADER);
    let file = files::open_file(&path).map_err(RunError::io(&path, "open the file"))?;
    let is_held = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
    // A file system without locks leaves only the look at the process.
    if is_held || header.recorder.runs() {
        return Err(RunError::StillRecording { path: run.to_owned(), pid: header.recorder.pid });
    }
    Ok(file)
}

/// When a process of this machine was started that has not ended.
fn started(pid: u32) -> Option<u64> {
    began(Path::new("/proc"), pid).ok().flatten()
}

fn text(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}
