//! Events: one run of one operation in one lane.

use std::cmp::Reverse;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{Nanos, OpId, TimeRange};

/// The training or inference step an event belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Step(pub u32);

impl Step {
    /// No step is known.
    pub const NONE: Step = Step(u32::MAX);

    /// The step's number, if one is known.
    pub fn number(self) -> Option<u32> {
        (self != Step::NONE).then_some(self.0)
    }
}

/// One run of one operation. 24 bytes: the sweep keeps every event of a trace in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// When it began.
    pub start: Nanos,
    /// When it ended; never before `start` once it is in a [`Lane`].
    pub end: Nanos,
    /// What ran.
    pub op: OpId,
    /// In which step.
    pub step: Step,
}

const _: () = assert!(size_of::<Event>() == 24);

impl Event {
    /// How long it ran, its children included.
    #[inline]
    pub fn duration(&self) -> Nanos {
        self.end - self.start
    }
}

/// How many events share one entry of a lane's index.
const BLOCK: usize = 1024;

/// Whatever runs one thing at a time, a thread or a stream, with its events in the order in which they began.
///
/// An event that begins while another runs is nested in it, and only the innermost is active.
#[derive(Debug, Clone, PartialEq)]
pub struct Lane {
    device: usize,
    label: String,
    events: Vec<Event>,
    /// What is known about each block of events, so that what is open at an instant is found without a scan.
    blocks: Vec<Block>,
}

/// What is known about some events that follow each other.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Block {
    /// The latest end among them.
    end: Nanos,
    /// Whether each of them lasts and ends before the next event of the lane begins.
    is_flat: bool,
}

impl Lane {
    /// A lane of the device with index `device` in its trace. Events are put in order; among events with the same
    /// extent the one that comes first in `events` is the outer one. An event that ends before it begins is made
    /// empty (readers reject such events and say so).
    pub fn new(device: usize, label: impl Into<String>, mut events: Vec<Event>) -> Lane {
        for event in &mut events {
            event.end = event.end.max(event.start);
        }
        let key = |event: &Event| (event.start, Reverse(event.end));
        if !events.is_sorted_by_key(key) {
            events.sort_by_key(key);
        }
        let blocks = (0..events.len()).step_by(BLOCK).map(|from| Block::of(&events, from)).collect();
        Lane { device, label: label.into(), events, blocks }
    }

    /// The index of its device in its trace.
    pub fn device(&self) -> usize {
        self.device
    }

    /// What the trace calls it: a thread, a stream.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Its events by start, the outer before the inner.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// From its first start to its last end; `None` when it has no event.
    pub fn extent(&self) -> Option<TimeRange> {
        let start = self.events.first()?.start;
        let end = self.blocks.iter().map(|block| block.end).max()?;
        Some(TimeRange { start, end })
    }

    /// The same lane for a device with another index, its operations renumbered.
    pub fn renumbered(mut self, device: usize, ops: &[OpId]) -> Lane {
        self.device = device;
        for event in &mut self.events {
            if let Some(op) = ops.get(event.op.index()) {
                event.op = *op;
            }
        }
        self
    }

    /// The same lane with the step of every event set: that of the last of `steps`, ranges by start, that had begun
    /// when the event did and had not ended.
    pub fn in_steps(mut self, steps: &[(TimeRange, Step)]) -> Lane {
        for event in &mut self.events {
            let begun = steps.partition_point(|(range, _)| range.start <= event.start);
            let step = begun.checked_sub(1).and_then(|last| steps.get(last));
            event.step = step.filter(|(range, _)| event.start < range.end).map_or(Step::NONE, |(_, step)| *step);
        }
        self
    }

    /// What happens inside `range`: the events open at its start, outermost first, and where in [`Lane::events`]
    /// those are that begin inside.
    pub fn within(&self, range: TimeRange) -> (Vec<Event>, Range<usize>) {
        let from = self.events.partition_point(|event| event.start < range.start);
        let to = self.events.partition_point(|event| event.start < range.end).max(from);
        let open = self.events[..from]
            .chunks(BLOCK)
            .zip(&self.blocks)
            .filter(|(_, block)| block.end > range.start)
            .flat_map(|(events, _)| events.iter().copied().filter(|event| event.end > range.start))
            .collect();
        (open, from..to)
    }

    /// How many events from the one with this index on, `limit` at most, are known to be flat: each lasts and ends
    /// before the next begins. There may be more.
    pub fn flat_from(&self, index: usize, limit: usize) -> usize {
        let blocks = index / BLOCK..(index + limit).div_ceil(BLOCK).min(self.blocks.len());
        let flat = self.blocks.get(blocks).unwrap_or_default().iter().take_while(|block| block.is_flat).count();
        let end = ((index / BLOCK + flat) * BLOCK).min(self.events.len());
        end.saturating_sub(index).min(limit)
    }
}

impl Block {
    fn of(events: &[Event], from: usize) -> Block {
        let to = (from + BLOCK).min(events.len());
        let next = events.get(to).map_or(Nanos::MAX, |event| event.start);
        let starts = events[from + 1..to].iter().map(|event| event.start).chain([next]);
        let is_flat =
            events[from..to].iter().zip(starts).all(|(event, next)| event.start < event.end && event.end <= next);
        Block { end: events[from..to].iter().map(|event| event.end).max().unwrap_or_default(), is_flat }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(start: i64, end: i64, op: u32) -> Event {
        Event { start: Nanos(start), end: Nanos(end), op: OpId(op), step: Step::NONE }
    }

    #[test]
    fn outer_events_come_before_inner_ones() {
        let lane = Lane::new(0, "t", vec![event(5, 6, 2), event(0, 3, 1), event(0, 10, 0), event(0, 3, 3)]);
        let order: Vec<u32> = lane.events().iter().map(|event| event.op.0).collect();
        assert_eq!(order, [0, 1, 3, 2]);
        assert_eq!(lane.extent(), Some(TimeRange { start: Nanos(0), end: Nanos(10) }));
    }

    #[test]
    fn finds_what_is_open_at_an_instant_far_back() {
        let mut events = vec![event(0, 1_000_000, 7)];
        events.extend((0..5000).map(|i| event(i * 10, i * 10 + 5, 1)));
        let lane = Lane::new(0, "t", events);
        let (open, inside) = lane.within(TimeRange { start: Nanos(40_003), end: Nanos(40_021) });
        assert_eq!(open.iter().map(|event| event.op.0).collect::<Vec<_>>(), [7, 1]);
        assert_eq!(&lane.events()[inside], &[event(40_010, 40_015, 1), event(40_020, 40_025, 1)]);
        assert_eq!(lane.within(TimeRange::ALL).1, 0..5001);
    }

    #[test]
    fn knows_where_events_are_flat() {
        let mut events: Vec<Event> = (0..5000).map(|i| event(i * 10, i * 10 + 10, 1)).collect();
        assert_eq!(Lane::new(0, "t", events.clone()).flat_from(7, 9999), 4993);
        assert_eq!(Lane::new(0, "t", events.clone()).flat_from(7, 1500), 1500);
        events[3000].end = Nanos(30_011);
        let lane = Lane::new(0, "t", events);
        assert_eq!([0, 2048, 3072, 5000].map(|index| lane.flat_from(index, 9999)), [2048, 0, 1928, 0]);
    }

    #[test]
    fn a_negative_duration_is_emptied() {
        assert_eq!(Lane::new(0, "t", vec![event(5, 2, 0)]).events(), &[event(5, 5, 0)]);
    }
}
