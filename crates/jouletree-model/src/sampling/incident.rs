//! Incidents: what happened while sampling, one for each change and not for each sample.

use std::fmt;

use super::Mono;
use crate::Nanos;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    /// When it was seen.
    pub at: Mono,
    /// The sensor, by its place among those that are sampled; `None` when it concerns all.
    pub sensor: Option<u16>,
    /// What happened.
    pub what: What,
}

/// What can happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Readings fail from now on, for this reason.
    Lost(String),
    /// Readings are there again.
    Recovered,
    /// The count of a device that is never without power has not moved for so long.
    Still(Nanos),
    /// The count of such a device moves again.
    Moves,
    /// Within a second, so many deadlines were missed and skipped.
    Late {
        /// How many.
        missed: u64,
        /// The longest that a reading was behind its time.
        worst: Nanos,
    },
    /// The time of day was set forward by so much, or back if it is less than zero.
    ClockStep(Nanos),
    /// The machine was suspended for so long.
    Suspend(Nanos),
    /// Sampling ended because of a fault in a sensor's code.
    Ended,
}

impl What {
    /// What sort of incident it is, in one word, as it is written in files.
    pub fn word(&self) -> &'static str {
        match self {
            What::Lost(_) => "lost",
            What::Recovered => "recovered",
            What::Still(_) => "still",
            What::Moves => "moves",
            What::Late { .. } => "late",
            What::ClockStep(_) => "clock-step",
            What::Suspend(_) => "suspend",
            What::Ended => "ended",
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Lost(why) => write!(f, "it cannot be read: {why}"),
            What::Recovered => f.write_str("it can be read again"),
            What::Still(time) => write!(f, "its count has not moved for {time}"),
            What::Moves => f.write_str("its count moves again"),
            What::Late { missed, worst } => {
                let readings = if *missed == 1 { "reading was" } else { "readings were" };
                write!(f, "{missed} {readings} skipped because the system was busy, for up to {worst} at once")
            }
            What::ClockStep(by) if *by < Nanos(0) => write!(f, "the clock was set back by {}", Nanos(0) - *by),
            What::ClockStep(by) => write!(f, "the clock was set forward by {by}"),
            What::Suspend(time) => write!(f, "the machine was suspended for {time}"),
            What::Ended => f.write_str("sampling ended by a fault of jouletree's own; please report it"),
        }
    }
}
