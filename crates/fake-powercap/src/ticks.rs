//! When a counter is updated.

use std::time::Duration;

use crate::random::Random;

const TICK: f64 = 1e-3;
const JITTER: f64 = 0.05;
/// One update in so many comes late.
const STALLS: u64 = 200;
const STALL: (f64, f64) = (2e-3, 10e-3);

/// The longest time between two updates: a tick with all its jitter, and a stall.
pub const LONGEST_TICK: Duration = Duration::from_micros(11_050);

/// The instants at which one counter is updated: every millisecond, give or take 5 %, and now and then 2 to 10 ms
/// later.
#[derive(Debug, Clone)]
pub(crate) struct Ticks {
    random: Random,
    next: Duration,
}

impl Ticks {
    pub fn new(seed: u64, zone: &str) -> Ticks {
        let mut random = Random::new(seed, zone);
        let next = Duration::from_secs_f64(random.between(0.0, TICK));
        Ticks { random, next }
    }

    /// The next update.
    pub fn next(&self) -> Duration {
        self.next
    }

    /// The last update up to `now` that was not asked for yet.
    pub fn last_until(&mut self, now: Duration) -> Option<Duration> {
        let mut last = None;
        while self.next <= now {
            last = Some(self.next);
            let mut wait = TICK * self.random.between(1.0 - JITTER, 1.0 + JITTER);
            if self.random.bits().is_multiple_of(STALLS) {
                wait += self.random.between(STALL.0, STALL.1);
            }
            self.next += Duration::from_secs_f64(wait);
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_a_millisecond_apart_with_stalls_and_the_same_for_a_seed() {
        let mut ticks = Ticks::new(7, "package-0");
        let mut times = Vec::new();
        while times.len() < 20_000 {
            let next = ticks.next();
            assert_eq!(ticks.last_until(next), Some(next));
            times.push(next);
        }
        let waits: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
        let stalls = waits.iter().filter(|wait| **wait > 2e-3).count();
        assert!((60..140).contains(&stalls), "{stalls} stalls");
        assert!(waits.iter().all(|wait| (0.95e-3..=LONGEST_TICK.as_secs_f64()).contains(wait)));
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        assert!((1.01e-3..1.05e-3).contains(&mean), "{mean}");
        let end = times[times.len() - 1];
        assert_eq!(Ticks::new(7, "package-0").last_until(end), Some(end));
        assert_ne!(Ticks::new(8, "package-0").last_until(end), Some(end));
    }
}
