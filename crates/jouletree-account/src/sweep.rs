//! The sweep: one device's segments against its power, in one pass over time.
//!
//! The policy of [`attribution`](crate::attribution) prices time: with S(t) the cost of being active up to t, a segment is
//! charged for S(end) − S(start). With `equal` shares S(t) = ∫ P/n dt over the instants with n > 0, P being the power and n
//! the number of active lanes: Algorithm 2 of the Smaragdine paper without flattening events into instants.
//!
//! Time is cut into windows of a few thousand boundaries. In a window the boundaries of all lanes are merged as
//! plain integers (time, lane, end or begin), S is computed along them without a branch and written back lane by
//! lane, and each lane then charges its segments in order. S starts from zero in every window, so no precision is
//! lost in long runs.
//!
//! Everything is generic over the policy: `equal` compiles to a loop that knows nothing of weights.

use std::ops::Range;

use jouletree_model::{Event, Nanos, PowerSpan, TimeRange};

use crate::attribution::{Active, Shares};
use crate::cursor::{LaneCursor, Running};
use crate::merge::{Merger, SENTINEL};
use crate::self_time::SelfTime;
use crate::tally::Tally;

/// About how many segments of all lanes together a window holds: few enough to stay in the nearest caches.
const WINDOW: usize = 2048;

/// The spans of a sweep, which follow each other without a gap, and the index of the first among those the policy knows.
#[derive(Clone, Copy)]
pub(crate) struct Spans<'a> {
    pub(crate) first: usize,
    pub(crate) spans: &'a [PowerSpan],
}

/// Charges the segments of `lanes` with the energy of `spans`.
pub(crate) fn sweep<'a, S: Shares>(lanes: Vec<SelfTime<'a>>, spans: Spans<'_>, shares: &S, tally: &mut Tally) {
    let (Some(first), Some(last)) = (spans.spans.first(), spans.spans.last()) else { return };
    let range = TimeRange { start: first.range.start, end: last.range.end };
    let mut lanes: Vec<LaneCursor<'a, S::Cost>> = lanes.into_iter().map(LaneCursor::new).collect();
    match lanes.as_mut_slice() {
        [lane] => sweep_single(lane, spans, shares, tally),
        lanes => Merge::new(range, lanes.len(), shares).run(lanes, spans, tally),
    }
}

/// A device with one lane: each segment is charged for its extent, and no costs are summed.
fn sweep_single<S: Shares>(lane: &mut LaneCursor<'_, S::Cost>, spans: Spans<'_>, shares: &S, tally: &mut Tally) {
    let mut power = PowerCursor::new(spans, shares);
    while lane.refill(WINDOW, tally) {
        let (segments, count) = lane.segments();
        let charged = segments.len();
        let mut charger = tally.charger();
        for segment in segments {
            charger.charge(segment, power.energy(segment), count);
        }
        drop(charger);
        lane.consume(charged);
    }
    while power.leave_span() {}
    tally.unattributed.0 += power.unattributed;
    tally.busy += power.busy;
}

/// The span of power that a sweep of one lane has reached.
struct PowerCursor<'a, S> {
    shares: &'a S,
    span: Option<&'a PowerSpan>,
    /// The index of `span`.
    index: usize,
    later: &'a [PowerSpan],
    end: Nanos,
    joules_per_nano: f64,
    busy_in_span: i64,
    busy: Nanos,
    unattributed: f64,
}

impl<'a, S: Shares> PowerCursor<'a, S> {
    fn new(Spans { first, spans }: Spans<'a>, shares: &'a S) -> PowerCursor<'a, S> {
        let mut cursor = PowerCursor {
            shares,
            span: None,
            index: first,
            later: spans,
            end: Nanos::MIN,
            joules_per_nano: 0.0,
            busy_in_span: 0,
            busy: Nanos(0),
            unattributed: 0.0,
        };
        cursor.leave_span();
        cursor
    }

    /// Books what is unattributed in this span and goes on to the next; `false` when there is none.
    fn leave_span(&mut self) -> bool {
        if let Some(span) = self.span {
            let idle = span.range.duration().0 - self.busy_in_span;
            let (idle, busy) =
                (self.joules_per_nano * idle as f64, self.joules_per_nano * self.busy_in_span as f64);
            self.unattributed += self.shares.unattributed(self.index, idle, busy);
            self.busy += Nanos(self.busy_in_span);
            self.index += 1;
        }
        self.busy_in_span = 0;
        self.span = self.later.first();
        let Some(span) = self.span else { return false };
        self.later = &self.later[1..];
        (self.end, self.joules_per_nano) = (span.range.end, span.power.0 * 1e-9);
        true
    }

    /// The energy of a segment that begins no earlier than the one before ended.
    #[inline]
    fn energy(&mut self, segment: &Event) -> f64 {
        if segment.end > self.end {
            return self.energy_across_spans(segment);
        }
        let duration = segment.end.0 - segment.start.0;
        self.busy_in_span += duration;
        let weight = self.shares.weight(0, segment.op);
        self.shares.alone(self.index, self.joules_per_nano * duration as f64, weight)
    }

    #[cold]
    fn energy_across_spans(&mut self, segment: &Event) -> f64 {
        let (mut energy, mut start) = (0.0, segment.start);
        let weight = self.shares.weight(0, segment.op);
        loop {
            let end = segment.end.min(self.end);
            if start < end {
                let duration = end.0 - start.0;
                self.busy_in_span += duration;
                energy += self.shares.alone(self.index, self.joules_per_nano * duration as f64, weight);
                start = end;
            }
            if segment.end <= self.end || !self.leave_span() {
                return energy;
            }
        }
    }
}

/// The state of the merge over the lanes of one device.
///
/// A key is the time of a boundary since the window's start, with the number of its slot in the low bits: that is
/// where its value of S goes. Ends have even slots and begins odd ones, so an end sorts before a begin of the same
/// lane and instant and a lane never counts twice.
struct Merge<'s, S: Shares> {
    shares: &'s S,
    at: Nanos,
    end: Nanos,
    /// How many segments of one lane a window looks at.
    depth: usize,
    /// How many low bits of a key name the slot.
    slot_bits: u32,
    keys: Vec<u64>,
    /// How many keys there are after the merge.
    merged: usize,
    /// Where each lane's keys begin in `keys` before the merge.
    runs: Vec<usize>,
    /// The slots of each lane's keys.
    slots: Vec<Range<usize>>,
    values: Vec<S::Cost>,
    /// The weight of what begins or ends at each slot; empty where all operations are alike.
    weights: Vec<S::Weight>,
    merger: Merger,
    active: Active<S::Load>,
}

// The three loops of a window are never inlined: together they run out of registers, which costs a quarter of the speed.
impl<'s, S: Shares> Merge<'s, S> {
    /// Whether operations differ in weight.
    const WEIGHED: bool = size_of::<S::Weight>() > 0;

    fn new(range: TimeRange, lanes: usize, shares: &'s S) -> Merge<'s, S> {
        let depth = (WINDOW / lanes.max(1)).max(16);
        // Two boundaries a segment, one of the running segment, and one slot to make the first one even or odd.
        let slots = lanes * (2 * depth + 2);
        Merge {
            shares,
            at: range.start,
            end: range.end,
            depth,
            slot_bits: usize::BITS - slots.leading_zeros(),
            keys: vec![0; slots + lanes],
            merged: 0,
            runs: Vec::with_capacity(lanes + 1),
            slots: Vec::with_capacity(lanes),
            values: vec![S::Cost::default(); slots],
            weights: vec![S::Weight::default(); if Self::WEIGHED { slots } else { 0 }],
            merger: Merger::new(slots + lanes),
            active: Active::default(),
        }
    }

    fn run(&mut self, lanes: &mut [LaneCursor<'_, S::Cost>], mut spans: Spans<'_>, tally: &mut Tally) {
        while self.at < self.end {
            let until = self.window_end(lanes, tally);
            self.collect(lanes, until);
            self.merged = self.merger.merge(&mut self.keys, &self.runs);
            let total = self.integrate(&mut spans, until, tally);
            for (index, lane) in lanes.iter_mut().enumerate() {
                self.charge(lane, index, total, tally);
            }
            self.at = until;
        }
        // What ends with the range was still running when the last window closed.
        for (index, lane) in lanes.iter().enumerate() {
            if let Some(Running { segment, count, gathered }) = lane.running {
                tally.charger().charge(&segment, self.energy(index, &segment, gathered), count);
            }
        }
    }

    /// The joules of a segment that was active while costs grew by `cost`.
    #[inline]
    fn energy(&self, lane: usize, segment: &Event, cost: S::Cost) -> f64 {
        self.shares.charge(cost, self.shares.weight(lane, segment.op))
    }

    /// The window reaches to where the first lane would need more segments than are at hand, and never so far that
    /// a time inside it would not fit into a key.
    fn window_end(&self, lanes: &mut [LaneCursor<'_, S::Cost>], tally: &mut Tally) -> Nanos {
        let widest = self.at + Nanos(i64::MAX >> self.slot_bits);
        let mut until = self.end.min(widest);
        for lane in lanes {
            lane.refill(self.depth, tally);
            let at_hand = lane.segments().0;
            let looked_at = &at_hand[..at_hand.len().min(self.depth)];
            let is_all = lane.is_exhausted() && looked_at.len() == at_hand.len();
            if let Some(last) = looked_at.last().filter(|_| !is_all) {
                until = until.min(last.end);
            }
        }
        until
    }

    /// Gathers the boundaries before `until`, lane after lane.
    #[inline(never)]
    fn collect(&mut self, lanes: &[LaneCursor<'_, S::Cost>], until: Nanos) {
        self.runs.clear();
        self.slots.clear();
        let (at, shift) = (self.at.0, self.slot_bits);
        let key = |time: Nanos, slot: usize| (((time.0 - at) as u64) << shift) | slot as u64;
        let (mut free_slot, mut free_key) = (0, 0);
        for (index, lane) in lanes.iter().enumerate() {
            self.runs.push(free_key);
            let running = lane.running.as_ref().map(|running| running.segment.end);
            let first = free_slot + usize::from(running.is_none());
            let mut slot = first;
            if running.is_none_or(|end| end < until) {
                if let Some(end) = running {
                    self.keys[free_key] = key(end, slot);
                    (free_key, slot) = (free_key + 1, slot + 1);
                }
                let segments = lane.segments().0;
                let segments = &segments[..segments.len().min(self.depth)];
                let mut ended = 0;
                for (segment, pair) in segments.iter().zip(self.keys[free_key..].as_chunks_mut::<2>().0) {
                    if segment.end >= until {
                        break;
                    }
                    *pair = [key(segment.start, slot + 2 * ended), key(segment.end, slot + 2 * ended + 1)];
                    ended += 1;
                }
                (free_key, slot) = (free_key + 2 * ended, slot + 2 * ended);
                if let Some(begun) = segments.get(ended).filter(|begun| begun.start < until) {
                    self.keys[free_key] = key(begun.start, slot);
                    (free_key, slot) = (free_key + 1, slot + 1);
                }
            }
            self.keys[free_key] = SENTINEL;
            free_key += 1;
            if Self::WEIGHED {
                self.weigh(index, lane, first..slot);
            }
            self.slots.push(first..slot);
            free_slot = slot.next_multiple_of(2);
        }
        self.runs.push(free_key);
    }

    /// Notes the weights of the segments of a lane whose boundaries have these slots: the end of the running one, then the
    /// begin and the end of each.
    fn weigh(&mut self, index: usize, lane: &LaneCursor<'_, S::Cost>, slots: Range<usize>) {
        let (segments, _) = lane.segments();
        let running = lane.running.as_ref().map(|running| running.segment);
        let each = segments.iter().flat_map(|segment| [segment.op, segment.op]);
        let ops = running.map(|segment| segment.op).into_iter().chain(each);
        for (weight, op) in self.weights[slots].iter_mut().zip(ops) {
            *weight = self.shares.weight(index, op);
        }
    }

    /// Computes S at every boundary and at `until`, and books what is unattributed.
    #[inline(never)]
    fn integrate(&mut self, all: &mut Spans<'_>, until: Nanos, tally: &mut Tally) -> S::Cost {
        let shift = self.slot_bits;
        let slot_mask = (1_u64 << shift) - 1;
        let width = (until.0 - self.at.0) as u64;
        let (mut s, mut unattributed) = (S::Cost::default(), 0.0);
        let (mut at, mut idle) = (0_u64, 0_u64);
        let mut active = self.active;
        let mut keys = &self.keys[..self.merged];
        let values = self.values.as_mut_slice();
        let (weights, shares) = (self.weights.as_slice(), self.shares);
        while let Some((span, later)) = all.spans.split_first() {
            let joules_per_nano = span.power.0 * 1e-9;
            let limit = ((span.range.end.0 - self.at.0) as u64).min(width);
            let inside = keys.partition_point(|key| (key >> shift) < limit);
            let (now, after) = keys.split_at(inside);
            keys = after;
            let (mut idle_here, from) = (0, at);
            for key in now {
                let time = key >> shift;
                let elapsed = time - at;
                at = time;
                idle_here += if active.lanes == 0 { elapsed } else { 0 };
                s += shares.cost(all.first, joules_per_nano * elapsed as i64 as f64, active);
                active.lanes = active.lanes + 2 * (key & 1) as usize - 1;
                let slot = (key & slot_mask) as usize;
                if Self::WEIGHED {
                    let (load, weight) = (active.load, weights[slot]);
                    active.load = if key & 1 == 1 { shares.begin(load, weight) } else { shares.end(load, weight) };
                }
                values[slot] = s;
            }
            let elapsed = limit - at;
            at = limit;
            idle_here += if active.lanes == 0 { elapsed } else { 0 };
            s += shares.cost(all.first, joules_per_nano * elapsed as i64 as f64, active);
            let joules = |time: u64| joules_per_nano * time as i64 as f64;
            unattributed += shares.unattributed(all.first, joules(idle_here), joules(at - from - idle_here));
            idle += idle_here;
            if span.range.end > until {
                break;
            }
            (all.spans, all.first) = (later, all.first + 1);
            if limit == width {
                break;
            }
        }
        self.active = active;
        tally.unattributed.0 += unattributed;
        tally.busy += Nanos((width - idle) as i64);
        s
    }

    /// Charges the segments of a lane that ended in the window and notes what the running one has gathered.
    #[inline(never)]
    fn charge(&self, lane: &mut LaneCursor<'_, S::Cost>, index: usize, total: S::Cost, tally: &mut Tally) {
        let mut charger = tally.charger();
        let mut values = &self.values[self.slots[index].clone()];
        if let Some(running) = &mut lane.running {
            let Some((end, rest)) = values.split_first() else {
                running.gathered += total;
                return;
            };
            let energy = self.energy(index, &running.segment, running.gathered + *end);
            charger.charge(&running.segment, energy, running.count);
            values = rest;
        }
        let (segments, count) = lane.segments();
        let pairs = values.chunks_exact(2);
        let begun = pairs.remainder().first().zip(segments.get(pairs.len()));
        let running = begun.map(|(begin, segment)| Running { segment: *segment, count, gathered: total - *begin });
        for (pair, segment) in pairs.zip(segments) {
            charger.charge(segment, self.energy(index, segment, pair[1] - pair[0]), count);
        }
        lane.running = running;
        lane.consume(values.len().div_ceil(2));
    }
}
