//! Self time: which event of a lane is active when.
//!
//! Events of a lane nest, and only the innermost is active. Cutting a lane into such stretches turns PyTorch's
//! nested operators and TensorFlow's flat kernels into the same thing: segments that follow each other.

use std::ops::Range;

use jouletree_model::{Event, Lane, Nanos, TimeRange};

/// Cuts a lane into segments, in order of time. A segment is an [`Event`] whose extent is one stretch of self time.
///
/// Where events overlap without nesting (a trace with coarse time stamps), the one that began last is active.
pub(crate) struct SelfTime<'a> {
    /// Events that have begun and may not have ended, outermost first.
    open: Vec<Event>,
    lane: &'a Lane,
    /// Which of the lane's events begin inside the range and have not been taken.
    rest: Range<usize>,
    /// Everything before this instant has been cut.
    at: Nanos,
    end: Nanos,
}

impl<'a> SelfTime<'a> {
    /// The segments of `lane` inside `range`, clipped at its borders.
    pub(crate) fn new(lane: &'a Lane, range: TimeRange) -> SelfTime<'a> {
        let (open, rest) = lane.within(range);
        SelfTime { open, lane, rest, at: range.start, end: range.end }
    }

    /// Events that were taken.
    pub(crate) fn events(&self, taken: &Range<usize>) -> &'a [Event] {
        &self.lane.events()[taken.clone()]
    }

    /// Takes the next events, `limit` at most, that are segments as they are.
    pub(crate) fn take_flat(&mut self, limit: usize) -> Range<usize> {
        let from = self.rest.start;
        self.rest.start += self.flat_ahead(limit);
        from..self.rest.start
    }

    /// Whether `count` events follow that are segments as they are.
    pub(crate) fn is_flat_ahead(&self, count: usize) -> bool {
        self.flat_ahead(count) == count
    }

    /// How many of the next events, `limit` at most, are segments as they are: not empty, not holding others, not
    /// reaching beyond the range.
    fn flat_ahead(&self, limit: usize) -> usize {
        if !self.open.is_empty() {
            return 0;
        }
        let rest = self.events(&self.rest);
        let window = &rest[..rest.len().min(limit)];
        let known = self.lane.flat_from(self.rest.start, window.len());
        let is_flat = |event: &Event, next: Nanos| event.start < event.end && event.end <= next;
        let starts = rest.get(known + 1..).unwrap_or_default().iter().map(|event| event.start).chain([self.end]);
        let more = window[known..].iter().zip(starts).take_while(|(event, next)| is_flat(event, *next)).count();
        // Only the last event before the range's end can reach beyond it.
        match rest.last() {
            Some(last) if known + more == rest.len() && last.end > self.end => known + more - 1,
            _ => known + more,
        }
    }

    /// Takes events and appends the segments they are cut into to `segments`, about `limit` of them. Returns what was
    /// taken; both are empty when nothing is left.
    pub(crate) fn cut(&mut self, limit: usize, segments: &mut Vec<Event>) -> &'a [Event] {
        let from = self.rest.start;
        let target = segments.len() + limit;
        while segments.len() < target {
            let Some(next) = self.rest.next().map(|index| &self.lane.events()[index]) else {
                self.close_until(self.end, segments);
                self.open.clear();
                break;
            };
            self.close_until(next.start, segments);
            if next.end > next.start {
                self.open.push(*next);
            }
            self.at = next.start;
        }
        // What has ended by the next event is done with, so that a flat stretch can follow.
        if let Some(next) = self.events(&self.rest).first() {
            self.close_until(next.start, segments);
        }
        self.events(&(from..self.rest.start))
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
        let begun = self_time.cut(1024, &mut segments);
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
        loop {
            let flat = self_time.take_flat(2);
            segments.extend_from_slice(self_time.events(&flat));
            if self_time.cut(1, &mut segments).is_empty() && flat.is_empty() {
                break;
            }
        }
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
