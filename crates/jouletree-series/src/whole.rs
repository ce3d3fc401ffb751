//! The energy of a whole recording with its interval, from one stretch after the other: nothing is kept.

use jouletree_model::sampling::{Mono, SensorInfo};
use jouletree_model::{Joules, Nanos, TimeRange};

use super::WallPoint;
use super::wall::PointStep;
use super::windows::{Estimate, Unsure};
use crate::share::Increment;

/// Sums up the points of one sensor. The result is that of [`Windows`](super::Windows) over the whole series.
#[derive(Debug, Clone)]
pub struct Whole {
    unsure: Unsure,
    last: Option<WallPoint>,
    /// The stretch before the current one, and the current one.
    before: Option<Stretch>,
    current: Option<Stretch>,
    microjoules: u64,
    squares: f64,
    known: Nanos,
    ends: f64,
}

/// A stretch of constant power.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    range: TimeRange,
    watts: f64,
    /// Whether it begins the series or follows on a gap.
    is_start: bool,
}

impl Whole {
    /// Nothing yet of this sensor.
    pub fn of(info: &SensorInfo) -> Whole {
        Whole {
            unsure: Unsure::of(info),
            last: None,
            before: None,
            current: None,
            microjoules: 0,
            squares: 0.0,
            known: Nanos(0),
            ends: 0.0,
        }
    }

    /// Takes the next point; gives back the energy since the one before, unless there was none or a gap between.
    pub fn take(&mut self, point: WallPoint) -> Option<Increment> {
        let PointStep { range, increment, microjoules } = self.last.replace(point)?.step_to(&point)?;
        let watts = (increment.energy / range.duration()).0;
        self.microjoules = self.microjoules.saturating_add(microjoules);
        self.known += range.duration();
        self.squares += watts * watts * range.duration().seconds();
        let is_start = self.current.is_none_or(|current| current.range.end != range.start);
        self.leave(Some(Stretch { range, watts, is_start }));
        Some(increment)
    }

    /// The last point, unless nothing is known after it.
    pub(crate) fn open_since(&self) -> Option<Mono> {
        self.last.filter(|last| !last.gap_follows).map(|last| last.at)
    }

    /// The sum of the energy so far.
    pub fn energy(&self) -> Joules {
        Joules(self.microjoules as f64 * 1e-6)
    }

    /// The energy of a recording of this length that holds all the points.
    pub fn estimate(mut self, length: Nanos) -> Estimate {
        self.leave(None);
        if self.known.0 <= 0 {
            return Estimate::NOTHING;
        }
        let coverage = self.known.seconds() / length.max(self.known).seconds();
        self.unsure.estimate(self.energy().0, self.squares, self.known, self.ends, coverage)
    }

    /// Leaves the current stretch for the next one. Where it begins or ends what is known, it adds to what is unsure.
    fn leave(&mut self, next: Option<Stretch>) {
        if let Some(current) = self.current {
            let is_end = next.is_none_or(|next| next.is_start);
            let times = u8::from(current.is_start) + u8::from(is_end);
            let neighbours = [self.before, next].into_iter().flatten().map(|other| (other.range, other.watts));
            self.ends += f64::from(times) * self.unsure.variance((current.range, current.watts), neighbours);
        }
        self.before = self.current;
        self.current = next;
    }
}
