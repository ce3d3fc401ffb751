//! Calls inside calls: what each used itself and what with everything inside it, so that nothing is counted twice.
//!
//! At each instant the energy belongs to the calls that run and have no running call inside them; several of those, on
//! several threads, share it equally. What is used while no call runs is outside. The parts make up the whole:
//! exclusive energies of all calls + outside = total.

use jouletree_model::{EnergySeries, Joules, Nanos, TimeRange};

use crate::EnergyIndex;

/// What calls used of one device.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Nested {
    /// What each call used itself.
    pub exclusive: Vec<Joules>,
    /// What each call used with the calls inside it.
    pub inclusive: Vec<Joules>,
    /// What was used while no call ran.
    pub outside: Joules,
    /// What of that was used before the first call; all of it without calls.
    pub before: Joules,
    /// What of that was used after the last.
    pub after: Joules,
    /// What was used in all.
    pub total: Joules,
}

/// What a call's place in time and in other calls is.
pub type CallPosition = (TimeRange, Option<usize>);

/// Something that happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Ends,
    Begins,
}

/// The energy of calls, given as their times and the index of the call around each, which precedes it. A parent that
/// does not precede its child is none.
pub fn nested(series: &EnergySeries, calls: &[CallPosition]) -> Nested {
    let index = EnergyIndex::from(series);
    let mut changes: Vec<(Nanos, Change, usize)> = Vec::with_capacity(2 * calls.len());
    for (call, (range, _)) in calls.iter().enumerate().filter(|(_, (range, _))| !range.is_empty()) {
        changes.push((range.start, Change::Begins, call));
        changes.push((range.end, Change::Ends, call));
    }
    changes.sort_unstable();

    let mut sweep = Sweep::new(calls);
    let mut now: Option<Nanos> = None;
    for (time, change, call) in changes {
        if let Some(now) = now {
            sweep.pass(index.between(TimeRange { start: now, end: time }));
        }
        now = Some(time);
        sweep.change(call, change);
    }
    let total = series.total();
    let mut inclusive = sweep.exclusive.clone();
    for call in (0..calls.len()).rev() {
        let used = inclusive.get(call).copied().unwrap_or_default();
        if let Some(parent) = sweep.parent(call).and_then(|parent| inclusive.get_mut(parent)) {
            *parent += used;
        }
    }
    let inside: Joules = sweep.exclusive.iter().copied().sum();
    let real = || calls.iter().map(|(range, _)| *range).filter(|range| !range.is_empty());
    let first = real().map(|range| range.start).min().unwrap_or(Nanos::MAX);
    let last = real().map(|range| range.end).max().unwrap_or(Nanos::MAX);
    Nested {
        exclusive: sweep.exclusive,
        inclusive,
        outside: total - inside,
        before: index.between(TimeRange { start: Nanos::MIN, end: first }),
        after: index.between(TimeRange { start: last, end: Nanos::MAX }),
        total,
    }
}

/// The state of all calls at an instant.
struct Sweep<'a> {
    calls: &'a [CallPosition],
    is_running: Vec<bool>,
    /// How many calls run inside each, however deep.
    inside: Vec<usize>,
    /// How many calls share the energy.
    sharing: usize,
    /// What a call that has been sharing for ever would have got.
    price: Joules,
    /// The price at which each call that shares began to.
    since: Vec<Joules>,
    exclusive: Vec<Joules>,
}

impl<'a> Sweep<'a> {
    fn new(calls: &'a [CallPosition]) -> Sweep<'a> {
        let count = calls.len();
        Sweep {
            calls,
            is_running: vec![false; count],
            inside: vec![0; count],
            sharing: 0,
            price: Joules::ZERO,
            since: vec![Joules::ZERO; count],
            exclusive: vec![Joules::ZERO; count],
        }
    }

    fn parent(&self, call: usize) -> Option<usize> {
        self.calls.get(call).and_then(|(_, parent)| *parent).filter(|parent| *parent < call)
    }

    fn pass(&mut self, energy: Joules) {
        if self.sharing > 0 {
            self.price += Joules(energy.0 / self.sharing as f64);
        }
    }

    fn is_sharing(&self, call: usize) -> bool {
        self.is_running.get(call) == Some(&true) && self.inside.get(call) == Some(&0)
    }

    fn change(&mut self, call: usize, change: Change) {
        let begins = change == Change::Begins;
        self.with(call, |sweep| {
            if let Some(running) = sweep.is_running.get_mut(call) {
                *running = begins;
            }
        });
        let mut around = self.parent(call);
        while let Some(outer) = around {
            self.with(outer, |sweep| {
                if let Some(inside) = sweep.inside.get_mut(outer) {
                    *inside = if begins { *inside + 1 } else { inside.saturating_sub(1) };
                }
            });
            around = self.parent(outer);
        }
    }

    /// Changes the state of a call and settles what follows from it.
    fn with(&mut self, call: usize, change: impl FnOnce(&mut Self)) {
        let was_sharing = self.is_sharing(call);
        change(self);
        let price = self.price;
        match (was_sharing, self.is_sharing(call), self.since.get_mut(call), self.exclusive.get_mut(call)) {
            (false, true, Some(since), _) => {
                *since = price;
                self.sharing += 1;
            }
            (true, false, Some(since), Some(exclusive)) => {
                *exclusive += price - *since;
                self.sharing = self.sharing.saturating_sub(1);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: i64 = 1_000_000_000;

    /// Power of so many watts in each second.
    fn series(watts: &[f64]) -> EnergySeries {
        let mut series = EnergySeries::default();
        let mut energy = 0.0;
        series.push(Nanos(0), Joules(0.0), false).unwrap();
        for (second, watts) in watts.iter().enumerate() {
            energy += watts;
            series.push(Nanos((second as i64 + 1) * SECOND), Joules(energy), false).unwrap();
        }
        series
    }

    fn range(start: f64, end: f64) -> TimeRange {
        let time = |seconds: f64| Nanos((seconds * SECOND as f64) as i64);
        TimeRange { start: time(start), end: time(end) }
    }

    #[track_caller]
    fn assert_close(found: &[Joules], wanted: &[f64]) {
        let close = |(found, wanted): (&Joules, &f64)| (found.0 - wanted).abs() < 1e-9;
        assert!(found.len() == wanted.len() && found.iter().zip(wanted).all(close), "{found:?} {wanted:?}");
    }

    #[test]
    fn a_call_inside_a_call_is_counted_once() {
        let series = series(&[1.0, 2.0, 4.0, 8.0, 16.0]);
        let calls = [(range(1.0, 4.0), None), (range(2.0, 3.5), Some(0)), (range(2.5, 3.0), Some(1))];
        let nested = nested(&series, &calls);
        assert_close(&nested.exclusive, &[2.0 + 4.0, 2.0 + 4.0, 2.0]);
        assert_close(&nested.inclusive, &[14.0, 8.0, 2.0]);
        assert_close(&[nested.outside, nested.before, nested.after, nested.total], &[17.0, 1.0, 16.0, 31.0]);
        let none = super::nested(&series, &[]);
        assert_close(&[none.outside, none.before, none.after], &[31.0, 31.0, 0.0]);
    }

    #[test]
    fn threads_share() {
        let series = series(&[6.0, 6.0, 6.0]);
        let calls = [(range(0.0, 2.0), None), (range(1.0, 3.0), None)];
        assert_close(&nested(&series, &calls).exclusive, &[9.0, 9.0]);
        // A call that another thread makes on behalf of the first: the first only waits.
        let calls = [(range(0.0, 2.0), None), (range(1.0, 3.0), Some(0))];
        assert_close(&nested(&series, &calls).exclusive, &[6.0, 12.0]);
    }

    #[test]
    fn calls_that_follow_each_other_do_not_overlap() {
        let series = series(&[1.0, 2.0]);
        let calls = [(range(0.0, 1.0), None), (range(1.0, 2.0), None), (range(1.5, 1.5), None)];
        assert_close(&nested(&series, &calls).exclusive, &[1.0, 2.0, 0.0]);
    }

    #[test]
    fn a_child_that_outlives_its_parent_still_keeps_its_grandparent_waiting() {
        let series = series(&[1.0, 1.0, 1.0, 1.0]);
        let calls = [(range(0.0, 4.0), None), (range(1.0, 2.0), Some(0)), (range(1.0, 3.0), Some(1))];
        assert_close(&nested(&series, &calls).exclusive, &[2.0, 0.0, 2.0]);
    }

    proptest! {
        #[test]
        fn what_calls_used_and_what_is_outside_make_up_the_whole(
            watts in proptest::collection::vec(0.0..500.0_f64, 1..30),
            calls in proptest::collection::vec((0.0..40.0_f64, 0.0..20.0_f64, any::<u16>(), any::<bool>()), 0..40),
        ) {
            let mut calls = calls;
            calls.sort_by(|a, b| a.0.total_cmp(&b.0));
            let calls: Vec<CallPosition> = calls.iter().enumerate().map(|(call, (start, length, parent, is_inside))| {
                let parent = (*is_inside && call > 0).then(|| usize::from(*parent) % call.max(1));
                (range(*start, start + length), parent)
            }).collect();
            let series = series(&watts);
            let nested = nested(&series, &calls);
            let inside: f64 = nested.exclusive.iter().map(|energy| energy.0).sum();
            let total: f64 = watts.iter().sum();
            prop_assert!((inside + nested.outside.0 - total).abs() <= 1e-9 * total.max(1.0));
            prop_assert!(nested.outside.0 >= -1e-9 * total && nested.exclusive.iter().all(|energy| energy.0 >= -1e-9));
            // Outside is what is used while nothing runs, computed another way.
            let busy = jouletree_model::united(calls.iter().map(|(range, _)| *range));
            let outside = total - EnergyIndex::from(&series).within(&busy).0;
            prop_assert!((outside - nested.outside.0).abs() <= 1e-9 * total.max(1.0), "{} {}", outside, nested.outside.0);
            // Those inside no other make up all that is inside.
            let outermost: f64 = calls.iter().zip(&nested.inclusive)
                .filter(|((_, parent), _)| parent.is_none()).map(|(_, energy)| energy.0).sum();
            prop_assert!((outermost - inside).abs() <= 1e-9 * total.max(1.0));
        }
    }
}
