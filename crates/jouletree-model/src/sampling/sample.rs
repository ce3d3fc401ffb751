//! Samples: what one reading of one sensor said.

use std::collections::BTreeSet;
use std::ops::BitOr;

use super::Mono;

/// One reading of one sensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The sensor, by its place among those that are sampled.
    pub sensor: u16,
    /// What there is to say about it.
    pub flags: Flags,
    /// When the count stood there: in the middle of the reading, or when the sensor says.
    pub at: Mono,
    /// The count in microjoules, as the sensor gives it; zero and without meaning in a gap.
    pub count: u64,
}

const _: () = assert!(size_of::<Sample>() == 24);

/// What there is to say about a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u16);

impl Flags {
    /// The reading failed: from the sample before to the next one nothing is known.
    pub const GAP: Flags = Flags(1);
    /// It was read more than a period after its time.
    pub const LATE: Flags = Flags(2);
    /// It does not follow from the sample before: the machine was suspended between them, or a reading that failed
    /// between them was dropped. What was used meanwhile is not known.
    pub const APART: Flags = Flags(4);
    /// The sensor itself says when the count stood there, which is before it was read.
    pub const STAMPED: Flags = Flags(8);

    /// Whether all of these are set.
    pub fn has(self, flags: Flags) -> bool {
        self.0 & flags.0 == flags.0
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// Flags the next sample of each sensor in `torn`, whose dropped sample was a gap marker, and removes the sensor: the next
/// count makes up for a dropped count, but not for a dropped gap.
pub fn mark_gaps(torn: &mut BTreeSet<u16>, samples: &mut [Sample]) {
    for sample in samples {
        if torn.is_empty() {
            return;
        }
        if torn.remove(&sample.sensor) {
            sample.flags = sample.flags | Flags::APART;
        }
    }
}
