//! Operations that go on after their call has returned: XLA hands the work of large ones to a pool of threads, and an event
//! `end: …` says when it was done. Of such an operation the event is the call; it is made to last as long as the work did.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use rustc_hash::FxHashMap;

use jouletree_model::{Event, Nanos};

/// The call of an operation, by its events in a line: one for each part of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    /// What its end refers to it by.
    pub(super) id: i64,
    /// The first of its events.
    pub(super) first: usize,
    /// How many there are.
    pub(super) count: usize,
}

impl Call {
    /// The positions of its events.
    pub(super) fn range(&self) -> Range<usize> {
        self.first..self.first + self.count
    }
}

/// Calls and ends, until all of a file are known.
#[derive(Debug, Default)]
pub(super) struct Work {
    calls: Vec<(usize, Call)>,
    ends: FxHashMap<i64, Nanos>,
    /// Further ends of calls whose number was used again, in order once all are known.
    more_ends: FxHashMap<i64, Vec<Nanos>>,
}

impl Work {
    /// Notes the calls in a line, whose events were added to a lane from `offset` on.
    pub(super) fn called(&mut self, lane: usize, offset: usize, calls: Vec<Call>) {
        let moved = |call: Call| (lane, Call { first: call.first + offset, ..call });
        self.calls.extend(calls.into_iter().map(moved));
    }

    /// Notes when the work of a call was done.
    pub(super) fn ended(&mut self, id: i64, at: Nanos) {
        match self.ends.entry(id) {
            Entry::Vacant(unknown) => {
                unknown.insert(at);
            }
            Entry::Occupied(_) => self.more_ends.entry(id).or_default().push(at),
        }
    }

    /// When the work of a call that began at `start` was done: the first end of its number after that.
    fn end(&self, id: i64, start: Nanos) -> Option<Nanos> {
        let first = self.ends.get(&id).filter(|end| **end >= start);
        let later = self.more_ends.get(&id).and_then(|ends| ends.get(ends.partition_point(|end| *end < start)));
        first.into_iter().chain(later).min().copied()
    }

    /// Takes the operations out of their lanes that went on after their call, and gives them as lanes of their own:
    /// their threads did other things meanwhile.
    pub(super) fn outlasting(mut self, lanes: &mut [&mut Vec<Event>]) -> Vec<Vec<Event>> {
        self.more_ends.values_mut().for_each(|ends| ends.sort_unstable());
        let mut taken: Vec<Vec<Event>> = Vec::new();
        let mut gone: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        for (lane, call) in &self.calls {
            let Some(events) = lanes.get(*lane).and_then(|events| events.get(call.range())) else { continue };
            let (Some(first), Some(last)) = (events.first(), events.last()) else { continue };
            let Some(end) = self.end(call.id, first.start) else { continue };
            if end > last.end {
                taken.push(stretched(events, (first.start, last.end), end));
                gone.entry(*lane).or_default().extend(call.range());
            }
        }
        for (lane, gone) in gone {
            let (mut index, mut gone) = (0, gone.into_iter().peekable());
            lanes[lane].retain(|_| {
                let is_gone = gone.next_if_eq(&index).is_some();
                index += 1;
                !is_gone
            });
        }
        side_by_side(taken)
    }
}

/// The parts of an operation, made to fill the time until another end.
fn stretched(events: &[Event], (start, was): (Nanos, Nanos), end: Nanos) -> Vec<Event> {
    let scale = (end - start).0 as f64 / ((was - start).0 as f64).max(1.0);
    let at = |instant: Nanos| match instant {
        instant if instant >= was => end,
        instant => (start + Nanos(((instant - start).0 as f64 * scale).round() as i64)).min(end),
    };
    events.iter().map(|event| Event { start: at(event.start), end: at(event.end), ..*event }).collect()
}

/// Puts operations into as few lanes as it takes for none to overlap another.
pub(super) fn side_by_side(mut operations: Vec<Vec<Event>>) -> Vec<Vec<Event>> {
    operations.sort_by_key(|parts| parts.first().map(|part| part.start));
    let mut lanes: Vec<Vec<Event>> = Vec::new();
    // When each lane is free again, the earliest first.
    let mut free: BinaryHeap<Reverse<(Nanos, usize)>> = BinaryHeap::new();
    for parts in operations {
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else { continue };
        let (start, end) = (first.start, last.end);
        let earliest = free.peek().filter(|Reverse((at, _))| *at <= start).map(|Reverse((_, lane))| *lane);
        let lane = match earliest {
            Some(lane) => {
                free.pop();
                lanes[lane].extend(parts);
                lane
            }
            None => {
                lanes.push(parts);
                lanes.len() - 1
            }
        };
        free.push(Reverse((end, lane)));
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;
    use jouletree_model::{OpId, Step};

    fn event(start: i64, end: i64, op: u32) -> Event {
        Event { start: Nanos(start), end: Nanos(end), op: OpId(op), step: Step::NONE }
    }

    #[test]
    fn an_operation_lasts_until_its_work_is_done() {
        // Two parts of one operation, one that was done at once, one that overlaps the first's work.
        let mut thread = vec![event(0, 4, 0), event(4, 10, 1), event(10, 20, 2), event(20, 30, 3)];
        let mut other = vec![event(100, 110, 4)];
        let mut work = Work::default();
        let call = |id, first, count| Call { id, first, count };
        work.called(0, 0, vec![call(7, 0, 2), call(8, 2, 1)]);
        work.called(0, 1, vec![call(9, 2, 1)]);
        work.called(1, 0, vec![call(1, 0, 1), call(2, 5, 1)]);
        for (id, at) in [(7, 100), (8, 15), (9, 90)] {
            work.ended(id, Nanos(at));
        }
        let lanes = work.outlasting(&mut [&mut thread, &mut other]);
        assert_eq!(thread, [event(10, 20, 2)]);
        assert_eq!(other, [event(100, 110, 4)]);
        assert_eq!(lanes, [vec![event(0, 40, 0), event(40, 100, 1)], vec![event(20, 90, 3)]]);
    }

    #[test]
    fn a_number_that_is_used_again_means_the_next_end() {
        let mut thread = vec![event(0, 10, 0), event(1000, 1010, 1)];
        let mut work = Work::default();
        work.called(0, 0, vec![Call { id: 7, first: 0, count: 1 }, Call { id: 7, first: 1, count: 1 }]);
        work.ended(7, Nanos(20));
        work.ended(7, Nanos(1020));
        let lanes = work.outlasting(&mut [&mut thread]);
        assert_eq!(lanes, [vec![event(0, 20, 0), event(1000, 1020, 1)]]);
    }
}
