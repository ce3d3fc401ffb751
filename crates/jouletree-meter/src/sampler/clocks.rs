//! The clocks beside each other: anchors, steps of the time of day, suspends.

use jouletree_host::Now;
use jouletree_model::Nanos;
use jouletree_model::sampling::{Anchor, Mono, was_set};

/// Anchors are taken so often.
const BETWEEN_ANCHORS: Nanos = Nanos(1_000_000_000);
/// The clocks that cannot be set agree to this, unless the machine was suspended.
const SUSPEND: Nanos = Nanos(1_000_000);
/// Clocks that were read further apart than this, because something came between, do not make an anchor.
const TIGHT: Nanos = Nanos(100_000);

/// What the clocks say at a wake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ClockChanges {
    /// An anchor to keep.
    pub anchor: Option<Anchor>,
    /// By how much the time of day was set.
    pub step: Option<Nanos>,
    /// How long the machine was suspended.
    pub suspend: Option<Nanos>,
}

/// What the clocks said last.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    last: Option<Anchor>,
}

impl Clocks {
    /// Looks at the clocks, unless something came between.
    pub fn look(&mut self) -> ClockChanges {
        let anchor = Anchor::now();
        if Mono::now() - anchor.mono > TIGHT { ClockChanges::default() } else { self.judge(anchor) }
    }

    fn judge(&mut self, now: Anchor) -> ClockChanges {
        let Some(last) = self.last else {
            self.last = Some(now);
            return ClockChanges { anchor: Some(now), ..ClockChanges::default() };
        };
        let passed = now.mono - last.mono;
        let suspend = Some(now.boot - last.boot - passed).filter(|time| *time > SUSPEND);
        // The time of day goes on during a suspend: only what is left was set.
        let moved = now.wall - last.wall - passed - suspend.unwrap_or(Nanos(0));
        let step = Some(moved).filter(|by| was_set(*by, passed));
        let is_due = passed >= BETWEEN_ANCHORS || step.is_some() || suspend.is_some();
        if is_due {
            self.last = Some(now);
        }
        ClockChanges { anchor: is_due.then_some(now), step, suspend }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn at(mono: i64, wall: i64, boot: i64) -> Anchor {
        Anchor { mono: Mono(mono), wall: Nanos(wall), boot: Nanos(boot) }
    }

    #[test]
    fn steps_and_suspends_are_told_apart_and_slewing_is_neither() {
        let mut clocks = Clocks::default();
        let hour = 3600 * S;
        assert_eq!(clocks.judge(at(0, 100 * S, 0)).anchor, Some(at(0, 100 * S, 0)));
        // Little time: nothing to say.
        assert_eq!(clocks.judge(at(S / 2, 100 * S + S / 2, S / 2)), ClockChanges::default());
        // Slewed as fast as the system does.
        let slewed = at(S, 101 * S + 500_000, S);
        assert_eq!(clocks.judge(slewed), ClockChanges { anchor: Some(slewed), ..ClockChanges::default() });
        // After a stall of a minute slewing has moved it further.
        let mut stalled = Clocks::default();
        stalled.judge(at(0, 100 * S, 0));
        let late = at(60 * S, 160 * S + 30_000_000, 60 * S);
        assert_eq!(stalled.judge(late), ClockChanges { anchor: Some(late), ..ClockChanges::default() });
        // Set back by an hour.
        let back = at(S + 4_000_000, 101 * S + 4_500_000 - hour, S + 4_000_000);
        let look = clocks.judge(back);
        assert_eq!((look.step, look.suspend, look.anchor), (Some(Nanos(-hour)), None, Some(back)));
        // Suspended for an hour: the time of day goes on.
        let woken = at(S + 8_000_000, 101 * S + 8_500_000, S + 8_000_000 + hour);
        let look = clocks.judge(woken);
        assert_eq!((look.step, look.suspend, look.anchor), (None, Some(Nanos(hour)), Some(woken)));
    }
}
