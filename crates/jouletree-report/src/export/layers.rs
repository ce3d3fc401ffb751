//! The layers that ran, as slices that nest: `forward`, in it `bert`, in it `encoder`.
//!
//! At each instant the slices are those of the operation that began first of all that run on the device. What two operations
//! in a row have in common stays open, however short the pause between them, until the step ends.

use jouletree_account::components;
use jouletree_model::{Event, Nanos, OpId, Pass, Step, Trace};
use rustc_hash::FxHashMap;

/// The beginning or the end of a slice, in order of time; slices end in the reverse order of their beginnings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge<'a> {
    /// A slice begins.
    Begin { at: Nanos, name: &'a str, pass: Pass },
    /// The slice that began last ends.
    End { at: Nanos },
}

/// A name of something open, and the pass that it is in.
type Frame<'a> = (&'a str, Pass);

/// Shows the layers that ran in these lanes of a trace.
pub(super) fn layer_edges<'a, E>(
    trace: &'a Trace,
    lanes: &[usize],
    mut edge: impl FnMut(Edge<'a>) -> Result<(), E>,
) -> Result<(), E> {
    let mut events: Vec<&Event> =
        lanes.iter().filter_map(|lane| trace.lanes.get(*lane)).flat_map(|lane| lane.events()).collect();
    events.sort_by_key(|event| (event.start, std::cmp::Reverse(event.end)));
    let mut known: FxHashMap<OpId, Vec<Frame<'a>>> = FxHashMap::default();
    let mut open: Vec<Frame<'a>> = Vec::new();
    let (mut until, mut step) = (Nanos::MIN, Step::NONE);
    for event in events {
        if event.end <= until || event.duration() <= Nanos(0) {
            continue;
        }
        let frames = known.entry(event.op).or_insert_with(|| layers(trace, event.op));
        let start = event.start.max(until);
        let common = if event.step == step { common(&open, frames) } else { 0 };
        while open.len() > common {
            open.pop();
            edge(Edge::End { at: until })?;
        }
        for (name, pass) in frames.iter().skip(common) {
            edge(Edge::Begin { at: start, name, pass: *pass })?;
            open.push((name, *pass));
        }
        (until, step) = (event.end, event.step);
    }
    open.iter().try_for_each(|_| edge(Edge::End { at: until }))
}

/// The pass of an operation and the layers around it.
fn layers(trace: &Trace, op: OpId) -> Vec<Frame<'_>> {
    let Some(op) = trace.ops.get(op) else { return Vec::new() };
    let mut layers: Vec<Frame<'_>> = components(&op.path).map(|name| (name, op.pass)).collect();
    layers.pop();
    layers.insert(0, (op.pass.as_str(), op.pass));
    layers
}

fn common(open: &[Frame<'_>], next: &[Frame<'_>]) -> usize {
    open.iter().zip(next).take_while(|(open, next)| open == next).count()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use jouletree_model::{Lane, Op};

    #[test]
    fn layers_nest_and_stay_open_over_pauses() {
        let mut trace = Trace::default();
        let mut event = |path: &str, start: i64, end: i64, step: u32| Event {
            start: Nanos(start),
            end: Nanos(end),
            op: trace.ops.intern(Op::new(path, "t", path, Pass::Forward)),
            step: Step(step),
        };
        let first = vec![event("a/b/x", 0, 10, 1), event("a/c/x", 20, 30, 1), event("a/c/x", 40, 50, 2)];
        // Runs beside the first, and is seen when that has ended.
        let second = vec![event("a/c/y", 5, 15, 1)];
        trace.lanes = vec![Lane::new(0, "0", first), Lane::new(0, "1", second)];
        let mut found = Vec::new();
        let Ok(()) = layer_edges(&trace, &[0, 1], |edge| {
            found.push(match edge {
                Edge::Begin { at, name, .. } => format!("{} {name}", at.0),
                Edge::End { at } => format!("{} end", at.0),
            });
            Ok::<(), Infallible>(())
        });
        let expected = [
            "0 forward",
            "0 a",
            "0 b",
            "10 end",
            "10 c",
            "30 end",
            "30 end",
            "30 end",
            "40 forward",
            "40 a",
            "40 c",
            "50 end",
            "50 end",
            "50 end",
        ];
        assert_eq!(found, expected);
    }
}
