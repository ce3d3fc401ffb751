//! `manifest.json`: what a run is, how it was accounted, and the small parts of it that need no table.

use std::io::Write;
use std::path::Path;

use jiff::Timestamp;
use jouletree_host::whole::PartialFile;
use jouletree_model::{
    Device, DeviceEnergy, Joules, PartEnergy, Process, StageEnergy, Trace, TraceSource, Warning, redacted,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Accounting, Recording, RunContents, RunError, files};

/// The version of the run folder this program writes.
pub const FORMAT_VERSION: u64 = 2;

/// What a run is and how it was accounted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the folder's format.
    pub format_version: u64,
    /// The version of the jouletree that wrote it.
    pub jouletree: String,
    /// When it was written.
    pub created: String,
    /// How it was accounted; `None` when it is a recording of power alone.
    #[serde(flatten)]
    pub accounting: Option<Accounting>,
    /// How its power was recorded; `None` when the power came from elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<Recording>,
    /// The trace files behind it.
    pub sources: Vec<TraceSource>,
    /// The balance of every device.
    pub devices: Vec<DeviceEnergy>,
    /// The balance of every stage that the program marked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageEnergy>,
    /// What the parts of the program's time used. Absent in the runs of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartEnergy>,
    /// The processes that reported something about themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<Process>,
    /// What the tables refer to by number.
    pub trace: TraceHeader,
    /// What the user should know about the input.
    pub warnings: Vec<Warning>,
}

/// The part of a trace that is not events.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceHeader {
    /// Its devices.
    pub devices: Vec<Device>,
    /// Its lanes; `events.parquet` refers to them by index.
    pub lanes: Vec<LaneHeader>,
    /// What was wrong with its files.
    pub warnings: Vec<Warning>,
}

/// A lane without its events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneHeader {
    /// The device it runs on.
    pub device: Device,
    /// What the trace calls it.
    pub label: String,
}

impl Manifest {
    /// The manifest of a recording of power alone.
    pub(crate) fn of_recording(recording: Recording, warnings: Vec<Warning>) -> Manifest {
        Manifest {
            format_version: FORMAT_VERSION,
            jouletree: env!("CARGO_PKG_VERSION").to_owned(),
            created: Timestamp::now().to_string(),
            accounting: None,
            recording: Some(recording),
            sources: Vec::new(),
            devices: Vec::new(),
            stages: Vec::new(),
            parts: Vec::new(),
            processes: Vec::new(),
            trace: TraceHeader::default(),
            warnings,
        }
        .without_secrets()
    }

    pub(crate) fn of(contents: &RunContents<'_>) -> Result<Manifest, RunError> {
        let footprint = contents.footprint;
        for device in &footprint.devices {
            let known = [device.attributed, device.unattributed, device.outside_trace];
            // JSON has no word for infinity.
            if !device.total.into_iter().chain(known).all(|Joules(joules)| joules.is_finite()) {
                return Err(RunError::Inconsistent(format!("an energy of {} is not finite", device.device)));
            }
        }
        Ok(Manifest {
            format_version: FORMAT_VERSION,
            jouletree: env!("CARGO_PKG_VERSION").to_owned(),
            created: Timestamp::now().to_string(),
            accounting: Some(contents.accounting.clone()),
            recording: None,
            sources: footprint.sources.clone(),
            devices: footprint.devices.clone(),
            stages: footprint.stages.clone(),
            parts: footprint.parts.clone(),
            processes: contents.trace.program.processes.clone(),
            trace: TraceHeader::of(contents.trace)?,
            warnings: footprint.warnings.clone(),
        }
        .without_secrets())
    }

    /// The same with command lines redacted. Whatever shows a run takes them from here.
    fn without_secrets(mut self) -> Manifest {
        let accounted = self.accounting.iter_mut().map(|accounting| &mut accounting.command);
        let recorded = self.recording.iter_mut().map(|recording| &mut recording.command);
        let processes = self.processes.iter_mut().map(|process| &mut process.command);
        accounted.chain(recorded).chain(processes).for_each(|command| *command = redacted(command));
        self
    }

    /// Reads and checks the manifest at `path`.
    pub(crate) fn read(path: &Path) -> Result<Manifest, RunError> {
        /// The one field whose meaning never changes.
        #[derive(Deserialize)]
        struct Version {
            format_version: u64,
        }
        let text = files::read_file(path).map_err(RunError::io(path, "read the file"))?;
        let unreadable = |error: serde_json::Error| {
            RunError::content(path, format!("not a manifest of a run ({error}); restore it from a copy"))
        };
        let Version { format_version: found } = serde_json::from_slice(&text).map_err(unreadable)?;
        if found > FORMAT_VERSION {
            return Err(RunError::Newer { path: path.to_owned(), found, known: FORMAT_VERSION });
        }
        let manifest: Manifest = serde_json::from_slice(&text).map_err(unreadable)?;
        if manifest.accounting.is_none() && manifest.recording.is_none() {
            // The fields of the accounting are among the others, and a wrong one takes all of them along.
            let problem = "not a manifest of a run (missing or unknown `command`, `power`, `origin`, `rule` or \
                           `semantics`); restore it from a copy";
            return Err(RunError::content(path, problem));
        }
        // Earlier versions kept commands as they were.
        Ok(manifest.without_secrets())
    }
}

impl TraceHeader {
    fn of(trace: &Trace) -> Result<TraceHeader, RunError> {
        let lanes = trace.lanes.iter().map(|lane| {
            let unknown = || {
                RunError::Inconsistent(format!("lane `{}` is on a device that is not in the trace", lane.label()))
            };
            let device = trace.devices.get(lane.device()).ok_or_else(unknown)?.clone();
            Ok(LaneHeader { device, label: lane.label().to_owned() })
        });
        let lanes = lanes.collect::<Result<_, RunError>>()?;
        Ok(TraceHeader {
            devices: trace.devices.iter().cloned().collect(),
            lanes,
            warnings: trace.warnings.clone(),
        })
    }
}

/// Writes a JSON file for people as much as for programs, and sees to it that it reaches the disk.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), RunError> {
    let text = json(path, value)?;
    let mut file = files::create_file(path).map_err(RunError::io(path, "create the file"))?;
    file.write_all(&text).and_then(|()| file.sync_all()).map_err(RunError::io(path, "write the file"))
}

/// The same for a file that may be there already: it is replaced as a whole or stays as it was.
pub(crate) fn replace_json(path: &Path, value: &impl Serialize) -> Result<(), RunError> {
    let partial = PartialFile::with_mode(path, files::mode_in_folder(path))?;
    partial.write(&json(path, value)?)?;
    Ok(partial.become_whole()?)
}

fn json(path: &Path, value: &impl Serialize) -> Result<Vec<u8>, RunError> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| RunError::Inconsistent(format!("{}: {error}", path.display())))?;
    text.push(b'\n');
    Ok(text)
}

/// Reads a JSON file that should be `what`.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path, what: &str) -> Result<T, RunError> {
    let text = files::read_file(path).map_err(RunError::io(path, "read the file"))?;
    serde_json::from_slice(&text)
        .map_err(|error| RunError::content(path, format!("not {what} ({error}); restore it from a copy")))
}
