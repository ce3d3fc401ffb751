//! What equal shares say about windows: how long each operation was active, divided by the number of active lanes, when it
//! happened that is seen in a window.

use jouletree_model::{OpId, PowerSpan, TimeRange};

use super::kernel::Kernel;
use super::windows::{Windows, after};
use crate::attribution::Observed;

/// The spans of what is seen in windows, when it happened; energies are those of the windows.
pub(super) fn happened(windows: &Windows, kernel: &Kernel) -> Vec<PowerSpan> {
    let at = |seen: f64| after(windows.origin, kernel.before(seen));
    let span = |((from, to), joules): (&(f64, f64), &f64)| {
        let range = TimeRange { start: at(*from), end: at(*to) };
        PowerSpan { range, power: jouletree_model::Joules(*joules) / range.duration() }
    };
    windows.ranges.iter().zip(&windows.joules).map(span).collect()
}

/// A piece of a window in which the same operations are active.
pub(super) struct Share<'a> {
    pub(super) window: usize,
    pub(super) seconds: f64,
    pub(super) active: &'a [(usize, OpId)],
}

/// Visits the pieces of spans, in order.
pub(super) fn each_share(observed: &Observed<'_>, spans: &[PowerSpan], mut visit: impl FnMut(Share<'_>)) {
    Observed { spans, ..*observed }.each_piece(|piece| {
        let seconds = piece.range.duration().0 as f64 * 1e-9;
        visit(Share { window: piece.span, seconds, active: piece.active });
    });
}
