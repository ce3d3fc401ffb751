//! Power over time, and its energy in closed form.

use std::time::Duration;

use jouletree_model::{Joules, Watts};

use crate::random::Random;

/// How power goes for a while.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// It stays.
    Constant(Watts),
    /// It goes from one to the other.
    Ramp(Watts, Watts),
    /// It is the first for half a period, then the second.
    Square(Watts, Watts, Duration),
    /// It takes values one after the other, each for so long; the last one stays. See [`Shape::steps`].
    Steps(Vec<Step>, Duration),
}

/// A value of [`Shape::Steps`], with the sum of those before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    level: Watts,
    before: f64,
}

impl Shape {
    /// These values one after the other, each for `every`.
    pub fn steps(levels: impl IntoIterator<Item = Watts>, every: Duration) -> Shape {
        let mut sum = 0.0;
        let step = |level: Watts| {
            let before = sum;
            sum += level.0;
            Step { level, before }
        };
        Shape::Steps(levels.into_iter().map(step).collect(), every)
    }

    /// A random walk between two bounds, by at most `step` each time.
    pub fn walk(bounds: (Watts, Watts), step: Watts, every: Duration, lasts: Duration, seed: u64) -> Shape {
        let (low, high) = (bounds.0.0, bounds.1.0);
        let mut random = Random::new(seed, "walk");
        let mut level = (low + high) / 2.0;
        let count = (lasts.as_secs_f64() / every.as_secs_f64()).ceil().max(1.0) as usize;
        let levels = (0..count).map(|_| {
            level = (level + random.between(-step.0, step.0)).clamp(low, high);
            Watts(level)
        });
        Shape::steps(levels, every)
    }

    /// The energy of its first `time`, when it lasts for `lasts` in all.
    fn energy(&self, time: Duration, lasts: Option<Duration>) -> f64 {
        let seconds = time.as_secs_f64();
        match self {
            Shape::Constant(power) => power.0 * seconds,
            Shape::Ramp(from, to) => {
                let slope = lasts.map_or(0.0, |lasts| (to.0 - from.0) / lasts.as_secs_f64());
                from.0 * seconds + slope * seconds * seconds / 2.0
            }
            Shape::Square(first, second, period) => {
                let whole = time.as_nanos() / period.as_nanos().max(1);
                let rest = (time.as_nanos() % period.as_nanos().max(1)) as f64 * 1e-9;
                let half = period.as_secs_f64() / 2.0;
                whole as f64 * half * (first.0 + second.0)
                    + first.0 * rest.min(half)
                    + second.0 * (rest - half).max(0.0)
            }
            Shape::Steps(steps, every) => {
                let each = every.as_secs_f64();
                let whole = (time.as_nanos() / every.as_nanos().max(1)) as usize;
                let whole = whole.min(steps.len().saturating_sub(1));
                let rest = seconds - whole as f64 * each;
                steps.get(whole).map_or(0.0, |step| step.before * each + step.level.0 * rest)
            }
        }
    }

    fn most(&self) -> f64 {
        match self {
            Shape::Constant(power) => power.0,
            Shape::Ramp(one, other) | Shape::Square(one, other, _) => one.0.max(other.0),
            Shape::Steps(steps, _) => steps.iter().map(|step| step.level.0).fold(0.0, f64::max),
        }
    }

    /// The power at its very end, which holds when nothing follows.
    fn last(&self) -> Watts {
        match self {
            Shape::Constant(power) | Shape::Ramp(_, power) => *power,
            Shape::Square(one, other, _) => Watts((one.0 + other.0) / 2.0),
            Shape::Steps(steps, _) => steps.last().map(|step| step.level).unwrap_or_default(),
        }
    }
}

/// A shape and how long it lasts.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// How power goes.
    pub shape: Shape,
    /// For how long; for ever when it is not said.
    pub lasts: Option<Duration>,
}

/// Power over all time: segments one after the other. What the last one ends with stays (of a square wave, its mean).
#[derive(Debug, Clone, PartialEq)]
pub struct Power {
    /// Each with its start and the energy up to there.
    segments: Vec<(Duration, f64, Segment)>,
}

impl Power {
    /// The power of these segments.
    pub fn new(segments: Vec<Segment>) -> Power {
        let (mut start, mut energy) = (Duration::ZERO, 0.0);
        let last = segments.last().filter(|last| last.lasts.is_some());
        let tail = last.map(|last| Segment { shape: Shape::Constant(last.shape.last()), lasts: None });
        let mut placed = Vec::new();
        for segment in segments.into_iter().chain(tail) {
            let (begins, before) = (start, energy);
            let lasts = segment.lasts.unwrap_or(Duration::MAX);
            start = start.saturating_add(lasts);
            if segment.lasts.is_some() {
                energy += segment.shape.energy(lasts, segment.lasts);
            }
            placed.push((begins, before, segment));
        }
        Power { segments: placed }
    }

    /// The same power for ever.
    pub fn constant(power: Watts) -> Power {
        Power::new(vec![Segment { shape: Shape::Constant(power), lasts: None }])
    }

    /// The energy from the beginning to `time`.
    pub fn energy_by(&self, time: Duration) -> Joules {
        let after = self.segments.partition_point(|(start, ..)| *start <= time);
        let energy = self.segments.get(after.saturating_sub(1)).map_or(0.0, |(start, before, segment)| {
            before + segment.shape.energy(time.saturating_sub(*start), segment.lasts)
        });
        Joules(energy)
    }

    /// The most power there ever is.
    pub fn most(&self) -> Watts {
        Watts(self.segments.iter().map(|(_, _, segment)| segment.shape.most()).fold(0.0, f64::max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// The closed form against a sum of a million thin slices.
    #[test]
    fn energy_is_the_integral_of_power() {
        let seconds = Duration::from_secs;
        let timed = |shape, lasts| Segment { shape, lasts: Some(lasts) };
        let walk = Shape::walk((Watts(30.0), Watts(90.0)), Watts(5.0), 10 * MS, seconds(1), 3);
        let Shape::Steps(steps, _) = walk.clone() else { panic!("a walk has steps") };
        let levels: Vec<Watts> = steps.iter().map(|step| step.level).collect();
        assert!(levels.len() == 100 && levels.iter().all(|level| (30.0..=90.0).contains(&level.0)));
        let power = Power::new(vec![
            timed(Shape::Constant(Watts(50.0)), seconds(2)),
            timed(Shape::Ramp(Watts(50.0), Watts(100.0)), seconds(1)),
            timed(Shape::Square(Watts(20.0), Watts(80.0), 3 * MS), seconds(2)),
            timed(walk, seconds(1)),
        ]);
        let at = |t: f64| match t {
            t if t < 2.0 => 50.0,
            t if t < 3.0 => 50.0 + 50.0 * (t - 2.0),
            t if t < 5.0 => [20.0, 80.0][usize::from((t - 3.0).rem_euclid(0.003) >= 0.0015)],
            t if t < 6.0 => levels[((t - 5.0) / 0.01) as usize].0,
            _ => levels[99].0,
        };
        let (mut sum, slice) = (0.0, 7e-6);
        for n in 0..1_000_000 {
            if n % 10_000 == 0 {
                let exact = power.energy_by(Duration::from_secs_f64(f64::from(n) * slice)).0;
                assert!((exact - sum).abs() < 0.01, "{n}: {exact} {sum}");
            }
            sum += at((f64::from(n) + 0.5) * slice) * slice;
        }
        assert_eq!(power.energy_by(seconds(2)), Joules(100.0));
        assert_eq!(power.energy_by(seconds(3)), Joules(175.0));
        assert!((power.energy_by(seconds(3) + 15 * MS).0 - 175.75).abs() < 1e-9);
        assert_eq!(power.most(), Watts(100.0));
    }
}
