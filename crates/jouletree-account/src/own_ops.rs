//! The operations that ran on one device, numbered for its sweep.
//!
//! The sweep keeps a table of all operations. Where a device ran but a few of them, as in a trace of thousands of devices
//! with operations of their own, it is given numbers of its own: tables then take as much time and memory as there are
//! events, and not devices times operations.

use std::borrow::Cow;

use jouletree_model::{Event, Lane, OpId};

/// The lanes of a device and the numbers of the operations in them.
pub(crate) struct OwnOps<'a> {
    lanes: Vec<Cow<'a, Lane>>,
    ops: usize,
    /// The operations by their own number, in order; `None` where numbers are those of the trace.
    own: Option<Vec<OpId>>,
}

impl<'a> OwnOps<'a> {
    /// `ops` is how many operations the trace has.
    pub(crate) fn of(lanes: &[&'a Lane], ops: usize) -> OwnOps<'a> {
        let events: usize = lanes.iter().map(|lane| lane.events().len()).sum();
        if ops <= events {
            return OwnOps { lanes: lanes.iter().map(|lane| Cow::Borrowed(*lane)).collect(), ops, own: None };
        }
        let mut own: Vec<OpId> = lanes.iter().flat_map(|lane| lane.events()).map(|event| event.op).collect();
        own.sort_unstable();
        own.dedup();
        let number = |event: &Event| {
            let place = own.partition_point(|op| *op < event.op);
            Event { op: OpId(u32::try_from(place).unwrap_or(u32::MAX)), ..*event }
        };
        let renumbered = |lane: &&Lane| {
            Cow::Owned(Lane::new(lane.device(), lane.label(), lane.events().iter().map(number).collect()))
        };
        OwnOps { lanes: lanes.iter().map(renumbered).collect(), ops: own.len(), own: Some(own) }
    }

    /// The lanes, by these numbers.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = &Lane> {
        self.lanes.iter().map(AsRef::as_ref)
    }

    /// How many operations are numbered.
    pub(crate) fn ops(&self) -> usize {
        self.ops
    }

    /// The operations by their own number; `None` where numbers are those of the trace.
    pub(crate) fn numbers(&self) -> Option<&[OpId]> {
        self.own.as_deref()
    }

    /// What was tallied by these numbers, with the numbers of the trace.
    pub(crate) fn numbered<T>(&self, tallied: impl Iterator<Item = T>) -> impl Iterator<Item = (usize, T)> {
        let number = |place: usize| match &self.own {
            Some(own) => own.get(place).map(|op| op.index()),
            None => Some(place),
        };
        tallied.enumerate().filter_map(move |(place, of_op)| Some((number(place)?, of_op)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jouletree_model::{Nanos, Step};

    fn lane(device: usize, ops: &[u32]) -> Lane {
        let event = |(start, op): (i64, &u32)| Event {
            start: Nanos(start),
            end: Nanos(start + 1),
            op: OpId(*op),
            step: Step::NONE,
        };
        Lane::new(device, "stream 7", (0..).zip(ops).map(event).collect())
    }

    #[test]
    fn tables_of_all_devices_have_no_more_entries_than_there_are_events() {
        const DEVICES: u32 = 2_000;
        let lanes: Vec<Lane> = (0..DEVICES).map(|device| lane(device as usize, &[device, 0])).collect();
        let tables = lanes.iter().map(|lane| OwnOps::of(&[lane], DEVICES as usize).ops());
        assert!(tables.sum::<usize>() <= 2 * DEVICES as usize);
        // A device without lanes needs no table at all.
        assert_eq!(OwnOps::of(&[], DEVICES as usize).ops(), 0);
    }

    #[test]
    fn tallies_get_the_numbers_of_the_trace_back() {
        let (first, second) = (lane(0, &[70, 3, 70]), lane(0, &[9]));
        let own = OwnOps::of(&[&first, &second], 100);
        let numbers = own.lanes().flat_map(|lane| lane.events()).map(|event| event.op.0);
        assert_eq!(numbers.collect::<Vec<_>>(), [2, 0, 2, 1]);
        let numbered = |own: &OwnOps<'_>| own.numbered(["a", "b", "c"].into_iter()).collect::<Vec<_>>();
        assert_eq!(numbered(&own), [(3, "a"), (9, "b"), (70, "c")]);
        // Where most operations ran, numbers stay as they are and lanes are not copied.
        let all = lane(0, &[1, 0, 2]);
        let own = OwnOps::of(&[&all], 3);
        assert!(matches!(own.lanes.as_slice(), [Cow::Borrowed(_)]));
        assert_eq!(numbered(&own), [(0, "a"), (1, "b"), (2, "c")]);
    }
}
