//! The last minute of a gauge, second by second.

use std::collections::VecDeque;

use jouletree_model::sampling::Mono;
use jouletree_model::{Joules, Nanos, Watts};
use jouletree_series::share::Increment;

/// How many seconds are kept.
pub const SECONDS: usize = 60;
const SECOND: i64 = 1_000_000_000;

/// Energy by seconds of the monotonic clock.
#[derive(Debug, Default)]
pub struct History {
    /// The second of the first one kept.
    first: i64,
    seconds: VecDeque<Second>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Second {
    energy: Joules,
    known: Nanos,
}

impl History {
    /// Adds an increment, evenly over its time.
    pub fn add(&mut self, increment: Increment) {
        let Increment { from, to, energy } = increment;
        let whole = (to - from).seconds();
        if whole <= 0.0 {
            return;
        }
        let last = (to.0 - 1).div_euclid(SECOND);
        if self.seconds.is_empty() {
            self.first = from.0.div_euclid(SECOND).max(last - SECONDS as i64 + 1);
        }
        self.reach(last);
        for second in from.0.div_euclid(SECOND).max(self.first)..=last {
            let begin = Mono(second * SECOND);
            let inside = to.min(Mono(begin.0 + SECOND)) - from.max(begin);
            let kept = usize::try_from(second - self.first).ok().and_then(|at| self.seconds.get_mut(at));
            if let Some(kept) = kept {
                kept.energy += Joules(energy.0 * inside.seconds() / whole);
                kept.known += inside;
            }
        }
    }

    /// The mean power of each of the last `SECONDS` seconds before an instant, the oldest first; `None` where nothing is
    /// known.
    pub fn minute(&self, now: Mono) -> Vec<Option<Watts>> {
        let last = now.0.div_euclid(SECOND);
        let power = |second: i64| {
            let Second { energy, known } = *self.seconds.get(usize::try_from(second - self.first).ok()?)?;
            (known > Nanos(0)).then(|| energy / known)
        };
        (last - SECONDS as i64 + 1..=last).map(power).collect()
    }

    fn reach(&mut self, last: i64) {
        let wanted = usize::try_from(last - self.first + 1).unwrap_or(0);
        if wanted > 2 * SECONDS {
            // After a long gap nothing of the old is shown any more.
            self.seconds.clear();
            self.first = last - SECONDS as i64 + 1;
        }
        while self.first + (self.seconds.len() as i64) <= last {
            self.seconds.push_back(Second::default());
        }
        while self.seconds.len() > SECONDS {
            self.seconds.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Mono {
        Mono((seconds * 1e9) as i64)
    }

    fn used(from: f64, to: f64, energy: f64) -> Increment {
        Increment { from: at(from), to: at(to), energy: Joules(energy) }
    }

    #[test]
    fn energy_is_spread_over_the_seconds_it_was_used_in() {
        let mut history = History::default();
        history.add(used(10.5, 12.5, 20.0));
        let minute = history.minute(at(12.9));
        assert_eq!(minute.len(), SECONDS);
        assert_eq!(minute[SECONDS - 3..], [Some(Watts(10.0)); 3]);
        assert_eq!(minute[SECONDS - 4], None);
    }

    #[test]
    fn what_is_not_known_stays_so() {
        let mut history = History::default();
        history.add(used(1.0, 2.0, 5.0));
        history.add(used(4.0, 5.0, 7.0));
        let minute = history.minute(at(5.5));
        let shown = &minute[SECONDS - 5..];
        assert_eq!(shown, [Some(Watts(5.0)), None, None, Some(Watts(7.0)), None]);
    }

    #[test]
    fn a_long_absence_costs_no_memory() {
        let mut history = History::default();
        history.add(used(1.0, 2.0, 5.0));
        history.add(used(9e8, 9e8 + 1.0, 6.0));
        history.add(used(9e8 + 1.0, 9e8 + 1000.0, 999.0));
        assert!(history.seconds.len() <= SECONDS);
        let minute = history.minute(at(9e8 + 999.5));
        assert!(minute.iter().all(|power| power.is_some_and(|power| (power.0 - 1.0).abs() < 1e-12)), "{minute:?}");
    }
}
