//! What devices used since the recording began, for those who show it while it goes on.

use jouletree_model::{Device, Joules, Kind, Nanos, Watts};

use crate::share::Split;

/// What a device used since the recording began.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceTotal {
    /// The device.
    pub device: Device,
    /// The kind of the numbers.
    pub kind: Kind,
    /// Where its meter was found.
    pub source: String,
    /// All that was counted.
    pub energy: Joules,
    /// Who used it. Ours, others', idle and unknown make all of it.
    pub parts: Split,
    /// How long its energy was known.
    pub known: Nanos,
    /// How long it was not.
    pub unknown: Nanos,
    /// Its mean power over the last second that is known; `None` when nothing was heard of it lately.
    pub power: Option<Watts>,
}
