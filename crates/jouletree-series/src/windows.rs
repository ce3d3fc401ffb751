//! The energy of windows of time, each with an interval.
//!
//! What is unsure is where a window begins and ends, not what lies between: a counter is exact, but shows its count at
//! ticks. Each end adds, in joules of one standard deviation,
//!
//! - P·tick/√12: the tick may be anywhere in its period (P is the power there), so P·tick/√6 for both ends;
//! - a part of the change of power from each stretch to the next, times the shorter of them: in between power goes some
//!   way that is not seen, and a tick that came late shows in just this way;
//! - step/√12 for the counter's step.
//!
//! An end inside a stall adds what is not known of its course: the energy E of the stall is sure, but not how much of it
//! was used by then. A bridge between the known ends has a variance of E²/3·f·(1 − f) after a part f of the time, which is
//! that of an even distribution from nothing to E in the middle. A window inside one stall has that of its own part.
//!
//! A sensor that sees only a part of the time adds σ(P)·√((1 − coverage)·tick·length). All that is taken as normal. What
//! is known about a sensor's truth ([`Quality::bounds`](jouletree_model::sampling::Quality)) widens the whole; where nothing is known of it,
//! the interval is about the counter, and not about how true the counter is.

use jouletree_model::sampling::{Bounds, SensorInfo};
use jouletree_model::{EnergySeries, Joules, Nanos, TimeRange};

use super::course_shown;

/// Standard deviations to the ends of an interval that holds in 95 of 100 cases.
const TO_95: f64 = 1.96;
/// The part of a change of power that counts as unsure: chosen, not derived, and held to account by the test that plays
/// a thousand random scripts.
const UNSURE_PART: f64 = 0.35;

/// The energy of a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// What is known of it.
    pub joules: Joules,
    /// It is not less, in 97.5 of 100 cases.
    pub low: Joules,
    /// It is not more, in 97.5 of 100 cases. Energy in gaps is in none of these numbers.
    pub high: Joules,
    /// The part of the window about which something is known: one without gaps, zero when nothing is.
    pub coverage: f64,
}

/// A series prepared for many windows.
#[derive(Debug, Clone)]
pub struct Windows {
    spans: Vec<Span>,
    /// The spans after which there is a gap.
    ends: Vec<usize>,
    unsure: Unsure,
}

/// What is unsure about the energy of a sensor.
#[derive(Debug, Clone)]
pub(crate) struct Unsure {
    tick: f64,
    step: f64,
    /// Within a stretch of so many seconds the course of the power is known well enough.
    shown: f64,
    /// The part of the time that the sensor does not see.
    unseen: f64,
    factors: (f64, f64),
}

/// A stretch of constant power, and the energy and the time known before it.
#[derive(Debug, Clone, Copy)]
struct Span {
    range: TimeRange,
    watts: f64,
    joules_before: f64,
    squares_before: f64,
    known_before: Nanos,
}

impl Windows {
    /// Prepares the series of a sensor.
    pub fn of(series: &EnergySeries, info: &SensorInfo) -> Windows {
        let (mut joules, mut squares, mut known) = (0.0, 0.0, Nanos(0));
        let spans: Vec<Span> = series
            .spans()
            .map(|span| {
                let (watts, time) = (span.power.0, span.range.duration());
                let placed = Span {
                    range: span.range,
                    watts,
                    joules_before: joules,
                    squares_before: squares,
                    known_before: known,
                };
                joules += watts * time.seconds();
                squares += watts * watts * time.seconds();
                known += time;
                placed
            })
            .collect();
        let ends = (1..spans.len()).filter(|at| spans[at - 1].range.end != spans[*at].range.start);
        Windows { ends: ends.map(|at| at - 1).collect(), spans, unsure: Unsure::of(info) }
    }

    /// The energy of a window.
    pub fn energy_between(&self, start: Nanos, end: Nanos) -> Estimate {
        let window = TimeRange { start, end };
        let first = self.spans.partition_point(|span| span.range.end <= start);
        let after = self.spans.partition_point(|span| span.range.start < end);
        let (Some(one), Some(other)) = (self.spans.get(first), after.checked_sub(1).map(|last| self.spans[last]))
        else {
            return Estimate::NOTHING;
        };
        if window.is_empty() || first >= after {
            return Estimate::NOTHING;
        }
        let (from, to) = (one.at(start), other.at(end));
        let (joules, known) = (to.joules_before - from.joules_before, to.known_before - from.known_before);
        let mut variance = self.unsure_at(first) + self.unsure_at(after - 1);
        let (started, ended) = (one.part(start), other.part(end));
        variance += match first == after - 1 {
            true => self.unsure.stall(one.range, one.watts) * bridge(ended - started),
            false => {
                self.unsure.stall(one.range, one.watts) * bridge(started)
                    + self.unsure.stall(other.range, other.watts) * bridge(ended)
            }
        };
        let gaps = self.ends.partition_point(|at| *at < first)..self.ends.partition_point(|at| *at < after - 1);
        for at in self.ends.get(gaps).unwrap_or_default() {
            variance += self.unsure_at(*at) + self.unsure_at(at + 1);
        }
        let squares = to.squares_before - from.squares_before;
        let coverage = known.seconds() / window.duration().seconds();
        self.unsure.estimate(joules, squares, known, variance, coverage)
    }

    /// The variance of the energy up to somewhere in a span.
    fn unsure_at(&self, at: usize) -> f64 {
        let Some(span) = self.spans.get(at) else { return 0.0 };
        let neighbours = [at.checked_sub(1), at.checked_add(1)].into_iter().flatten();
        let neighbours = neighbours.filter_map(|at| self.spans.get(at)).map(|span| (span.range, span.watts));
        self.unsure.variance((span.range, span.watts), neighbours)
    }
}

impl Unsure {
    pub(crate) fn of(info: &SensorInfo) -> Unsure {
        let bounds = info.quality.bounds.map_or(Bounds { low: 1.0, high: 1.0 }, Bounds::at_95);
        Unsure {
            tick: info.period.seconds(),
            step: info.step.0.max(1.0) * 1e-6,
            shown: course_shown(info.period).seconds(),
            unseen: info.quality.coverage.map_or(0.0, |seen| (1.0 - seen).clamp(0.0, 1.0)),
            factors: (bounds.low, bounds.high),
        }
    }

    /// The variance of the energy up to somewhere in a stretch of so many watts, by those before and after it.
    pub(crate) fn variance(
        &self,
        (range, watts): (TimeRange, f64),
        neighbours: impl Iterator<Item = (TimeRange, f64)>,
    ) -> f64 {
        let (mut most, mut change) = (watts, 0.0_f64);
        for (other, its_watts) in neighbours {
            if other.end == range.start || range.end == other.start {
                let time = range.duration().min(other.duration()).seconds();
                most = most.max(its_watts);
                change = change.max((watts - its_watts).abs() * time);
            }
        }
        (most * self.tick).powi(2) / 12.0 + (UNSURE_PART * change).powi(2) + self.step.powi(2) / 12.0
    }

    /// The variance of the energy of a stall, to be multiplied by the [`bridge`] of a part of its time; zero for a
    /// stretch that is no stall.
    pub(crate) fn stall(&self, range: TimeRange, watts: f64) -> f64 {
        let unseen = (range.duration().seconds() - self.shown).max(0.0);
        (watts * unseen).powi(2) / 3.0
    }

    /// The energy of a window from what is known of it: joules, the sum of squared watts over time, the time, the
    /// variance of its ends.
    pub(crate) fn estimate(&self, joules: f64, squares: f64, known: Nanos, ends: f64, coverage: f64) -> Estimate {
        let length = known.seconds().max(1e-9);
        let spread = (squares / length - (joules / length).powi(2)).max(0.0);
        let around = TO_95 * (ends + spread * self.unseen * self.tick * length).sqrt();
        Estimate {
            joules: Joules(joules),
            low: Joules((joules - around).max(0.0) * self.factors.0),
            high: Joules((joules + around) * self.factors.1),
            coverage,
        }
    }
}

/// How unsure it is what happened in a part of a stretch, of which only the whole is known.
pub(crate) fn bridge(part: f64) -> f64 {
    let part = part.clamp(0.0, 1.0);
    part * (1.0 - part)
}

impl Span {
    /// The part of it before an instant.
    fn part(&self, time: Nanos) -> f64 {
        let inside = time.max(self.range.start).min(self.range.end) - self.range.start;
        inside.seconds() / self.range.duration().seconds()
    }

    /// What is known before an instant in it or beside it.
    fn at(&self, time: Nanos) -> Span {
        let inside = time.max(self.range.start).min(self.range.end) - self.range.start;
        Span {
            joules_before: self.joules_before + self.watts * inside.seconds(),
            squares_before: self.squares_before + self.watts * self.watts * inside.seconds(),
            known_before: self.known_before + inside,
            ..*self
        }
    }
}

impl Estimate {
    pub(crate) const NOTHING: Estimate =
        Estimate { joules: Joules(0.0), low: Joules(0.0), high: Joules(0.0), coverage: 0.0 };
}
