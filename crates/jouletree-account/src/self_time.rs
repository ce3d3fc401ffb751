//! Self time: which event of a lane is active when.
//!
//! Events of a lane nest, and only the innermost is active. Cutting a lane into such stretches turns PyTorch's
//! nested operators and TensorFlow's flat kernels into the same thing: segments that follow each other.

use jouletree_model::{Event, Lane, Nanos, TimeRange};

/// Cuts a lane into segments, in order of time. A segment is an [`Event`] whose extent is one stretch of self time.
///
/// Where events overlap without nesting (a trace with coarse time stamps), the one that began last is active.
pub(crate) struct SelfTime<'a> {
    /// Events that have begun and may not have ended, outermost first.
    open: Vec<Event>,
    rest: &'a [Event],
    /// Everything before this instant has been cut.
    at: Nanos,
    end: Nanos,
}

impl<'a> SelfTime<'a> {
    /// The segments of `lane` inside `range`, clipped at its borders.
    pub(crate) fn new(lane: &'a Lane, range: TimeRange) -> SelfTime<'a> {
        let (open, rest) = lane.within(range);
        SelfTime { open, rest, at: range.start, end: range.end }
    }

    /// Appends about `limit` segments or more to `segments` and returns the events that began meanwhile; both are
    /// empty when nothing is left.
    pub(crate) fn fill(&mut self, limit: usize, segments: &mut Vec<Event>) -> &'a [Event] {
        let before = self.rest;
        let target = segments.len() + limit;
        while segments.len() < target {
            if self.open.is_empty() {
                let flat = self.flat_prefix(target - segments.len());
                if flat > 0 {
                    let (head, tail) = self.rest.split_at(flat);
                    segments.extend_from_slice(head);
                    self.rest = tail;
                    continue;
                }
            }
            let Some((next, tail)) = self.rest.split_first() else {
                self.close_until(self.end, segments);
                self.open.clear();
                break;
            };
            self.rest = tail;
            self.close_until(next.start, segments);
            if next.end > next.start {
                self.open.push(*next);
            }
            self.at = next.start;
        }
        &before[..before.len() - self.rest.len()]
    }

    /// How many of the next events, `limit` at most, are segments as they stand: not empty, not holding others, not
    /// reaching beyond the range.
    fn flat_prefix(&self, limit: usize) -> usize {
        let window = &self.rest[..self.rest.len().min(limit + 1)];
        let is_flat = |event: &Event, next: Nanos| event.start < event.end && event.end <= next;
        let flat = window.windows(2).take_while(|pair| is_flat(&pair[0], pair[1].start)).count();
        match window.get(flat) {
            Some(last) if flat + 1 == self.rest.len() && is_flat(last, self.end) => flat + 1,
            _ => flat,
        }
    }

    /// Cuts up to `instant`: ends what has ended by then and interrupts what still runs.
    fn close_until(&mut self, instant: Nanos, segments: &mut Vec<Event>) {
        while let Some(&innermost) = self.open.last() {
            let end = innermost.end.min(instant);
            if end > self.at {
                segments.push(Event { start: self.at, end, ..innermost });
                self.at = end;
            }
            if innermost.end > instant {
                break;
            }
            self.open.pop();
        }
    }
}

/// How long any event of `lane` is active inside `range`.
pub(crate) fn active_time(lane: &Lane, range: TimeRange) -> Nanos {
    let mut self_time = SelfTime::new(lane, range);
    let mut segments = Vec::new();
    let mut total = Nanos(0);
    loop {
        let begun = self_time.fill(1024, &mut segments);
        if segments.is_empty() && begun.is_empty() {
            return total;
        }
        for segment in segments.drain(..) {
            total += segment.duration();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jouletree_model::{OpId, Step};

    fn event(start: i64, end: i64, op: u32) -> Event {
        Event { start: Nanos(start), end: Nanos(end), op: OpId(op), step: Step::NONE }
    }

    fn cut(events: Vec<Event>, from: i64, to: i64) -> Vec<(i64, i64, u32)> {
        let lane = Lane::new(0, "lane", events);
        let mut self_time = SelfTime::new(&lane, TimeRange { start: Nanos(from), end: Nanos(to) });
        let mut segments = Vec::new();
        while !self_time.fill(1, &mut segments).is_empty() {}
        self_time.fill(1, &mut segments);
        segments.iter().map(|s| (s.start.0, s.end.0, s.op.0)).collect()
    }

    #[test]
    fn the_innermost_event_is_active() {
        let events = vec![event(0, 100, 0), event(10, 40, 1), event(20, 30, 2), event(40, 50, 3)];
        assert_eq!(
            cut(events, -5, 200),
            [(0, 10, 0), (10, 20, 1), (20, 30, 2), (30, 40, 1), (40, 50, 3), (50, 100, 0)]
        );
    }

    #[test]
    fn the_last_begun_event_wins_where_events_overlap_without_nesting() {
        assert_eq!(cut(vec![event(0, 10, 0), event(5, 15, 1)], 0, 20), [(0, 5, 0), (5, 15, 1)]);
        assert_eq!(
            cut(vec![event(0, 10, 0), event(5, 15, 1), event(12, 13, 2)], 0, 20),
            [(0, 5, 0), (5, 12, 1), (12, 13, 2), (13, 15, 1)]
        );
    }

    #[test]
    fn segments_are_clipped_at_the_borders_of_the_range() {
        let events = vec![event(0, 100, 0), event(10, 40, 1), event(60, 70, 2)];
        assert_eq!(cut(events, 20, 65), [(20, 40, 1), (40, 60, 0), (60, 65, 2)]);
    }

    #[test]
    fn flat_events_pass_unchanged_and_empty_ones_vanish() {
        let events = vec![event(0, 5, 0), event(5, 5, 1), event(5, 9, 2), event(12, 20, 3)];
        assert_eq!(cut(events, 0, 15), [(0, 5, 0), (5, 9, 2), (12, 15, 3)]);
    }
}
