//! Meters: where joules come from.
//!
//! A [`Sensor`] gives raw cumulative readings and nothing else. [`Counter`] makes an ever-growing count of them, whatever
//! the hardware's counter does: it wraps, stalls, runs backwards, vanishes. The sampler reads all sensors at fixed
//! instants of the monotonic clock; [`Anchors`] tie that clock to the time of day. Energy is what is kept; power is
//! derived. Where a reading is missing there is a gap, and a gap is said, never filled.

mod counter;
pub mod external;
pub mod hwmon;
pub mod inventory;
pub mod live;
pub mod model;
mod number_file;
pub mod nvml;
mod once;
pub mod perf_power;
mod period;
pub mod powercap;
mod probe;
mod proc_stat;
mod remedy;
pub mod resources;
pub mod sampler;
mod sensor;
pub mod series;
pub mod share;
mod silence;
pub mod slow;
pub mod station;

pub use counter::{Advance, Counter, Implausible};
pub use once::once;
pub use probe::Probe;
pub use sensor::{Found, ReadError, Reading, Sensor, Unusable};
