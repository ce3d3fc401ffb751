//! Sensors: whatever counts energy, behind one small trait.

use std::fmt;
use std::io;

use jouletree_model::{Device, Kind, Nanos};

/// Something that counts energy. Reading it must be cheap and must not allocate: it happens up to a thousand times a
/// second.
pub trait Sensor: Send {
    /// What it is.
    fn info(&self) -> &SensorInfo;

    /// Its count in microjoules, as it stands; it may wrap at [`SensorInfo::range`].
    fn read(&mut self) -> Result<u64, ReadError>;
}

/// What is known about a sensor.
#[derive(Debug, Clone, PartialEq)]
pub struct SensorInfo {
    /// What it meters.
    pub device: Device,
    /// The part of the device that it meters, when it is not the whole: a breakdown that is never added to the whole.
    pub domain: Option<String>,
    /// Where it was found, in words that lead a person there.
    pub source: String,
    /// How far from a meter its numbers stand.
    pub kind: Kind,
    /// The largest count before it begins again at zero; `None` when it never does.
    pub range: Option<u64>,
    /// The step in which it counts, in microjoules.
    pub step: f64,
    /// How often the hardware updates it, as far as that is known.
    pub period: Nanos,
    /// More than this many watts cannot be: a count that grows faster was not grown but set.
    pub most_watts: f64,
    /// Whether reading it may take milliseconds, so that it must not hold up the others.
    pub is_slow: bool,
}

/// Why a reading failed.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The sensor is no longer there: its module was unloaded, its card was lost.
    #[error("it is gone ({0})")]
    Gone(String),
    /// The file holds no number.
    #[error("it says `{0}`, which is no count")]
    Garbage(String),
    /// The count is larger than it can be.
    #[error("it says {count}, beyond its range of {range}")]
    OutOfRange {
        /// What it says.
        count: u64,
        /// The most that it can say.
        range: u64,
    },
    /// It tells power and no energy, and nobody looked at it for so long that the energy meanwhile is not known.
    #[error("it tells only power, and was not read for {0}")]
    Unwatched(Nanos),
    /// It did not answer in time.
    #[error("it did not answer within {0}")]
    Late(Nanos),
    /// The system refuses.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// A sensor that was found, usable or not.
pub struct Found {
    /// What it is, or would be.
    pub info: SensorInfo,
    /// The sensor, or why it cannot be used.
    pub sensor: Result<Box<dyn Sensor>, Unusable>,
}

/// Why a sensor cannot be used, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable {
    /// The reason.
    pub reason: String,
    /// The exact command or step that would mend it, if there is one.
    pub remedy: Option<String>,
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.sensor.as_ref().map(|_| "usable");
        f.debug_struct("Found").field("info", &self.info).field("sensor", &state).finish()
    }
}
