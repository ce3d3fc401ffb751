//! Where a window begins or ends: everything that was counted by then. The energy of a window is the difference of its
//! two edges, whatever lies between them, and adjacent windows add up.

use jouletree_model::{Joules, Nanos, TimeRange};

use crate::share::Split;
use crate::{Estimate, Unsure, bridge};

/// What was counted from the beginning to an instant.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    /// Up to the beginning of the stretch that the instant lies in: exact, however long it is.
    pub(super) microjoules: u64,
    /// From there to the instant.
    pub(super) inside: Joules,
    pub(super) parts: Split,
    pub(super) known: Nanos,
    /// The integral of the squared power.
    pub(super) squares: f64,
    /// What the ends of all stretches of knowledge before this one make unsure.
    pub(super) ends: f64,
}

/// One end of a window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    /// The number of the stretch that it lies in or beside.
    pub(super) number: u64,
    pub(super) sums: Sums,
    /// The variance of the energy up to somewhere in the stretch.
    pub(super) unsure: f64,
    /// The variance of the energy of the stretch, if it is a stall, and the part of it before the edge.
    pub(super) stall: (f64, f64),
    /// Whether nothing is known right before the stretch.
    pub(super) follows_gap: bool,
}

impl Edge {
    /// The energy from this edge to a later one of the same sensor, and whose it was.
    pub(super) fn to(&self, end: &Edge, window: TimeRange, unsure: &Unsure) -> (Estimate, Split) {
        if end.number < self.number || window.is_empty() {
            return (Estimate::NOTHING, Split::default());
        }
        let whole = end.sums.microjoules.saturating_sub(self.sums.microjoules) as f64 * 1e-6;
        let joules = (whole + end.sums.inside.0 - self.sums.inside.0).max(0.0);
        let known = end.sums.known - self.sums.known;
        let mut variance = self.unsure + end.unsure;
        let ((stall, from), (other, to)) = (self.stall, end.stall);
        variance += match end.number > self.number {
            true => stall * bridge(from) + other * bridge(to),
            false => stall * bridge(to - from),
        };
        if end.number > self.number {
            // The stretch of the first edge may end a gap that is before the window, that of the second one inside.
            variance += end.sums.ends - self.sums.ends;
            variance -= if self.follows_gap { self.unsure } else { 0.0 };
            variance += if end.follows_gap { end.unsure } else { 0.0 };
        }
        let coverage = (known.seconds() / window.duration().seconds()).clamp(0.0, 1.0);
        let squares = end.sums.squares - self.sums.squares;
        let estimate = unsure.estimate(joules, squares, known, variance.max(0.0), coverage);
        (estimate, end.sums.parts.without(self.sums.parts))
    }
}
