//! Samples of one sensor become its energy over time.

use jouletree_model::sampling::{Anchors, Flags, Mono, Sample, SensorInfo};
use jouletree_model::{EnergySeries, Joules, Kind, Nanos, SeriesError};

use super::{OnWall, Stillness, course_shown};
use crate::{Advance, Counter, Implausible};

/// Power that was not read for so many periods cannot be integrated.
const STALE_PERIODS: i64 = 10;
/// A busy machine holds up a sampler for this long without harm.
const STALE_LEAST: Nanos = Nanos(100_000_000);

/// A stretch of time about which nothing is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The last instant before it of which something is known.
    pub from: Mono,
    /// Why there is a gap.
    pub why: Why,
}

/// Why nothing is known about a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// A reading failed.
    Failed,
    /// The count moved as it cannot have.
    Implausible(Implausible),
    /// The energy is computed from readings of power, and there were none.
    Stale,
    /// The machine was suspended, or a failure was lost because the samples were not taken.
    Apart,
    /// An always-on counter did not change.
    Still,
}

/// Makes the energy over time of one sensor.
#[derive(Debug, Clone)]
pub struct SeriesBuilder {
    counter: Counter,
    may_rest: bool,
    /// Whether the energy is computed from readings of power.
    is_derived: bool,
    lag: Nanos,
    tick: Nanos,
    /// Readings further apart than this are a stall.
    stall: Nanos,
    stale: Nanos,
    points: Vec<Point>,
    gaps: Vec<Gap>,
    /// The last reading, and where a point for it would lie.
    last: Option<(Mono, Mono)>,
    /// The first reading after a stall, if its count moved: it may be older than the reading, and the next change
    /// replaces it.
    unsettled: Option<Point>,
    still: Stillness,
    /// The count at which an always-on counter did not change.
    frozen: Option<u64>,
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
        let longest = period.max(info.period);
        SeriesBuilder {
            counter: Counter::new(info),
            may_rest: info.may_rest(),
            is_derived: info.kind == Kind::Derived,
            lag: info.quality.lag,
            tick: info.period,
            stall: course_shown(longest),
            stale: Nanos(longest.0.saturating_mul(STALE_PERIODS)).max(STALE_LEAST),
            points: Vec::new(),
            gaps: Vec::new(),
            last: None,
            unsettled: None,
            still: Stillness::new(info),
            frozen: None,
        }
    }

    /// Takes a sample of the sensor, later than those before.
    pub fn take(&mut self, sample: Sample) {
        if sample.flags.has(Flags::GAP) {
            return self.lose(Why::Failed);
        }
        if sample.flags.has(Flags::APART) {
            self.lose(Why::Apart);
        }
        let is_late = sample.flags.has(Flags::LATE);
        if self.is_derived && is_late && self.last.is_some_and(|(last, _)| sample.at - last > self.stale) {
            self.lose(Why::Stale);
        }
        if self.last.is_some_and(|(last, _)| sample.at <= last) || self.frozen == Some(sample.count) {
            return;
        }
        self.frozen = None;
        let point = self.place(&sample);
        match self.counter.take(sample.at, sample.count) {
            Advance::By(0) => {
                self.still.stays(sample.at);
                if self.still.is_still() {
                    self.settle();
                }
                if self.still.is_still() && !self.may_rest {
                    self.lose(Why::Still);
                    self.frozen = Some(sample.count);
                    return;
                }
            }
            Advance::By(_) => {
                self.rest();
                let follows_stall = self.unsettled.take().is_some();
                match self.is_stall(&sample) && !follows_stall {
                    true => self.unsettled = Some(self.point(point)),
                    false => self.add(point),
                }
                self.still.moved(sample.at);
            }
            Advance::Begins => {
                self.add(point);
                self.still.moved(sample.at);
            }
            Advance::Gap(why) => {
                self.lose_known(Why::Implausible(why));
                if why == Implausible::OutOfRange {
                    return;
                }
                match self.is_stall(&sample) {
                    true => self.unsettled = Some(self.point(point)),
                    false => self.add(point),
                }
                self.still.moved(sample.at);
            }
        }
        self.last = Some((sample.at, point));
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
        self.points.iter().copied().chain(self.resting_end())
    }

    /// The point after these, if it is the first reading after a stall: the next change may take its place.
    pub fn unsettled(&self) -> Option<Point> {
        self.unsettled
    }

    /// The points that are left when there is no further sample.
    pub fn into_points(self) -> impl Iterator<Item = Point> {
        let end = self.resting_end().or(self.unsettled);
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
    fn place(&self, sample: &Sample) -> Mono {
        let since = self.last.map_or(self.tick, |(last, _)| sample.at - last);
        let half = if sample.flags.has(Flags::STAMPED) { 0 } else { self.tick.min(since).0 / 2 };
        Mono(sample.at.0 - self.lag.0 - half)
    }

    /// Whether nothing was read for so long that the course of the power is not known. A sensor that stamps its readings
    /// knows how old its count is.
    fn is_stall(&self, sample: &Sample) -> bool {
        !sample.flags.has(Flags::STAMPED) && self.last.is_some_and(|(last, _)| sample.at - last > self.stall)
    }

    /// The count as it is, at an instant.
    fn point(&self, at: Mono) -> Point {
        // After a gap shorter than a tick, the tick that a sample shows may have been before the gap.
        let at = self.points.last().map_or(at, |last| at.max(Mono(last.at.0 + 1)));
        Point { at, microjoules: self.counter.total(), gap_follows: false }
    }

    fn add(&mut self, at: Mono) {
        let point = self.point(at);
        self.points.push(point);
    }

    /// The first reading after a stall was not older than it seemed.
    fn settle(&mut self) {
        self.points.extend(self.unsettled.take());
    }

    /// The count stood still until the last reading, and that was true: what follows was used after it.
    fn rest(&mut self) {
        let end = self.resting_end();
        self.points.extend(end);
    }

    fn resting_end(&self) -> Option<Point> {
        let (last, (_, at)) = (self.points.last()?, self.last?);
        let is_rest = self.may_rest && !last.gap_follows && self.still.is_still();
        (is_rest && at > last.at).then_some(Point { at, gap_follows: false, ..*last })
    }

    /// Nothing is known until the next sample.
    fn lose(&mut self, why: Why) {
        self.lose_known(why);
        self.counter.lose();
        self.last = None;
        self.frozen = None;
    }

    fn lose_known(&mut self, why: Why) {
        self.settle();
        let end = self.resting_end();
        self.points.extend(end);
        if let Some(last) = self.points.last_mut().filter(|last| !last.gap_follows) {
            last.gap_follows = true;
            self.gaps.push(Gap { from: last.at, why });
        }
    }
}

#[cfg(test)]
#[path = "builder_tests.rs"]
mod tests;
