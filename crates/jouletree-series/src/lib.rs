//! From samples to energy over time: series, windows with their uncertainty, energy split by shares.
//!
//! Pure computation on the vocabulary of `jouletree-model`: no sensor, no file and no clock is read here. [`Counter`] makes
//! an ever-growing count of raw readings, and [`EnergyCount`] interprets samples for all who count energy; [`share`] splits
//! energy among a process tree, others and idle CPUs, and keeps it until its shares are known; [`ongoing`] keeps the last
//! seconds of a recording and answers questions about windows; [`DeviceSeries`] works through a whole recording.
//!
//! [`SeriesBuilder`] makes an [`EnergySeries`](jouletree_model::EnergySeries) of one sensor's samples. What it keeps
//! are **changes** of the count: a counter moves at its own tick, and a reading that equals the one before says only
//! that there was no tick between them. Energy is linear from one change to the next, so none is lost or made up: the
//! energy of a series without gaps is exactly what its counter gained from the first point to the last.
//!
//! A point lies where its tick most probably was: in the middle between the reading that shows it and the one before,
//! and no more than half a tick before the reading. Without this every window in which power rises would be too small.
//!
//! A **stall** is a time without samples: the reader was not scheduled, or a batch was dropped. The counter counts on, so
//! the energy of a stall is known and only its course is not: it is one linear piece, up to the time in which the counter
//! may wrap twice. The first count after a stall may be older than its reading, so the piece ends at the next change.
//!
//! There is a **gap**, in which nothing is known, where a reading failed, where the count moved as it cannot have, where
//! a stall is longer than the counter's range allows, where the machine was suspended, where the time of day was set, and
//! where an always-on counter was stuck. Energy that is computed from readings of power has a gap where the
//! reader was late. The energy in a gap is not in the series.
//!
//! [`Windows`] gives the energy of a window with an interval that holds it in 95 of 100 cases, and [`Whole`] that of a
//! recording that is too long to be kept: the builder hands out its points as it goes.

mod builder;
mod charge;
mod counter;
mod energy_count;
pub mod ongoing;
pub mod share;
mod stillness;
mod wall;
mod whole;
mod windows;

use jouletree_model::Nanos;
use jouletree_model::sampling::SensorInfo;

pub use builder::{Gap, Point, SeriesBuilder};
pub use charge::{Charged, DeviceBalance, DeviceSeries, Unbalanced};
pub use counter::{Advance, Counter, Implausible};
pub use energy_count::{CountStep, EnergyCount, Progress, Why};
pub use stillness::Stillness;
pub use wall::{OnWall, WallPoint};
pub use whole::Whole;
pub use windows::{Estimate, Windows};
pub(crate) use windows::{Unsure, bridge};

/// The least threshold for a count that does not change.
const STILL: Nanos = Nanos(250_000_000);
/// A sensor that is updated seldom is given so many of its periods.
const STILL_PERIODS: i64 = 4;

/// Readings further apart than this do not show the course of the power between them, unless the sensor is slower.
const COURSE: Nanos = Nanos(20_000_000);
/// A sensor that is updated or read seldom is given so many of its periods.
const COURSE_PERIODS: i64 = 4;

/// Threshold for a count that does not change: after it an always-on counter is stuck, and others are idle.
pub(crate) fn still_after(info: &SensorInfo) -> Nanos {
    Nanos(info.period.0.saturating_mul(STILL_PERIODS)).max(STILL)
}

/// The longest time between two readings that shows the course of the power, for a sensor with updates or readings once
/// in a period.
pub(crate) fn course_shown(period: Nanos) -> Nanos {
    Nanos(period.0.saturating_mul(COURSE_PERIODS)).max(COURSE)
}
