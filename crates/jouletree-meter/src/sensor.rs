//! Sensors: whatever counts energy, behind one small trait.

use std::fmt;
use std::io;

use jouletree_model::{Device, Kind, Nanos};

use crate::Mono;

/// Something that counts energy. Reading it must be cheap and must not allocate: it happens up to a thousand times a
/// second.
pub trait Sensor: Send {
    /// What it is. A sensor that learns about itself while it is read changes this.
    fn info(&self) -> &SensorInfo;

    /// Its count in microjoules, as it stands; it may wrap at [`SensorInfo::range`].
    fn read(&mut self) -> Result<u64, ReadError>;

    /// Its count and the instant at which it stood there. A sensor that knows this better than "now" says so, and says
    /// the same instant again as long as it knows nothing new.
    fn reading(&mut self) -> Result<Reading, ReadError> {
        let microjoules = self.read()?;
        Ok(Reading { at: Mono::now(), microjoules })
    }

    /// What a person should know about its readings so far; nothing when all is as it should be.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A count at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// When the count stood there.
    pub at: Mono,
    /// The count.
    pub microjoules: u64,
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
    /// How far its numbers can be trusted, beyond their kind.
    pub quality: Quality,
}

impl SensorInfo {
    /// Whether its count may stand still although it is well: that of a part, which can be switched off, and that of a
    /// meter that tells power, which can be none. The counter of a whole processor or of its memory never rests.
    pub fn may_rest(&self) -> bool {
        self.domain.is_some() || self.range.is_none()
    }
}

/// How far the numbers of a sensor can be trusted. By default they come without delay, and nothing is known of the rest.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Quality {
    /// How long after the fact a reading shows it: what is read at an instant was used this much earlier.
    pub lag: Nanos,
    /// The part of the time that enters its readings; `None` when nobody knows.
    pub coverage: Option<f64>,
    /// What its count is to be multiplied by to reach the 5th and the 95th percentile of what it may have been;
    /// `None` when nobody knows.
    pub bounds: Option<Bounds>,
}

/// Factors that lead from a number to the ends of its 90 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// To the 5th percentile, at most one.
    pub low: f64,
    /// To the 95th percentile, at least one.
    pub high: f64,
}

/// From the ends of a normal 90 % interval to those of the 95 % interval.
const FROM_90_TO_95: f64 = 1.96 / 1.645;

impl Bounds {
    /// The factors that lead to the ends of the 95 % interval, which is the one that people are shown.
    pub fn at_95(self) -> Bounds {
        Bounds { low: self.low.powf(FROM_90_TO_95), high: self.high.powf(FROM_90_TO_95) }
    }
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
    /// Its count stands still although the device draws power.
    #[error("its count has not moved for {0} although the device draws power")]
    Stuck(Nanos),
    /// It did not answer in time.
    #[error("it did not answer within {0}")]
    Late(Nanos),
    /// The system refuses.
    #[error("{0}")]
    System(#[from] io::Error),
}

impl ReadError {
    /// The same error, to be told once more: errors of the system cannot be copied.
    pub fn again(&self) -> ReadError {
        match self {
            ReadError::Gone(why) => ReadError::Gone(why.clone()),
            ReadError::Garbage(text) => ReadError::Garbage(text.clone()),
            ReadError::OutOfRange { count, range } => ReadError::OutOfRange { count: *count, range: *range },
            ReadError::Unwatched(time) => ReadError::Unwatched(*time),
            ReadError::Stuck(time) => ReadError::Stuck(*time),
            ReadError::Late(time) => ReadError::Late(*time),
            ReadError::System(error) => ReadError::System(io::Error::new(error.kind(), error.to_string())),
        }
    }
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
    /// What would mend it, if anything does: a sentence, and in lines that begin with four spaces the exact commands.
    pub remedy: Option<String>,
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.sensor.as_ref().map(|_| "usable");
        f.debug_struct("Found").field("info", &self.info).field("sensor", &state).finish()
    }
}
