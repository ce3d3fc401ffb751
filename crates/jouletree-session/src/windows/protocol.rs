//! The lines that a program and its recorder exchange, one JSON object each; see `docs/windows.md`.

use jouletree_model::sampling::SensorInfo;
use jouletree_model::{Device, Joules, Kind, Nanos};
use jouletree_series::ongoing::{Answer, DeviceEnergy};
use serde::{Deserialize, Serialize};

/// The version of the protocol.
pub const VERSION: u32 = 1;

/// What a program asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// A window begins.
    Open { id: u64, at: Nanos },
    /// A window has ended, and its energy is wanted.
    Close { id: u64, at: Nanos },
    /// What is measured.
    Now,
    /// A client waits for an answer.
    Flush,
    /// The machine is to be stable.
    Rest { id: u64 },
}

/// A line that asks nothing.
#[derive(Debug, thiserror::Error)]
pub enum BadRequest {
    /// It is no JSON of this form.
    #[error("this is no request: {0}; see docs/windows.md")]
    Form(#[from] serde_json::Error),
    /// It asks nothing, or several things.
    #[error("a request has one of `open`, `close`, `rest`, `now` and `hurry`; see docs/windows.md")]
    NotOne,
    /// A window needs an instant.
    #[error("`at_ns` is missing: the instant at which the window begins or ends, in nanoseconds since 1970")]
    NoInstant,
    /// It is in a newer language.
    #[error("this recorder speaks version {VERSION} of the protocol and not {0}; install a newer jouletree")]
    Version(u32),
}

#[derive(Deserialize)]
struct Written {
    version: Option<u32>,
    open: Option<u64>,
    close: Option<u64>,
    rest: Option<u64>,
    #[serde(default)]
    now: bool,
    #[serde(default)]
    hurry: bool,
    at_ns: Option<i64>,
}

impl Request {
    /// Reads a line.
    pub fn read(line: &[u8]) -> Result<Request, BadRequest> {
        let Written { version, open, close, rest, now, hurry, at_ns } = serde_json::from_slice(line)?;
        if let Some(version) = version.filter(|version| *version != VERSION) {
            return Err(BadRequest::Version(version));
        }
        let at = || at_ns.map(Nanos).ok_or(BadRequest::NoInstant);
        match (open, close, rest, now, hurry) {
            (Some(id), None, None, false, false) => Ok(Request::Open { id, at: at()? }),
            (None, Some(id), None, false, false) => Ok(Request::Close { id, at: at()? }),
            (None, None, Some(id), false, false) => Ok(Request::Rest { id }),
            (None, None, None, true, false) => Ok(Request::Now),
            (None, None, None, false, true) => Ok(Request::Flush),
            _ => Err(BadRequest::NotOne),
        }
    }
}

/// What is answered.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// The energy of a window.
    Window { window: u64, complete: bool, devices: Vec<DeviceRow> },
    /// What is measured, and how often.
    Status { now_ns: i64, period_ms: f64, share_source: Option<String>, devices: Vec<MeterRow> },
    /// The machine is stable, or why it is not and the program need not wait any longer.
    Rest { rest: u64, why: Option<String>, waited_s: f64 },
    /// Why there is no other answer.
    Error { error: String, window: Option<u64> },
}

/// A device in the answer to a window.
#[derive(Debug, Serialize)]
pub struct DeviceRow {
    device: Device,
    kind: Kind,
    energy_j: Joules,
    low_j: Joules,
    high_j: Joules,
    ours_j: Joules,
    others_j: Joules,
    idle_j: Joules,
    unknown_j: Joules,
    coverage: f64,
}

/// A device that is measured.
#[derive(Debug, Clone, Serialize)]
pub struct MeterRow {
    device: Device,
    kind: Kind,
    source: String,
}

impl Reply {
    /// The answer about a window that its program calls `window`.
    pub fn to_window(window: u64, answer: Answer) -> Reply {
        Reply::Window {
            window,
            complete: answer.complete,
            devices: answer.devices.into_iter().map(Into::into).collect(),
        }
    }

    /// It as a line.
    pub fn line(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct Line<'a> {
            version: u32,
            #[serde(flatten)]
            reply: &'a Reply,
        }
        // Plain data is always written.
        let mut line = serde_json::to_vec(&Line { version: VERSION, reply: self }).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

impl From<DeviceEnergy> for DeviceRow {
    fn from(DeviceEnergy { device, kind, energy, parts }: DeviceEnergy) -> DeviceRow {
        DeviceRow {
            device,
            kind,
            energy_j: energy.joules,
            low_j: energy.low,
            high_j: energy.high,
            ours_j: parts.ours,
            others_j: parts.others,
            idle_j: parts.idle,
            unknown_j: parts.unknown,
            coverage: energy.coverage,
        }
    }
}

impl From<&SensorInfo> for MeterRow {
    fn from(info: &SensorInfo) -> MeterRow {
        MeterRow { device: info.device.clone(), kind: info.kind, source: info.source.clone() }
    }
}
