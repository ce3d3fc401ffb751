//! The energy of a device or of a part of it over time, and how it came to be known.

use crate::{Device, EnergySeries, Kind};

/// The energy that one meter counted.
#[derive(Debug, Clone, PartialEq)]
pub struct MeteredSeries {
    /// The device.
    pub device: Device,
    /// The part of the device; `None` for the whole device.
    pub domain: Option<String>,
    /// How the numbers came to be.
    pub kind: Kind,
    /// The energy over time.
    pub series: EnergySeries,
}
