//! Energy that waits for the shares by which it is split: shares of a stretch of time are reported after its energy.

use std::collections::VecDeque;

use jouletree_model::Nanos;
use jouletree_model::sampling::Mono;

use super::Increment;
use crate::WallPoint;

/// What happens to energy whose shares do not come within the timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SharesLate {
    /// Each piece waits for the timeout by itself, so that most of what follows is still split when shares come late.
    EachExpires,
    /// Shares are taken as missing, and nothing waits until some are reported again: who asks is not delayed.
    NoneWaits,
}

/// Pieces of energy in the order of time, until their shares are known or the timeout is over.
#[derive(Debug, Clone)]
pub struct AwaitingShares<T> {
    timeout: Nanos,
    late: SharesLate,
    waiting: VecDeque<T>,
}

/// What has an end in time.
pub trait Ends {
    /// The last instant of it.
    fn end(&self) -> Mono;
}

impl<T: Ends> AwaitingShares<T> {
    /// Nothing waits yet.
    pub fn new(timeout: Nanos, late: SharesLate) -> AwaitingShares<T> {
        AwaitingShares { timeout, late, waiting: VecDeque::new() }
    }

    /// Takes more energy, later than that before.
    pub fn extend(&mut self, more: impl IntoIterator<Item = T>) {
        self.waiting.extend(more);
    }

    /// Up to when energy need not wait, given when a share was last reported; `None` when nothing waits.
    pub fn known_until(&self, reported: Option<Mono>, now: Mono) -> Option<Mono> {
        match self.late {
            SharesLate::EachExpires => reported.max(Some(Mono(now.0.saturating_sub(self.timeout.0)))),
            SharesLate::NoneWaits => reported.filter(|reported| now - *reported < self.timeout),
        }
    }

    /// Takes out what need not wait any more.
    pub fn settled(&mut self, reported: Option<Mono>, now: Mono) -> Vec<T> {
        let until = self.known_until(reported, now).unwrap_or(now);
        let settled = self.waiting.partition_point(|piece| piece.end() <= until);
        self.waiting.drain(..settled).collect()
    }

    /// Takes out everything, because no more shares will come.
    pub fn take_all(&mut self) -> Vec<T> {
        std::mem::take(&mut self.waiting).into()
    }

    /// What waits.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.waiting.iter()
    }
}

impl Ends for Increment {
    fn end(&self) -> Mono {
        self.to
    }
}

impl Ends for WallPoint {
    fn end(&self) -> Mono {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use jouletree_model::Joules;
    use proptest::prelude::*;

    use super::*;

    const TIMEOUT: Nanos = Nanos(2000);

    fn piece(number: i64) -> Increment {
        Increment { from: Mono(100 * number), to: Mono(100 * (number + 1)), energy: Joules(number as f64) }
    }

    fn ends(settled: &[Increment]) -> Option<i64> {
        settled.last().map(|piece| piece.to.0)
    }

    #[test]
    fn late_shares_leave_one_piece_or_all_unknown() {
        for (late, end) in [(SharesLate::EachExpires, 1000), (SharesLate::NoneWaits, 3000)] {
            let mut waiting = AwaitingShares::new(TIMEOUT, late);
            waiting.extend((0..30).map(piece));
            assert_eq!(ends(&waiting.settled(Some(Mono(500)), Mono(2000))), Some(500), "{late:?}");
            assert_eq!(ends(&waiting.settled(Some(Mono(500)), Mono(2400))), None);
            assert_eq!(ends(&waiting.settled(Some(Mono(500)), Mono(3000))), Some(end), "{late:?}");
            assert_eq!(waiting.iter().count(), 30 - end as usize / 100);
            waiting.take_all();
            assert_eq!(waiting.iter().count(), 0);
        }
    }

    #[test]
    fn before_any_share_energy_waits_only_where_some_are_expected() {
        let expired = AwaitingShares::<Increment>::new(TIMEOUT, SharesLate::EachExpires);
        assert_eq!(expired.known_until(None, Mono(2500)), Some(Mono(500)));
        let missing = AwaitingShares::<Increment>::new(TIMEOUT, SharesLate::NoneWaits);
        assert_eq!(missing.known_until(None, Mono(2500)), None);
        assert_eq!(missing.known_until(Some(Mono(2400)), Mono(2500)), Some(Mono(2400)));
    }

    proptest! {
        /// Every piece comes out once, in order, and none whose share may still come.
        #[test]
        fn no_piece_is_lost_or_early(each: bool, steps in prop::collection::vec((0..400_i64, 0..600_i64, 0..4_i64), 1..60)) {
            let late = if each { SharesLate::EachExpires } else { SharesLate::NoneWaits };
            let mut waiting = AwaitingShares::new(TIMEOUT, late);
            let (mut now, mut reported, mut number, mut out) = (0, None, 0, Vec::new());
            for (more, behind, is_reported) in steps {
                now += more;
                let fresh = now / 100;
                waiting.extend((number..fresh).map(piece));
                number = fresh;
                if is_reported == 0 {
                    reported = reported.max(Some(Mono(now - behind)));
                }
                let settled = waiting.settled(reported, Mono(now));
                for piece in &settled {
                    let is_known = reported.is_some_and(|reported| piece.to <= reported);
                    let is_late = reported.is_none_or(|reported| now - reported.0 >= TIMEOUT.0);
                    prop_assert!(is_known || is_late || (each && now - piece.to.0 >= TIMEOUT.0), "{piece:?} {now}");
                }
                out.extend(settled);
            }
            out.extend(waiting.take_all());
            prop_assert_eq!(out, (0..number).map(piece).collect::<Vec<_>>());
        }
    }
}
