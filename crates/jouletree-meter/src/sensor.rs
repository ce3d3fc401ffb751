//! Sensors: whatever counts energy, behind one small trait.

use std::fmt;
use std::io;

use jouletree_host::Now;
use jouletree_model::Nanos;
use jouletree_model::sampling::{Mono, SensorInfo};

/// Something that counts energy. Reading it must be cheap and must not allocate: it happens up to a thousand times a
/// second.
pub trait Sensor: Send {
    /// What it is. A sensor that learns about itself while it is read changes this.
    fn info(&self) -> &SensorInfo;

    /// Its count in microjoules; it may wrap at [`SensorInfo::range`].
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
    /// It reports power and no energy, and was not read for so long that the energy meanwhile is not known.
    #[error("it reports only power, and was not read for {0}")]
    Unwatched(Nanos),
    /// Its count does not change although the device draws power.
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
    /// The same error, to be reported once more: errors of the system cannot be copied.
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
