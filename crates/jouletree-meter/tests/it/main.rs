//! The tests of this crate from outside, in one program: linking it is what takes time.

#![allow(clippy::panic, clippy::unwrap_used)]

mod external;
mod hwmon;
mod model;
mod nvml;
mod perf_power;
mod powercap_energy;
mod powercap_faults;
mod powercap_layouts;
mod sampler;
mod sampler_limits;
mod series_bounds;
mod share;
mod station;
mod worker;
