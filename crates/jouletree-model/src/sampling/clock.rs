//! Instants: samples are stamped by the monotonic clock, which cannot be set; anchors tie it to the time of day.

use std::ops::Sub;

use crate::Nanos;

/// The time of day was not set if it moved by fewer nanoseconds than this.
const LEAST_STEP: u64 = 1_000_000;

/// An instant of the monotonic clock, in nanoseconds since some instant before the machine started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Mono(pub i64);

impl Sub for Mono {
    type Output = Nanos;
    fn sub(self, other: Mono) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

/// One instant by three clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    /// By the monotonic clock, which stops while the machine is suspended.
    pub mono: Mono,
    /// By the time of day, which can be set.
    pub wall: Nanos,
    /// By the clock that goes on while the machine is suspended.
    pub boot: Nanos,
}

/// What ties the monotonic clock to the time of day over a recording.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Anchors {
    anchors: Vec<Anchor>,
}

impl Anchors {
    /// Adds an anchor, later than those before.
    pub fn push(&mut self, anchor: Anchor) {
        self.anchors.push(anchor);
    }

    /// Drops the anchors that are not needed for times from an instant on.
    pub fn forget_before(&mut self, at: Mono) {
        let after = self.anchors.partition_point(|anchor| anchor.mono <= at);
        self.anchors.drain(..after.saturating_sub(1));
    }

    /// All of them, in the order of time.
    pub fn as_slice(&self) -> &[Anchor] {
        &self.anchors
    }

    /// The time of day at an instant, by the last anchor before it, or the first of all. After the clock was set, times
    /// go on from the new time of day: that is what the trace's clock does, too.
    pub fn wall(&self, at: Mono) -> Option<Nanos> {
        let after = self.anchors.partition_point(|anchor| anchor.mono <= at);
        let anchor = self.anchors.get(after.saturating_sub(1))?;
        Some(anchor.wall + (at - anchor.mono))
    }
}

/// Whether the time of day was set, where it `moved` against the monotonic clock while some time passed. It is slewed by
/// half a millisecond in a second at most.
pub fn was_set(moved: Nanos, passed: Nanos) -> bool {
    moved.0.unsigned_abs() > LEAST_STEP.max(passed.0.unsigned_abs() / 1000)
}
