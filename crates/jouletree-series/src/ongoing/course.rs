//! One sensor while it is recorded: its last seconds in full, and sums of all before.
//!
//! A stretch lies between two changes of the count. It is settled when nothing will change it any more, and when the
//! the shares are known by which it is cut; those after it are provisional and are made anew with every batch.

use std::collections::VecDeque;

use jouletree_model::sampling::{Anchors, Mono, Sample, SensorInfo};
use jouletree_model::{EnergySeries, Joules, Nanos, TimeRange, Watts};

use super::edge::{Edge, Sums};
use super::{BEGINNING, DeviceTotal, SHARES_LATE};
use crate::share::{AwaitingShares, Cut, Increment, ShareBook, SharesLate, Split};
use crate::wall::PointStep;
use crate::{OnWall, Point, SeriesBuilder, Unsure, WallPoint};

/// So many stretches are kept however old they are: an edge needs its neighbours.
const FEWEST: usize = 4;
/// What "now" means for power.
const LATELY: Nanos = Nanos(1_000_000_000);
/// Power that is older than this, beyond what the period of its sensor explains, is not known.
const STALE: Nanos = Nanos(3_000_000_000);

/// One sensor of a whole device.
#[derive(Debug)]
pub(super) struct Course {
    pub(super) info: SensorInfo,
    pub(super) cut: Cut,
    pub(super) unsure: Unsure,
    builder: SeriesBuilder,
    wall: OnWall,
    /// Points before this instant are by a clock that was set back since.
    era: Option<Mono>,
    /// Points that are final and wait for shares.
    waiting: AwaitingShares<WallPoint>,
    stretches: VecDeque<Stretch>,
    /// How many of them are settled, and what there is after those.
    settled: usize,
    after_settled: Tip,
    tip: Tip,
    /// The last point that no later reading replaces.
    firm: Option<WallPoint>,
    /// The point after it, if that is the first reading after a stall.
    unsettled: Option<Nanos>,
    has_forgotten: bool,
}

/// Where the next stretch begins.
#[derive(Debug, Clone, Copy, Default)]
struct Tip {
    last: Option<WallPoint>,
    /// The first and the last instant of which something was known, whatever was done to the clock.
    reach: Option<(Mono, Mono)>,
    /// How long nothing was known between them.
    unknown: Nanos,
    sums: Sums,
    number: u64,
}

/// A stretch of constant power.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    range: TimeRange,
    increment: Increment,
    watts: f64,
    /// The sums at its beginning.
    before: Sums,
    number: u64,
    follows_gap: bool,
}

impl Course {
    pub(super) fn new(info: SensorInfo, period: Nanos) -> Course {
        Course {
            cut: Cut::of(&info),
            unsure: Unsure::of(&info),
            builder: SeriesBuilder::new(&info, period),
            info,
            wall: OnWall::default(),
            era: None,
            waiting: AwaitingShares::new(SHARES_LATE, SharesLate::NoneWaits),
            stretches: VecDeque::new(),
            settled: 0,
            after_settled: Tip::default(),
            tip: Tip::default(),
            firm: None,
            unsettled: None,
            has_forgotten: false,
        }
    }

    pub(super) fn take(&mut self, sample: Sample) {
        self.builder.take(sample);
    }

    /// Brings everything up to date, given when its shares were last reported.
    pub(super) fn advance(
        &mut self,
        anchors: &Anchors,
        books: [&ShareBook; 2],
        reported: Option<Mono>,
        newest: Mono,
    ) {
        self.stretches.truncate(self.settled);
        self.tip = self.after_settled;
        let points: Vec<Point> = self.builder.finished().0.collect();
        let era = self.era;
        let is_of_now = |point: &Point| era.is_none_or(|era| point.at >= era);
        let points = points.into_iter().filter(is_of_now);
        self.waiting.extend(points.filter_map(|point| self.wall.take(point, anchors)));
        let settled = self.waiting.settled(reported, newest);
        self.push(settled, books);
        (self.settled, self.after_settled) = (self.stretches.len(), self.tip);
        let mut wall = self.wall.clone();
        let mut open: Vec<WallPoint> = self.waiting.iter().copied().collect();
        let points = self.builder.unfinished().filter(is_of_now);
        open.extend(points.filter_map(|point| wall.take(point, anchors)));
        self.firm = wall.last();
        let unsettled = self.builder.unsettled().filter(is_of_now);
        self.unsettled = unsettled.and_then(|point| anchors.wall(point.at));
        open.extend(unsettled.and_then(|point| wall.take(point, anchors)));
        open.extend(wall.end());
        self.push(open, books);
    }

    /// Up to when its shares are known; `None` when none are waited for.
    pub(super) fn shares_until(&self, reported: Option<Mono>, newest: Mono) -> Option<Mono> {
        self.waiting.known_until(reported, newest)
    }

    /// When the first reading after a stall was, as long as the next change may replace it.
    pub(super) fn unsettled(&self) -> Option<Nanos> {
        self.unsettled
    }

    /// The last instant before what is not settled yet; `None` where nothing is known or nothing follows.
    pub(super) fn open_since(&self) -> Option<Mono> {
        self.after_settled.last.filter(|last| !last.gap_follows).map(|last| last.at)
    }

    /// Forgets what lies before an instant, as far as no later edge needs it.
    pub(super) fn forget_before(&mut self, oldest: Nanos) {
        while self.settled > FEWEST && self.stretches.get(1).is_some_and(|next| next.range.end < oldest) {
            self.stretches.pop_front();
            self.settled -= 1;
            self.has_forgotten = true;
        }
    }

    /// The clock was set back: what comes from now on is by another one, and only sums lead across.
    pub(super) fn restart(&mut self, era: Mono) {
        self.era = Some(era);
        self.wall = OnWall::default();
        self.waiting.take_all();
        self.stretches.clear();
        self.settled = 0;
        self.after_settled.last = None;
        (self.firm, self.unsettled) = (None, None);
        self.has_forgotten = true;
    }

    /// The edge of a window that begins at an instant, and whether everything since then is known here; `None` as long
    /// as there may be something new about it, which `as_it_stands` does not wait for.
    pub(super) fn start_edge(
        &self,
        start: Nanos,
        books: [&ShareBook; 2],
        as_it_stands: bool,
    ) -> Option<(Edge, bool)> {
        let place = self.stretches.partition_point(|stretch| stretch.range.end <= start);
        let stretch = self.stretches.get(place)?;
        if !as_it_stands && place + 1 >= self.settled {
            return None;
        }
        let is_kept = place > 0 || !self.has_forgotten;
        let is_seen = place > 0 || start >= stretch.range.start - self.info.period;
        Some((self.edge(place, start, books)?, is_kept && is_seen))
    }

    /// The edge of a window that ends at an instant.
    pub(super) fn end_edge(&self, end: Nanos, books: [&ShareBook; 2]) -> Option<Edge> {
        let after = self.stretches.partition_point(|stretch| stretch.range.start < end);
        self.edge(after.checked_sub(1)?, end, books)
    }

    /// Up to when something is known, and whether it is known that there is a gap after that.
    pub(super) fn known_until(&self) -> (Option<WallPoint>, bool) {
        (self.firm, self.firm.is_none_or(|last| last.gap_follows))
    }

    /// An instant in the last stretches by the monotonic clock.
    pub(super) fn mono(&self, time: Nanos) -> Option<Mono> {
        let after = self.stretches.partition_point(|stretch| stretch.range.start < time);
        let stretch = self.stretches.get(after.checked_sub(1)?)?;
        Some(Mono(stretch.increment.from.0.saturating_add((time - stretch.range.start).0)))
    }

    /// What was used since the first sample: what is settled, or everything if nothing more will come.
    pub(super) fn total(&self, seen: Option<(Mono, Mono)>, is_over: bool) -> DeviceTotal {
        let (tip, stretches) = match is_over {
            true => (&self.tip, self.stretches.len()),
            false => (&self.after_settled, self.settled),
        };
        let (began, newest) = seen.unwrap_or_default();
        let (first, last) = tip.reach.unwrap_or((newest, newest));
        let before = Some(first - began).filter(|before| *before > BEGINNING);
        let since = Some(newest - last).filter(|_| tip.last.is_some_and(|last| last.gap_follows));
        let is_stale = newest - last > STALE + Nanos(self.info.period.0.saturating_mul(4)) + self.info.quality.lag;
        DeviceTotal {
            device: self.info.device.clone(),
            kind: self.info.kind,
            source: self.info.source.clone(),
            energy: Joules(tip.sums.microjoules as f64 * 1e-6),
            parts: tip.sums.parts,
            known: tip.sums.known,
            unknown: tip.unknown + before.unwrap_or_default() + since.unwrap_or_default().max(Nanos(0)),
            power: self.power(stretches).filter(|_| !is_stale),
        }
    }

    /// The mean power of the last second of the first so many stretches.
    fn power(&self, stretches: usize) -> Option<Watts> {
        let (mut energy, mut time) = (Joules::ZERO, Nanos(0));
        for stretch in self.stretches.iter().take(stretches).rev() {
            energy += stretch.increment.energy;
            time += stretch.range.duration();
            if time >= LATELY {
                break;
            }
        }
        (time > Nanos(0)).then(|| energy / time)
    }

    /// How many stretches are kept.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.stretches.len()
    }

    fn push(&mut self, mut points: Vec<WallPoint>, [sockets, gpus]: [&ShareBook; 2]) {
        let horizon = EnergySeries::HORIZON.0.unsigned_abs();
        points.retain(|point| point.time.0.unsigned_abs() <= horizon);
        let mut last = self.tip.last;
        let mut steps: Vec<PointStep> = Vec::with_capacity(points.len());
        for point in points {
            let is_known = last.is_some_and(|last| !last.gap_follows);
            let (first, before) = self.tip.reach.unwrap_or((point.at, point.at));
            self.tip.unknown += if is_known { Nanos(0) } else { point.at - before };
            self.tip.reach = Some((first, point.at));
            steps.extend(last.replace(point).and_then(|last| last.step_to(&point)));
        }
        self.tip.last = last;
        let increments: Vec<Increment> = steps.iter().map(|step| step.increment).collect();
        let parts = self.cut.split(&increments, sockets, gpus);
        for (step, parts) in steps.into_iter().zip(parts) {
            self.extend(step, parts);
        }
    }

    fn extend(&mut self, PointStep { range, increment, microjoules }: PointStep, parts: Split) {
        let watts = (increment.energy / range.duration()).0;
        let before = self.stretches.back().map(|before| (before.range.end, before.follows_gap));
        let follows_gap = before.is_none_or(|(end, _)| end != range.start);
        let number = self.tip.number;
        let sums = self.tip.sums;
        self.stretches.push_back(Stretch { range, increment, watts, before: sums, number, follows_gap });
        if let Some(place) = self.stretches.len().checked_sub(2) {
            // Only now it is known what follows on the one before.
            let times = before.map_or(0, |(_, followed)| u8::from(followed)) + u8::from(follows_gap);
            self.tip.sums.ends += f64::from(times) * self.unsure_at(place);
        }
        if let Some(stretch) = self.stretches.back_mut() {
            stretch.before.ends = self.tip.sums.ends;
        }
        let sums = &mut self.tip.sums;
        sums.microjoules = sums.microjoules.saturating_add(microjoules);
        sums.known += range.duration();
        sums.squares += watts * watts * range.duration().seconds();
        sums.parts.add(parts);
        self.tip.number += 1;
    }

    fn edge(&self, place: usize, time: Nanos, [sockets, gpus]: [&ShareBook; 2]) -> Option<Edge> {
        let stretch = self.stretches.get(place)?;
        let inside = time.max(stretch.range.start).min(stretch.range.end) - stretch.range.start;
        let part = inside.seconds() / stretch.range.duration().seconds();
        let Increment { from, to, energy } = stretch.increment;
        let upto = Mono(from.0.saturating_add(((to - from).0 as f64 * part).round() as i64));
        let energy = Joules(energy.0 * part);
        let mut sums = stretch.before;
        sums.inside = energy;
        sums.known += inside;
        sums.squares += stretch.watts * stretch.watts * inside.seconds();
        if inside.0 > 0 {
            let parts = self.cut.split(&[Increment { from, to: upto, energy }], sockets, gpus);
            parts.into_iter().for_each(|parts| sums.parts.add(parts));
        }
        let (number, follows_gap) = (stretch.number, stretch.follows_gap);
        let stall = (self.unsure.stall(stretch.range, stretch.watts), part);
        Some(Edge { number, sums, unsure: self.unsure_at(place), stall, follows_gap })
    }

    /// The variance of the energy up to somewhere in a stretch.
    fn unsure_at(&self, place: usize) -> f64 {
        let Some(stretch) = self.stretches.get(place) else { return 0.0 };
        let neighbours = [place.checked_sub(1), place.checked_add(1)].into_iter().flatten();
        let neighbours = neighbours.filter_map(|place| self.stretches.get(place));
        self.unsure.variance((stretch.range, stretch.watts), neighbours.map(|other| (other.range, other.watts)))
    }
}
