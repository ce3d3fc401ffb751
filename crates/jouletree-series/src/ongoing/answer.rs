//! The answer about a window.

use jouletree_model::{Device, Kind};

use crate::Estimate;
use crate::share::Split;

/// The energy of a window.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The window.
    pub id: u64,
    /// Whether the meters were heard from its beginning to its end. The coverage shows a gap in between.
    pub complete: bool,
    /// Every device that is metered as a whole.
    pub devices: Vec<DeviceEnergy>,
}

/// The energy of a device during a window.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceEnergy {
    /// The device.
    pub device: Device,
    /// The kind of the numbers.
    pub kind: Kind,
    /// The energy of the whole device.
    pub energy: Estimate,
    /// Who used it. Ours, others', idle and unknown make all of it.
    pub parts: Split,
}
