//! The readings of a meter as windows: stretches of time with the energy that was read for them.

use jouletree_model::{Nanos, PowerSpan};

/// In how many stretches a long run is looked at.
const STRETCHES: usize = 8;

/// Windows in order of time. They may leave gaps between them.
#[derive(Debug, Clone, Default)]
pub(super) struct Windows {
    /// What times count from.
    pub(super) origin: Nanos,
    /// Begin and end of each, in seconds since the origin.
    pub(super) ranges: Vec<(f64, f64)>,
    /// The energy of each, in joules.
    pub(super) joules: Vec<f64>,
}

impl Windows {
    /// The windows of some spans of constant power.
    pub(super) fn of(spans: &[PowerSpan]) -> Windows {
        let origin = spans.first().map_or(Nanos(0), |span| span.range.start);
        let seconds = |time: Nanos| since(origin, time);
        let ranges = spans.iter().map(|span| (seconds(span.range.start), seconds(span.range.end))).collect();
        let joules = spans.iter().map(|span| (span.power * span.range.duration()).0).collect();
        Windows { origin, ranges, joules }
    }

    /// The same with times that count from another instant.
    pub(super) fn counted_from(mut self, origin: Nanos) -> Windows {
        let shift = since(origin, self.origin);
        self.ranges.iter_mut().for_each(|(from, to)| (*from, *to) = (*from + shift, *to + shift));
        self.origin = origin;
        self
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// The length of each.
    pub(super) fn durations(&self) -> impl Iterator<Item = f64> {
        self.ranges.iter().map(|(from, to)| to - from)
    }

    /// The median of their lengths.
    pub(super) fn usual_duration(&self) -> f64 {
        let mut durations: Vec<f64> = self.durations().collect();
        durations.sort_unstable_by(f64::total_cmp);
        let middle = durations.len() / 2;
        match (durations.get(middle.wrapping_sub(1)), durations.get(middle)) {
            (Some(below), Some(above)) if durations.len().is_multiple_of(2) => (below + above) / 2.0,
            (_, middle) => middle.copied().unwrap_or_default(),
        }
    }

    /// Their mean power, in watts.
    pub(super) fn mean_power(&self) -> f64 {
        self.joules.iter().sum::<f64>() / self.durations().sum::<f64>()
    }

    /// Some of them.
    pub(super) fn part(&self, range: std::ops::Range<usize>) -> Windows {
        let ranges = self.ranges.get(range.clone()).unwrap_or_default().to_vec();
        Windows { origin: self.origin, ranges, joules: self.joules.get(range).unwrap_or_default().to_vec() }
    }

    /// About this part of them, in some long stretches spread over the whole.
    pub(super) fn thinned(&self, part: f64) -> Windows {
        let wanted = ((self.len() as f64 * part) as usize / STRETCHES).max(1);
        let mut thinned = Windows { origin: self.origin, ..Windows::default() };
        for number in 0..STRETCHES {
            let from = number * self.len().saturating_sub(wanted) / (STRETCHES - 1);
            let Windows { ranges, joules, .. } = self.part(from..(from + wanted).min(self.len()));
            thinned.ranges.extend(ranges);
            thinned.joules.extend(joules);
        }
        thinned
    }

    /// Whether a window follows the one before it without a gap.
    pub(super) fn follows(&self, index: usize) -> bool {
        let before = index.checked_sub(1).and_then(|before| self.ranges.get(before));
        before.zip(self.ranges.get(index)).is_some_and(|(before, here)| here.0 - before.1 < 1e-9)
    }
}

/// Seconds from one instant to another.
pub(super) fn since(origin: Nanos, time: Nanos) -> f64 {
    time.0.saturating_sub(origin.0) as f64 * 1e-9
}

/// The instant so many seconds after another.
pub(super) fn after(origin: Nanos, seconds: f64) -> Nanos {
    Nanos(origin.0.saturating_add((seconds * 1e9).round() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_runs_are_looked_at_in_stretches_that_do_not_meet() {
        let ranges: Vec<(f64, f64)> = (0..10_000).map(|index| (f64::from(index), f64::from(index + 1))).collect();
        let windows = Windows { origin: Nanos(0), joules: vec![1.0; ranges.len()], ranges };
        let thinned = windows.thinned(0.2);
        assert_eq!((thinned.len(), thinned.joules.len()), (2000, 2000));
        assert!(thinned.ranges.is_sorted_by(|a, b| a.1 <= b.0));
        assert_eq!((1..thinned.len()).filter(|index| !thinned.follows(*index)).count(), STRETCHES - 1);
        assert_eq!((thinned.ranges[0].0, thinned.ranges[1999].1), (0.0, 10_000.0));
    }
}
