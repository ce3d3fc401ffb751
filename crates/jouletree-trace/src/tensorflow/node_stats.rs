//! One run of a node: a `NodeExecStats` message of a step's statistics.
//!
//! An operation is taken to run from `all_start` to `all_end`, as in a timeline: from when the executor turns to it
//! until it has passed its outputs on. Times are taken in nanoseconds where the file has them; cut to whole
//! microseconds they are those of the timeline.

use jouletree_model::Nanos;

use crate::wire::{Fields, Value};

/// The fields of a `NodeExecStats` that matter.
#[derive(Debug, Default)]
pub(super) struct NodeStats<'a> {
    pub(super) name: &'a [u8],
    pub(super) label: &'a [u8],
    pub(super) thread: u32,
    start_micros: i64,
    duration_micros: i64,
    start_nanos: i64,
    duration_nanos: i64,
}

impl<'a> NodeStats<'a> {
    /// What the message says; `None` when it is damaged.
    pub(super) fn of(message: &'a [u8]) -> Option<NodeStats<'a>> {
        let mut node = NodeStats::default();
        let mut fields = Fields::new(message);
        for (field, value) in fields.by_ref() {
            node.take(field, value);
        }
        fields.damage().is_none().then_some(node)
    }

    fn take(&mut self, field: u64, value: Value<'a>) {
        match field {
            1 => self.name = value.bytes(),
            2 => self.start_micros = value.signed(),
            5 => self.duration_micros = value.signed(),
            8 => self.label = value.bytes(),
            10 => self.thread = value.unsigned() as u32,
            13 => self.start_nanos = value.signed(),
            16 => self.duration_nanos = value.signed(),
            _ => {}
        }
    }

    /// When it ran; `None` when unknown. Old files have no nanoseconds.
    pub(super) fn extent(&self) -> Option<(Nanos, Nanos)> {
        let has_nanos = self.start_nanos > 0 && (self.duration_nanos != 0 || self.duration_micros == 0);
        let (start, duration) = if has_nanos {
            (self.start_nanos, self.duration_nanos)
        } else {
            (self.start_micros.saturating_mul(1000), self.duration_micros.saturating_mul(1000))
        };
        (start > 0 && duration >= 0).then_some((Nanos(start), Nanos(start) + Nanos(duration)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_are_taken_where_there_are_any() {
        let extent = |start_micros, duration_micros, start_nanos, duration_nanos| {
            let node =
                NodeStats { start_micros, duration_micros, start_nanos, duration_nanos, ..NodeStats::default() };
            node.extent().map(|(start, end)| (start.0, end.0))
        };
        assert_eq!(extent(7, 2, 7_100, 1_950), Some((7_100, 9_050)));
        assert_eq!(extent(7, 2, 0, 0), Some((7_000, 9_000)));
        assert_eq!(extent(7, 2, 7_100, 0), Some((7_000, 9_000)));
        assert_eq!(extent(7, 0, 7_100, 0), Some((7_100, 7_100)));
        assert_eq!(extent(0, 2, 0, 0), None);
        assert_eq!(extent(7, -2, 0, 0), None);
        assert_eq!(extent(i64::MAX, i64::MAX, 0, 0), Some((i64::MAX, i64::MAX)));
    }
}
