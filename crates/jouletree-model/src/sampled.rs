//! What a tool such as `perf stat` or `nvidia-smi` prints about a device at regular intervals, as it prints it.

use crate::{Device, Nanos, PowerSample};

/// The lines a tool printed about one device.
#[derive(Debug, Clone, PartialEq)]
pub struct SampledPower {
    /// The device.
    pub device: Device,
    /// What the values are.
    pub unit: SampleUnit,
    /// When the tool's own clock, on which the samples are stamped, showed zero.
    pub began: Nanos,
    /// The interval at which the tool printed them.
    pub interval: Nanos,
    /// The samples, stamped by the tool's own clock.
    pub samples: Vec<PowerSample>,
}

/// What the values of [`SampledPower`] are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleUnit {
    /// The energy since the line before, in joules.
    Joules,
    /// The power, in watts.
    Watts,
}
