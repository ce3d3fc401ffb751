//! Power: what meters said, and the energy that follows from it.

use serde::{Deserialize, Serialize};

use crate::{Device, Joules, Kind, Nanos, TimeRange, Watts};

/// What a meter of one device said, as it said it.
#[derive(Debug, Clone, PartialEq)]
pub struct PowerRecord {
    /// The device it watches.
    pub device: Device,
    /// The part of the device it watches (`core`, `uncore`), a breakdown that is never added to the whole; `None`
    /// for the whole device.
    pub domain: Option<String>,
    /// How the numbers came to be.
    pub kind: Kind,
    /// What the values are.
    pub unit: PowerUnit,
    /// The readings by time, no two at the same instant.
    pub samples: Vec<PowerSample>,
}

/// What the values of a [`PowerRecord`] are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PowerUnit {
    /// Readings of power.
    Watts,
    /// Readings of a counter of energy that only grows.
    Joules,
}

/// One reading of a meter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PowerSample {
    /// When it was taken.
    pub time: Nanos,
    /// What was read, in the record's [`PowerUnit`].
    pub value: f64,
}

/// The energy a device had used by each instant: cumulative, linear between points, with gaps where nothing is known.
///
/// This is the one form in which power enters the accounting and is kept on disk, so that a recorded run gives the
/// same footprint for ever.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EnergySeries {
    times: Vec<Nanos>,
    joules: Vec<f64>,
    /// Whether nothing is known between this point and the next.
    gaps: Vec<bool>,
}

/// A stretch of constant power.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PowerSpan {
    /// When it holds.
    pub range: TimeRange,
    /// The power during it.
    pub power: Watts,
}

/// Why points do not make an [`EnergySeries`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SeriesError {
    /// No clock says this: distances between such instants would not fit into a [`Nanos`].
    #[error("{0:?} is too far from the Unix epoch")]
    OutOfRange(Nanos),
    /// Time does not advance.
    #[error("time does not advance after {0:?}")]
    Time(Nanos),
    /// The energy is not a number.
    #[error("the energy at {0:?} is not a finite number")]
    NotFinite(Nanos),
    /// Energy was given back.
    #[error("the energy falls after {0:?}")]
    Falls(Nanos),
}

impl EnergySeries {
    /// How far from the Unix epoch a point may lie, in the past and in the future: distances between points then fit
    /// into a [`Nanos`]. It is a whole number of microseconds.
    pub const HORIZON: Nanos = Nanos(i64::MAX / 2 / 1000 * 1000);

    /// Adds a point; `gap` says that nothing is known about the time from here to the next point.
    pub fn push(&mut self, time: Nanos, joules: Joules, gap: bool) -> Result<(), SeriesError> {
        if time.0.unsigned_abs() > EnergySeries::HORIZON.0.unsigned_abs() {
            return Err(SeriesError::OutOfRange(time));
        }
        if !joules.0.is_finite() {
            return Err(SeriesError::NotFinite(time));
        }
        if let (Some(last), Some(energy), Some(was_gap)) =
            (self.times.last(), self.joules.last(), self.gaps.last())
        {
            if time <= *last {
                return Err(SeriesError::Time(*last));
            }
            if !was_gap && joules.0 < *energy {
                return Err(SeriesError::Falls(*last));
            }
        }
        self.times.push(time);
        self.joules.push(joules.0);
        self.gaps.push(gap);
        Ok(())
    }

    /// The points: time, cumulative energy, and whether a gap follows.
    pub fn points(&self) -> impl ExactSizeIterator<Item = (Nanos, Joules, bool)> {
        self.times
            .iter()
            .zip(&self.joules)
            .zip(&self.gaps)
            .map(|((time, joules), gap)| (*time, Joules(*joules), *gap))
    }

    /// The stretches of constant power, in order, gaps left out.
    pub fn spans(&self) -> impl DoubleEndedIterator<Item = PowerSpan> {
        (1..self.times.len()).filter(|i| !self.gaps[i - 1]).map(|i| {
            let range = TimeRange { start: self.times[i - 1], end: self.times[i] };
            let energy = Joules(self.joules[i] - self.joules[i - 1]);
            PowerSpan { range, power: energy / range.duration() }
        })
    }

    /// The stretches of constant power inside `range`, in order, gaps left out.
    pub fn spans_within(&self, range: TimeRange) -> impl Iterator<Item = PowerSpan> {
        let from = self.times.partition_point(|time| *time <= range.start).max(1);
        let to = self.times.partition_point(|time| *time < range.end).saturating_add(1).min(self.times.len());
        (from..to).filter(|i| !self.gaps[i - 1]).map(move |i| {
            let whole = TimeRange { start: self.times[i - 1], end: self.times[i] };
            let energy = Joules(self.joules[i] - self.joules[i - 1]);
            PowerSpan { range: whole.intersection(range), power: energy / whole.duration() }
        })
    }

    /// The part of it inside `ranges`, which are in order and do not overlap; between them nothing is known.
    pub fn within(&self, ranges: &[TimeRange]) -> EnergySeries {
        let mut part = EnergySeries::default();
        let mut wanted = ranges.iter().peekable();
        for (index, span) in (1..self.times.len()).filter(|i| !self.gaps[i - 1]).zip(self.spans()) {
            while wanted.next_if(|range| range.end <= span.range.start).is_some() {}
            // A span may lie in several ranges, and the last of them in the next span, too.
            let mut ahead = wanted.clone();
            while let Some(range) = ahead.next_if(|range| range.start < span.range.end) {
                let range = range.intersection(span.range);
                let at = |time: Nanos| match time {
                    time if time == span.range.start => self.joules[index - 1],
                    time if time == span.range.end => self.joules[index],
                    time => self.joules[index - 1] + (span.power * (time - span.range.start)).0,
                };
                if !range.is_empty() {
                    part.extend(range, at(range.start), at(range.end));
                }
            }
        }
        part
    }

    /// Adds a stretch after those that are there; a gap is left between them unless they touch.
    fn extend(&mut self, range: TimeRange, from: f64, to: f64) {
        match (self.times.last(), self.gaps.last_mut()) {
            (Some(last), Some(gap)) if *last == range.start => *gap = false,
            _ => {
                self.times.push(range.start);
                self.joules.push(from);
                self.gaps.push(false);
            }
        }
        self.times.push(range.end);
        self.joules.push(to);
        // Until something follows at once.
        self.gaps.push(true);
    }

    /// From the first point to the last; `None` with fewer than two points.
    pub fn extent(&self) -> Option<TimeRange> {
        match (self.times.first(), self.times.last()) {
            (Some(start), Some(end)) if start < end => Some(TimeRange { start: *start, end: *end }),
            _ => None,
        }
    }

    /// All the energy that is known of.
    pub fn total(&self) -> Joules {
        self.spans().map(|span| span.power * span.range.duration()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_is_linear_between_points_and_unknown_in_gaps() {
        let mut series = EnergySeries::default();
        for (time, joules, gap) in [(0, 0.0, false), (1_000_000_000, 50.0, true), (5_000_000_000, 9.0, false)] {
            series.push(Nanos(time), Joules(joules), gap).unwrap();
        }
        series.push(Nanos(7_000_000_000), Joules(29.0), false).unwrap();
        let powers: Vec<f64> = series.spans().map(|span| span.power.0).collect();
        assert_eq!(powers, [50.0, 10.0]);
        assert_eq!(series.total(), Joules(70.0));
    }

    #[test]
    fn a_part_has_its_part_of_the_energy() {
        let mut series = EnergySeries::default();
        for (time, joules, gap) in [(0, 0.0, false), (10, 100.0, false), (20, 150.0, true), (40, 7.0, false)] {
            series.push(Nanos(time), Joules(joules), gap).unwrap();
        }
        series.push(Nanos(50), Joules(17.0), false).unwrap();
        let range = |start, end| TimeRange { start: Nanos(start), end: Nanos(end) };
        let points = |ranges: &[TimeRange]| series.within(ranges).points().collect::<Vec<_>>();
        let point = |time, joules, gap| (Nanos(time), Joules(joules), gap);
        let all = [range(i64::MIN, 5), range(5, i64::MAX)];
        assert_eq!(series.within(&all).total(), series.total());
        assert_eq!(
            points(&[range(2, 4), range(4, 12), range(18, 45)]),
            [
                point(2, 20.0, false),
                point(4, 40.0, false),
                point(10, 100.0, false),
                point(12, 110.0, true),
                point(18, 140.0, false),
                point(20, 150.0, true),
                point(40, 7.0, false),
                point(45, 12.0, true),
            ]
        );
        assert_eq!(points(&[range(-5, 0), range(20, 40), range(60, 70)]), []);
    }

    #[test]
    fn refuses_points_that_make_no_sense() {
        let mut series = EnergySeries::default();
        series.push(Nanos(10), Joules(1.0), false).unwrap();
        assert_eq!(series.push(Nanos(10), Joules(2.0), false), Err(SeriesError::Time(Nanos(10))));
        assert_eq!(series.push(Nanos(11), Joules(0.5), false), Err(SeriesError::Falls(Nanos(10))));
        assert_eq!(series.push(Nanos(11), Joules(f64::NAN), false), Err(SeriesError::NotFinite(Nanos(11))));
        assert_eq!(series.push(Nanos::MAX, Joules(2.0), false), Err(SeriesError::OutOfRange(Nanos::MAX)));
        assert_eq!(series.extent(), None);
    }
}
