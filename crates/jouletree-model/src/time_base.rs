//! Time bases: what ties the clock of a trace file to the time of day.

use serde::{Deserialize, Serialize};

use crate::Nanos;

/// What ties the times in a file to the Unix epoch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum TimeBase {
    /// Nothing: times count from an unknown instant. They cannot be aligned with power.
    #[default]
    Relative,
    /// They count from a known instant.
    Epoch {
        /// The instant from which times in the file count; zero when they are times of day already.
        base: Nanos,
        /// Its origin.
        origin: BaseOrigin,
        /// How far off it may be, either way.
        within: Nanos,
    },
}

/// Where a time base was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BaseOrigin {
    /// In the file itself.
    File,
    /// A marker event that carries the time of day at which it was written.
    Marker,
    /// The user.
    Given,
    /// A `.meta.json` file beside the trace.
    Sidecar,
}

impl BaseOrigin {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            BaseOrigin::File => "the file",
            BaseOrigin::Marker => "a marker event",
            BaseOrigin::Given => "--base-ns",
            BaseOrigin::Sidecar => "the .meta.json beside the file",
        }
    }
}

impl TimeBase {
    /// The instant from which times in the file count; zero when unknown.
    pub fn base(&self) -> Nanos {
        match self {
            TimeBase::Relative => Nanos(0),
            TimeBase::Epoch { base, .. } => *base,
        }
    }

    /// Whether times can be compared with those of other files.
    pub fn is_epoch(&self) -> bool {
        matches!(self, TimeBase::Epoch { .. })
    }
}

/// An event that carries the time of day at which it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// The time of day that it carries.
    pub wall: Nanos,
    /// When it began by the trace's clock, moved to the trace's base.
    pub at: Nanos,
}
