//! The sweep: one device's segments against its power, in one pass over time.
//!
//! With P(t) the power and n(t) the number of active lanes, S(t) = ∫ P/n dt over the instants with n > 0. A segment
//! is charged S(end) − S(start); what falls where n = 0 is charged to nobody. This is Algorithm 2 of the Smaragdine
//! paper without flattening events into instants.
//!
//! Time is cut into windows of a few thousand boundaries. In a window the boundaries of all lanes are merged as
//! plain integers (time, lane, end or begin), S is computed along them without a branch and written back lane by
//! lane, and each lane then charges its segments in order. S starts from zero in every window, so no precision is
//! lost in long runs.

use jouletree_model::{Event, Nanos, PowerSpan, TimeRange};

use crate::self_time::SelfTime;
use crate::tally::{RunningStep, Tally};

/// About how many segments of all lanes together a window holds: few enough to stay in the nearest caches.
const WINDOW: usize = 2048;

/// Charges the segments of `lanes` with the energy of `spans`, which follow each other without a gap.
pub(crate) fn sweep<'a>(lanes: Vec<SelfTime<'a>>, spans: &[PowerSpan], tally: &mut Tally) {
    let (Some(first), Some(last)) = (spans.first(), spans.last()) else { return };
    let range = TimeRange { start: first.range.start, end: last.range.end };
    let mut lanes: Vec<LaneCursor<'a>> = lanes.into_iter().map(LaneCursor::new).collect();
    if let [lane] = lanes.as_mut_slice() {
        return sweep_single(lane, spans, tally);
    }
    Merge::new(range, lanes.len()).run(&mut lanes, spans, tally);
}

/// A lane with nobody beside it: each segment is charged the energy of its extent.
fn sweep_single(lane: &mut LaneCursor<'_>, spans: &[PowerSpan], tally: &mut Tally) {
    let Some((first, mut spans)) = spans.split_first() else { return };
    let (mut span_end, mut joules_per_nano) = (first.range.end, first.power.0 * 1e-9);
    let mut at = first.range.start;
    let (mut unattributed, mut busy) = (0.0, Nanos(0));
    let mut step = RunningStep::default();
    let mut energy_until = |at: &mut Nanos, until: Nanos| {
        let mut energy = 0.0;
        while until > span_end {
            energy += joules_per_nano * (span_end.0 - at.0) as f64;
            *at = span_end;
            let Some((next, rest)) = spans.split_first() else { return energy };
            (span_end, joules_per_nano) = (next.range.end, next.power.0 * 1e-9);
            spans = rest;
        }
        energy += joules_per_nano * (until.0 - at.0) as f64;
        *at = until;
        energy
    };
    while lane.refill(WINDOW, tally) {
        for segment in &lane.segments {
            unattributed += energy_until(&mut at, segment.start);
            let energy = energy_until(&mut at, segment.end);
            let duration = segment.end.0 - segment.start.0;
            busy += Nanos(duration);
            tally.charge(segment, energy, duration, &mut step);
        }
        lane.segments.clear();
    }
    unattributed += energy_until(&mut at, Nanos::MAX);
    tally.flush(&mut step);
    tally.unattributed.0 += unattributed;
    tally.busy += busy;
}

/// One lane on its way through the windows.
struct LaneCursor<'a> {
    source: SelfTime<'a>,
    /// Segments that are not yet charged; the first is running when `running` says so.
    segments: Vec<Event>,
    running: bool,
    /// What the running segment has gathered in earlier windows.
    gathered: f64,
    exhausted: bool,
}

impl<'a> LaneCursor<'a> {
    fn new(source: SelfTime<'a>) -> LaneCursor<'a> {
        LaneCursor { source, segments: Vec::new(), running: false, gathered: 0.0, exhausted: false }
    }

    /// Makes sure that `wanted` segments are at hand if there are so many; `false` when there is none.
    fn refill(&mut self, wanted: usize, tally: &mut Tally) -> bool {
        while !self.exhausted && self.segments.len() < wanted {
            let before = self.segments.len();
            let begun = self.source.fill(wanted, &mut self.segments);
            tally.count(begun);
            self.exhausted = begun.is_empty() && self.segments.len() == before;
        }
        !self.segments.is_empty()
    }
}

/// The state of the merge over the lanes of one device.
struct Merge {
    at: Nanos,
    end: Nanos,
    /// How many segments of one lane a window looks at.
    depth: usize,
    /// How many low bits of a key name the lane and whether the boundary is a begin.
    tag_bits: u32,
    keys: Vec<u64>,
    scratch: Vec<u64>,
    /// Where each lane's keys begin in `keys` before the merge, which is where its values of S go after it.
    runs: Vec<usize>,
    values: Vec<f64>,
    /// 1/n for n active lanes, 0 for none.
    reciprocals: Vec<f64>,
    active: usize,
}

impl Merge {
    fn new(range: TimeRange, lanes: usize) -> Merge {
        let lane_bits = usize::BITS - lanes.leading_zeros();
        Merge {
            at: range.start,
            end: range.end,
            depth: (WINDOW / lanes.max(1)).max(16),
            tag_bits: lane_bits + 1,
            keys: Vec::new(),
            scratch: Vec::new(),
            runs: Vec::with_capacity(lanes + 1),
            values: Vec::new(),
            reciprocals: (0..=lanes).map(|n| if n == 0 { 0.0 } else { 1.0 / n as f64 }).collect(),
            active: 0,
        }
    }

    fn run(&mut self, lanes: &mut [LaneCursor<'_>], mut spans: &[PowerSpan], tally: &mut Tally) {
        let mut step = RunningStep::default();
        while self.at < self.end {
            let until = self.window_end(lanes, tally);
            self.collect(lanes, until);
            merge_runs(&mut self.keys, &mut self.scratch, &self.runs);
            let gathered = self.integrate(&mut spans, until, tally);
            for (index, lane) in lanes.iter_mut().enumerate() {
                self.charge(lane, index, gathered, tally, &mut step);
            }
            self.at = until;
        }
        // What ends with the range was still running when the last window closed.
        for lane in lanes.iter().filter(|lane| lane.running) {
            if let Some(segment) = lane.segments.first() {
                tally.charge(segment, lane.gathered, segment.duration().0, &mut step);
            }
        }
        tally.flush(&mut step);
    }

    /// The window reaches to where the first lane would need more segments than are at hand, and never so far that
    /// a time inside it would not fit into a key.
    fn window_end(&self, lanes: &mut [LaneCursor<'_>], tally: &mut Tally) -> Nanos {
        let widest = self.at + Nanos(i64::MAX >> self.tag_bits);
        let mut until = self.end.min(widest);
        for lane in lanes {
            lane.refill(self.depth, tally);
            if !lane.exhausted
                && let Some(last) = lane.segments.last()
            {
                until = until.min(last.end);
            }
        }
        until
    }

    /// Gathers the boundaries before `until`, lane after lane.
    fn collect(&mut self, lanes: &[LaneCursor<'_>], until: Nanos) {
        self.keys.clear();
        self.runs.clear();
        let (at, shift) = (self.at.0, self.tag_bits);
        for (index, lane) in lanes.iter().enumerate() {
            self.runs.push(self.keys.len());
            let tag = (index as u64) << 1;
            // An end sorts before a begin of the same lane and instant, so that a lane never counts twice.
            let end = |segment: &Event| (((segment.end.0 - at) as u64) << shift) | tag;
            let begin = |segment: &Event| (((segment.start.0 - at) as u64) << shift) | tag | 1;
            let mut segments = lane.segments.as_slice();
            if lane.running
                && let Some((first, rest)) = segments.split_first()
            {
                if first.end >= until {
                    continue;
                }
                self.keys.push(end(first));
                segments = rest;
            }
            let whole = segments.partition_point(|segment| segment.end < until);
            self.keys.extend(segments[..whole].iter().flat_map(|segment| [begin(segment), end(segment)]));
            if let Some(cut) = segments.get(whole).filter(|cut| cut.start < until) {
                self.keys.push(begin(cut));
            }
        }
        self.runs.push(self.keys.len());
    }

    /// Computes S at every boundary and at `until`, and books what no lane can be charged with.
    fn integrate(&mut self, spans: &mut &[PowerSpan], until: Nanos, tally: &mut Tally) -> f64 {
        let shift = self.tag_bits;
        let lane_mask = (1_u64 << (shift - 1)) - 1;
        self.values.clear();
        self.values.resize(self.keys.len(), 0.0);
        let width = (until.0 - self.at.0) as u64;
        let (mut s, mut unattributed) = (0.0, 0.0);
        let (mut at, mut idle) = (0_u64, 0_u64);
        let mut active = self.active;
        let mut keys = self.keys.as_slice();
        // Where the next value of S of each lane goes.
        let slots = &mut self.runs;
        while let Some((span, later)) = spans.split_first() {
            let joules_per_nano = span.power.0 * 1e-9;
            let limit = ((span.range.end.0 - self.at.0) as u64).min(width);
            let inside = keys.partition_point(|key| (key >> shift) < limit);
            let (now, after) = keys.split_at(inside);
            keys = after;
            let mut advance = |to: u64, active: usize| {
                let elapsed = to - at;
                at = to;
                let energy = joules_per_nano * elapsed as i64 as f64;
                s += energy * self.reciprocals[active];
                if active == 0 {
                    unattributed += energy;
                    idle += elapsed;
                }
                s
            };
            for key in now {
                let value = advance(key >> shift, active);
                let slot = &mut slots[((key >> 1) & lane_mask) as usize];
                self.values[*slot] = value;
                *slot += 1;
                active = active + 2 * (key & 1) as usize - 1;
            }
            advance(limit, active);
            if span.range.end > until {
                break;
            }
            *spans = later;
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
    fn charge(
        &self,
        lane: &mut LaneCursor<'_>,
        index: usize,
        total: f64,
        tally: &mut Tally,
        step: &mut RunningStep,
    ) {
        let from = if index == 0 { 0 } else { self.runs[index - 1] };
        let mut values = &self.values[from..self.runs[index]];
        let mut segments = lane.segments.as_slice();
        let mut charge = |segment: &Event, energy| {
            tally.charge(segment, energy, segment.end.0 - segment.start.0, step);
        };
        if lane.running {
            let (Some((end, rest)), Some((segment, later))) = (values.split_first(), segments.split_first())
            else {
                lane.gathered += total;
                return;
            };
            charge(segment, lane.gathered + end);
            lane.running = false;
            (values, segments) = (rest, later);
        }
        let pairs = values.chunks_exact(2);
        let rest = pairs.remainder();
        let mut charged = lane.segments.len() - segments.len();
        for (pair, segment) in pairs.zip(segments) {
            charge(segment, pair[1] - pair[0]);
            charged += 1;
        }
        if let [begin] = rest {
            lane.running = true;
            lane.gathered = total - begin;
        }
        lane.segments.drain(..charged);
    }
}

/// Merges the sorted runs that begin at `runs` into one.
fn merge_runs(keys: &mut Vec<u64>, _scratch: &mut Vec<u64>, _runs: &[usize]) {
    keys.sort();
}
