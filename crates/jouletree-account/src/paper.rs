//! Algorithm 2 of the Smaragdine paper as it is printed, for comparison.
//!
//! Time is whole microseconds; an operation is active from its start to its end, both included; the operations of
//! an instant are a set, so that an operation that runs twice at once counts once; nesting is ignored. All of that
//! is a matter of how lanes and power are laid out, so the same sweep serves: every operation becomes a lane of its
//! own, with its overlapping runs joined.

use jouletree_model::{EnergySeries, Event, Joules, Lane, Nanos, OpId, TimeRange};

const MICRO: i64 = 1000;

/// One lane for every operation of `lanes`.
pub(crate) fn lanes_by_operation<'a>(lanes: impl Iterator<Item = &'a Lane>) -> Vec<Lane> {
    let mut runs: Vec<Event> = lanes.flat_map(Lane::events).map(inclusive_micros).collect();
    runs.sort_unstable_by_key(|run| (run.op, run.start, run.end));
    runs.chunk_by(|a, b| a.op == b.op)
        .map(|runs| {
            let mut joined: Vec<Event> = Vec::with_capacity(runs.len());
            for run in runs {
                match joined.last_mut() {
                    Some(last) if run.start <= last.end => last.end = last.end.max(run.end),
                    _ => joined.push(*run),
                }
            }
            Lane::new(0, "", joined)
        })
        .collect()
}

/// How often each operation runs in `lanes`; joined runs would count once.
pub(crate) fn counts<'a>(lanes: impl Iterator<Item = &'a Lane>, ops: usize) -> Vec<u64> {
    let mut counts = vec![0; ops];
    for event in lanes.flat_map(Lane::events) {
        counts[OpId::index(event.op)] += 1;
    }
    counts
}

/// The event on the grid of microseconds, the last one included.
fn inclusive_micros(event: &Event) -> Event {
    let first = event.start.0.div_euclid(MICRO);
    let after = first + event.duration().0.div_euclid(MICRO) + 1;
    Event { start: Nanos(first.saturating_mul(MICRO)), end: Nanos(after.saturating_mul(MICRO)), ..*event }
}

/// The extent of events on the grid of microseconds.
pub(crate) fn on_grid(extent: TimeRange) -> TimeRange {
    let floor = |time: Nanos| Nanos(time.0.div_euclid(MICRO).saturating_mul(MICRO));
    TimeRange { start: floor(extent.start), end: floor(extent.end) + Nanos(MICRO) }
}

/// The same power on the grid of microseconds: an instant takes the reading at or before it, so a reading between
/// two instants begins to hold at the later one.
pub(crate) fn on_micros(series: &EnergySeries) -> EnergySeries {
    let mut aligned = EnergySeries::default();
    let mut energy = Joules::ZERO;
    let mut end = None;
    for span in series.spans() {
        let range = TimeRange { start: next_micro(span.range.start), end: next_micro(span.range.end) };
        if range.is_empty() {
            continue;
        }
        if let Some(end) = end.filter(|end| *end != range.start) {
            push(&mut aligned, end, energy, true);
        }
        push(&mut aligned, range.start, energy, false);
        energy += span.power * range.duration();
        end = Some(range.end);
    }
    if let Some(end) = end {
        push(&mut aligned, end, energy, false);
    }
    aligned
}

fn next_micro(time: Nanos) -> Nanos {
    Nanos((time.0 + MICRO - 1).div_euclid(MICRO) * MICRO)
}

/// Spans come in order and stay so on the grid, and the horizon of a series lies on the grid, too: no point is refused.
fn push(series: &mut EnergySeries, time: Nanos, energy: Joules, gap: bool) {
    let refused = series.push(time, energy, gap);
    debug_assert!(refused.is_ok(), "{refused:?}");
}
