//! Meters: where joules come from.
//!
//! A [`Sensor`] gives raw cumulative readings and nothing else. The [`sampler`] reads all sensors at fixed instants of the
//! monotonic clock; the [`station`] hands samples, shares of process trees and resources to sessions in batches. What they
//! mean as energy is computed in `jouletree-series`. A failed reading is a gap in the data, never filled.

pub mod external;
pub mod hwmon;
pub mod inventory;
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
pub mod share;
mod silence;
pub mod slow;
pub mod station;

pub use once::once;
pub use probe::Probe;
pub use sensor::{Found, ReadError, Reading, Sensor, Unusable};
