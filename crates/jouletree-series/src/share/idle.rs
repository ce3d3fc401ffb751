//! The power of the idle machine, learned from the times in which it happened to be idle.

use jouletree_model::{Joules, Nanos, Watts};

/// A window counts as idle when its CPUs were busy for less than this part of it.
const MOST_BUSY: f64 = 0.02;
const WINDOW: Nanos = Nanos(1_000_000_000);
/// The power that all but this part of the idle windows exceed is taken.
const PERCENTILE: f64 = 0.05;
/// Fewer idle windows than this say nothing.
const FEWEST: usize = 3;
/// The windows that are kept: more than an hour of idleness adds nothing.
const MOST: usize = 3600;

/// Learns the power of an idle machine: the 5th percentile of windows of a second with less than 2 % to do.
#[derive(Debug, Clone, Default)]
pub struct IdleLearner {
    time: Nanos,
    energy: Joules,
    busy: f64,
    powers: Vec<f64>,
}

impl IdleLearner {
    /// Takes a stretch of time: the energy that was used and the busy part of all CPUs.
    pub fn take(&mut self, time: Nanos, energy: Joules, busy: f64) {
        if time.0 <= 0 || !energy.0.is_finite() || !busy.is_finite() {
            return;
        }
        self.time += time;
        self.energy += energy;
        self.busy += busy * time.seconds();
        if self.time < WINDOW {
            return;
        }
        if self.busy / self.time.seconds() < MOST_BUSY && self.powers.len() < MOST {
            self.powers.push((self.energy / self.time).0);
        }
        (self.time, self.energy, self.busy) = (Nanos(0), Joules::ZERO, 0.0);
    }

    /// The power, once enough idle windows were seen.
    pub fn power(&self) -> Option<Watts> {
        if self.powers.len() < FEWEST {
            return None;
        }
        let mut powers = self.powers.clone();
        powers.sort_by(f64::total_cmp);
        let place = (powers.len() as f64 * PERCENTILE) as usize;
        powers.get(place).copied().map(Watts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_idle_seconds_teach() {
        let mut learner = IdleLearner::default();
        for second in 0..40 {
            let is_idle = second % 4 == 0;
            let watts = if is_idle { 20.0 + f64::from(second) / 100.0 } else { 90.0 };
            for _ in 0..10 {
                learner.take(Nanos(100_000_000), Joules(watts / 10.0), if is_idle { 0.01 } else { 0.5 });
            }
        }
        let power = learner.power().unwrap().0;
        assert!((20.0..20.1).contains(&power), "{power}");
    }

    #[test]
    fn a_machine_that_is_never_idle_teaches_nothing() {
        let mut learner = IdleLearner::default();
        for _ in 0..100 {
            learner.take(Nanos(1_000_000_000), Joules(50.0), 0.03);
        }
        learner.take(Nanos(-1), Joules(f64::NAN), 0.0);
        assert_eq!(learner.power(), None);
    }
}
