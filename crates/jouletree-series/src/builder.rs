//! Samples of one sensor become its energy over time.

use jouletree_model::sampling::{Anchors, Flags, Mono, Sample, SensorInfo};
use jouletree_model::{EnergySeries, Joules, Nanos, SeriesError};

use super::{OnWall, course_shown};
use crate::{CountStep, EnergyCount, Progress, Why};

/// A stretch of time about which nothing is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The last instant before it of which something is known.
    pub from: Mono,
    /// Why there is a gap.
    pub why: Why,
}

/// Makes the energy over time of one sensor.
#[derive(Debug, Clone)]
pub struct SeriesBuilder {
    count: EnergyCount,
    may_rest: bool,
    lag: Nanos,
    tick: Nanos,
    /// Readings further apart than this are a stall.
    stall: Nanos,
    points: Vec<Point>,
    gaps: Vec<Gap>,
    /// Where a point for the last reading would lie.
    placed: Option<Mono>,
    /// The first reading after a stall, if its count moved: it may be older than the reading, and the next change
    /// replaces it.
    unsettled: Option<Point>,
}

/// A change of the count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// When it most probably was.
    pub at: Mono,
    /// The energy since the first reading.
    pub microjoules: u64,
    /// Whether nothing is known from here to the next point.
    pub gap_follows: bool,
}

impl SeriesBuilder {
    /// For the samples of a sensor that is read once in a period.
    pub fn new(info: &SensorInfo, period: Nanos) -> SeriesBuilder {
        SeriesBuilder {
            count: EnergyCount::new(info).read_every(period),
            may_rest: info.may_rest(),
            lag: info.quality.lag,
            tick: info.period,
            stall: course_shown(period.max(info.period)),
            points: Vec::new(),
            gaps: Vec::new(),
            placed: None,
            unsettled: None,
        }
    }

    /// Takes a sample of the sensor, later than those before.
    pub fn take(&mut self, sample: Sample) {
        // This sample ends a rest, but does not undo it.
        let was_still = self.count.is_still();
        let Progress { lost, since, step } = self.count.take(&sample);
        if let Some(why) = lost {
            self.lose(why, was_still);
        }
        let Some(step) = step else { return };
        let place = self.place(&sample, since);
        match step {
            CountStep::Begins => self.points.push(self.point(place)),
            CountStep::Restarts => self.add(place, self.is_stall(&sample, since)),
            CountStep::Same if self.count.is_still() => self.settle(),
            CountStep::Same => {}
            CountStep::Grew(_) => {
                self.rest(was_still);
                let follows_stall = self.unsettled.take().is_some();
                self.add(place, self.is_stall(&sample, since) && !follows_stall);
            }
        }
        self.placed = Some(place);
    }

    /// What is not known, in the order of time.
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    /// Hands out the points and the number of gaps that no further sample will change, and forgets them: a recording
    /// of days is worked through in this way. What is asked for afterwards is about the rest.
    pub fn finished(&mut self) -> (impl Iterator<Item = Point>, usize) {
        let gaps = self.gaps.len();
        self.gaps.clear();
        // A gap may yet follow the last point, and the next one is placed after it.
        (self.points.drain(..self.points.len().saturating_sub(1)), gaps)
    }

    /// The points that were not handed out; they may change: the next sample may say that a gap follows the last, and more
    /// may come after it, but what is known up to it stays.
    pub fn unfinished(&self) -> impl Iterator<Item = Point> + '_ {
        self.points.iter().copied().chain(self.resting_end(self.count.is_still()))
    }

    /// The point after these, if it is the first reading after a stall: the next change may take its place.
    pub fn unsettled(&self) -> Option<Point> {
        self.unsettled
    }

    /// The points that are left when there is no further sample.
    pub fn into_points(self) -> impl Iterator<Item = Point> {
        let end = self.resting_end(self.count.is_still()).or(self.unsettled);
        self.points.into_iter().chain(end)
    }

    /// The energy over the time of day, so far.
    pub fn series(&self, anchors: &Anchors) -> Result<EnergySeries, SeriesError> {
        let (mut wall, mut series) = (OnWall::default(), EnergySeries::default());
        let mut placed: Vec<_> =
            self.unfinished().chain(self.unsettled).filter_map(|point| wall.take(point, anchors)).collect();
        placed.extend(wall.end());
        for point in placed {
            series.push(point.time, Joules(point.microjoules as f64 * 1e-6), point.gap_follows)?;
        }
        Ok(series)
    }

    /// Where the tick most probably was that a sample shows.
    fn place(&self, sample: &Sample, since: Option<Nanos>) -> Mono {
        let half =
            if sample.flags.has(Flags::STAMPED) { 0 } else { self.tick.min(since.unwrap_or(self.tick)).0 / 2 };
        Mono(sample.at.0 - self.lag.0 - half)
    }

    /// Whether nothing was read for so long that the course of the power is not known. A sensor that stamps its readings
    /// knows how old its count is.
    fn is_stall(&self, sample: &Sample, since: Option<Nanos>) -> bool {
        !sample.flags.has(Flags::STAMPED) && since.is_some_and(|since| since > self.stall)
    }

    /// The count as it is, at an instant.
    fn point(&self, at: Mono) -> Point {
        // After a gap shorter than a tick, the tick that a sample shows may have been before the gap.
        let at = self.points.last().map_or(at, |last| at.max(Mono(last.at.0 + 1)));
        Point { at, microjoules: self.count.total(), gap_follows: false }
    }

    /// Adds the count as it is; after a stall the next change may replace it.
    fn add(&mut self, at: Mono, follows_stall: bool) {
        let point = self.point(at);
        match follows_stall {
            true => self.unsettled = Some(point),
            false => self.points.push(point),
        }
    }

    /// The first reading after a stall was not older than it seemed.
    fn settle(&mut self) {
        self.points.extend(self.unsettled.take());
    }

    /// The count stood still until the last reading, and that was true: what follows was used after it.
    fn rest(&mut self, was_still: bool) {
        let end = self.resting_end(was_still);
        self.points.extend(end);
    }

    fn resting_end(&self, is_still: bool) -> Option<Point> {
        let (last, at) = (self.points.last()?, self.placed?);
        let is_rest = self.may_rest && !last.gap_follows && is_still;
        (is_rest && at > last.at).then_some(Point { at, gap_follows: false, ..*last })
    }

    /// Nothing is known from the last reading to the next one.
    fn lose(&mut self, why: Why, was_still: bool) {
        self.settle();
        self.rest(was_still);
        if let Some(last) = self.points.last_mut().filter(|last| !last.gap_follows) {
            last.gap_follows = true;
            self.gaps.push(Gap { from: last.at, why });
        }
    }
}

#[cfg(test)]
#[path = "builder_tests.rs"]
mod tests;
