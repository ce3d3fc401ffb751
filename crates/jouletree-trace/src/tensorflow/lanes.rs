//! Lanes for the events of a device.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use jouletree_model::Nanos;

/// One event: when it ran, and the thread it is said to have run on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    pub(super) thread: u32,
}

/// The lane of each event. Where threads are known and their events nest, as those of a thread do, these are the lanes.
/// Else, as in a timeline, there are as few as keep events in one lane from overlapping.
pub(super) fn lanes(runs: &[Run]) -> Vec<u32> {
    let are_told = runs.iter().any(|run| run.thread != 0);
    if are_told && threads_nest(runs) { runs.iter().map(|run| run.thread).collect() } else { fewest(runs) }
}

/// Whether no event ends inside another of its thread that began earlier.
fn threads_nest(runs: &[Run]) -> bool {
    let mut sorted: Vec<&Run> = runs.iter().collect();
    sorted.sort_by_key(|run| (run.thread, run.start, Reverse(run.end)));
    let mut open: Vec<&Run> = Vec::new();
    for run in sorted {
        while open.last().is_some_and(|last| last.thread != run.thread || last.end <= run.start) {
            open.pop();
        }
        if open.last().is_some_and(|last| run.end > last.end) {
            return false;
        }
        open.push(run);
    }
    true
}

/// Every event goes to the first lane that is free when it begins.
fn fewest(runs: &[Run]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_key(|index| (runs[*index].start, runs[*index].end));
    let mut free: BinaryHeap<Reverse<u32>> = BinaryHeap::new();
    let mut taken: BinaryHeap<Reverse<(Nanos, u32)>> = BinaryHeap::new();
    let mut lanes = vec![0; runs.len()];
    let mut count = 0;
    for index in order {
        while let Some(Reverse((until, lane))) = taken.peek().copied() {
            if until > runs[index].start {
                break;
            }
            taken.pop();
            free.push(Reverse(lane));
        }
        let lane = free.pop().map_or_else(
            || {
                count += 1;
                count - 1
            },
            |Reverse(lane)| lane,
        );
        lanes[index] = lane;
        taken.push(Reverse((runs[index].end, lane)));
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(rows: &[(i64, i64, u32)]) -> Vec<Run> {
        rows.iter()
            .map(|(start, end, thread)| Run { start: Nanos(*start), end: Nanos(*end), thread: *thread })
            .collect()
    }

    #[test]
    fn threads_are_lanes_when_their_events_nest() {
        assert_eq!(lanes(&runs(&[(0, 10, 3), (2, 5, 3), (5, 10, 3), (1, 11, 8), (10, 12, 3)])), [3, 3, 3, 8, 3]);
    }

    #[test]
    fn lanes_are_made_where_threads_are_not_told_or_not_true() {
        // The second ends inside neither, the third begins when the first has ended.
        for thread in [0, 3] {
            let rows = [(0, 10, thread), (2, 15, thread), (10, 12, thread), (11, 12, thread), (12, 12, thread)];
            assert_eq!(lanes(&runs(&rows)), [0, 1, 0, 2, 0]);
        }
        assert_eq!(lanes(&runs(&[(2, 4, 0), (0, 3, 0)])), [1, 0]);
        assert_eq!(lanes(&[]), [0; 0]);
    }
}
