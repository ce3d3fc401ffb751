//! Points over the time of day, which can be set while a sensor is read.

use jouletree_model::sampling::{Anchors, Mono, was_set};
use jouletree_model::{Joules, Nanos, TimeRange};

use super::Point;
use crate::share::Increment;

/// A change of the count by the time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WallPoint {
    /// When it was.
    pub time: Nanos,
    /// The same by the monotonic clock.
    pub at: Mono,
    /// The energy since the first reading.
    pub microjoules: u64,
    /// Whether nothing is known from here to the next point.
    pub gap_follows: bool,
}

/// The energy from one point to the next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PointStep {
    pub(crate) range: TimeRange,
    pub(crate) increment: Increment,
    pub(crate) microjoules: u64,
}

impl WallPoint {
    /// The energy from here to the next point, unless there is a gap between them.
    pub(crate) fn step_to(&self, next: &WallPoint) -> Option<PointStep> {
        if self.gap_follows {
            return None;
        }
        let microjoules = next.microjoules.saturating_sub(self.microjoules);
        let increment = Increment { from: self.at, to: next.at, energy: Joules(microjoules as f64 * 1e-6) };
        Some(PointStep { range: TimeRange { start: self.time, end: next.time }, increment, microjoules })
    }
}

/// Brings the points of one sensor to the time of day, one after the other. Times grow, whatever was done to the clock.
#[derive(Debug, Clone, Default)]
pub struct OnWall {
    ahead: Option<Nanos>,
    last: Option<WallPoint>,
}

impl OnWall {
    /// Takes a point, later than those before, and gives back the one before it, which nothing will change any more.
    pub fn take(&mut self, point: Point, anchors: &Anchors) -> Option<WallPoint> {
        let Point { at, microjoules, gap_follows } = point;
        let time = anchors.wall(at)?;
        let is_ahead = time - Nanos(at.0);
        let passed = self.last.map_or(Nanos(0), |last| at - last.at);
        let was_set = self.ahead.replace(is_ahead).is_some_and(|was| was_set(is_ahead - was, passed));
        match &mut self.last {
            // After the clock was set back, time is lost until it is as late as it was.
            Some(last) if time <= last.time => {
                last.gap_follows |= gap_follows || was_set;
                None
            }
            last => {
                if let (Some(last), true) = (last.as_mut(), was_set) {
                    last.gap_follows = true;
                }
                last.replace(WallPoint { time, at, microjoules, gap_follows })
            }
        }
    }

    /// The last point so far, which may change.
    pub fn last(&self) -> Option<WallPoint> {
        self.last
    }

    /// The last point.
    pub fn end(self) -> Option<WallPoint> {
        self.last
    }
}
