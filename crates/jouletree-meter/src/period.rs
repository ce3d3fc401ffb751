//! How often something is updated, learned by watching it change.

use jouletree_model::Nanos;

/// How many changes are remembered: enough that one late look does not matter.
const REMEMBERED: usize = 15;

/// So many changes say something.
const ENOUGH: usize = 3;

/// The usual time between changes, or what is assumed until enough of them were seen.
///
/// It is the lower quartile and not the median: a value that is updated without changing makes times longer, and nothing
/// makes them shorter.
#[derive(Debug, Clone)]
pub(crate) struct Period {
    assumed: Nanos,
    intervals: [i64; REMEMBERED],
    seen: usize,
}

impl Period {
    pub(crate) fn assumed(assumed: Nanos) -> Period {
        Period { assumed, intervals: [0; REMEMBERED], seen: 0 }
    }

    /// Takes the time between two changes.
    pub(crate) fn saw(&mut self, interval: Nanos) {
        self.intervals[self.seen % REMEMBERED] = interval.0;
        // It need not be known how many were forgotten.
        self.seen = if self.seen + 1 == 2 * REMEMBERED { REMEMBERED } else { self.seen + 1 };
    }

    pub(crate) fn is_learned(&self) -> bool {
        self.seen >= ENOUGH
    }

    /// How many changes were seen, up to some number.
    pub(crate) fn seen(&self) -> usize {
        self.seen
    }

    pub(crate) fn get(&self) -> Nanos {
        if !self.is_learned() {
            return self.assumed;
        }
        let mut sorted = self.intervals;
        let sorted = &mut sorted[..self.seen.min(REMEMBERED)];
        sorted.sort_unstable();
        Nanos(sorted[sorted.len() / 4])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_assumed_until_it_is_learned() {
        let mut period = Period::assumed(Nanos(100));
        period.saw(Nanos(20));
        period.saw(Nanos(20));
        assert_eq!(period.get(), Nanos(100));
        period.saw(Nanos(20));
        assert_eq!(period.get(), Nanos(20));
    }

    #[test]
    fn missed_and_late_changes_do_not_move_it() {
        let mut period = Period::assumed(Nanos(0));
        for interval in [20, 21, 40, 19, 40, 20, 200, 60, 40, 20] {
            period.saw(Nanos(interval));
        }
        assert_eq!(period.get(), Nanos(20));
    }

    #[test]
    fn it_follows_a_sensor_that_changes_its_mind() {
        let mut period = Period::assumed(Nanos(0));
        for _ in 0..100 {
            period.saw(Nanos(20));
        }
        for _ in 0..REMEMBERED {
            period.saw(Nanos(100));
        }
        assert_eq!(period.get(), Nanos(100));
    }
}
