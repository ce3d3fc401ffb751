//! The energy of a device or of a part of it over time, and how it came to be known.

use crate::{Device, EnergySeries, Kind, Scope};

/// The energy that one meter counted.
#[derive(Debug, Clone, PartialEq)]
pub struct MeteredSeries {
    /// The device.
    pub device: Device,
    /// The part of the device; `None` for the whole device.
    pub domain: Option<String>,
    /// Whose energy it is.
    pub scope: Scope,
    /// How the numbers came to be.
    pub kind: Kind,
    /// The energy over time.
    pub series: EnergySeries,
}

impl MeteredSeries {
    /// Whether it is all that a device used: no part of it, and not only what a process tree used.
    pub fn is_whole(&self) -> bool {
        self.domain.is_none() && self.scope == Scope::Device
    }
}
