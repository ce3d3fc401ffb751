//! Batches that wait until their client says that it has them: bounded, and what is dropped is counted.
//!
//! A count that was dropped is made up for by the next one, since counters are cumulative. What else a dropped batch
//! said (gaps, anchors, incidents) is kept and sent with the next batch, to those who have not seen it.

use std::collections::{BTreeSet, VecDeque};

use bytes::Bytes;
use jouletree_model::sampling::{Batch, Flags, Sample};

use crate::wire::{self, v1};

/// So many dropped batches that had something to say are remembered one by one; older ones only for their gaps.
const MOST_FALLEN: usize = 256;

/// The batches of a session that were not acknowledged yet.
#[derive(Debug, Default)]
pub struct Kept {
    most_bytes: usize,
    entries: VecDeque<Entry>,
    bytes: usize,
    fallen: VecDeque<Fallen>,
    batches: u64,
    /// All samples so far.
    samples: u64,
    /// The number of the first batch that was not sent yet.
    unsent: u64,
    /// Samples that were dropped before they were sent.
    dropped: u64,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    before: u64,
    samples: u64,
    is_over: bool,
    batch: Bytes,
    beside: Fallen,
}

/// What a batch said beside its samples.
#[derive(Debug, Default)]
struct Fallen {
    number: u64,
    torn: BTreeSet<u32>,
    anchors: Vec<v1::Anchor>,
    incidents: Vec<v1::Incident>,
}

impl Kept {
    /// Keeps at most about so many bytes, and always the newest batch.
    pub fn new(most_bytes: usize) -> Kept {
        Kept { most_bytes, ..Kept::default() }
    }

    /// Keeps a batch.
    pub fn push(&mut self, batch: &Batch, is_over: bool) {
        let before = self.samples.saturating_add(batch.lost);
        let samples = batch.samples.len() as u64;
        let bytes = Bytes::from(wire::pack(batch));
        self.samples = before.saturating_add(samples);
        self.batches += 1;
        self.bytes += bytes.len();
        let is_torn = |sample: &&Sample| sample.flags.has(Flags::GAP) || sample.flags.has(Flags::APART);
        let beside = Fallen {
            number: batch.number,
            torn: batch.samples.iter().filter(is_torn).map(|sample| u32::from(sample.sensor)).collect(),
            anchors: batch.anchors.iter().map(wire::anchor).collect(),
            incidents: batch.incidents.iter().map(wire::incident).collect(),
        };
        self.entries.push_back(Entry { number: batch.number, before, samples, is_over, batch: bytes, beside });
        while self.bytes > self.most_bytes && self.entries.len() > 1 {
            self.drop_oldest();
        }
    }

    /// Forgets all batches up to this one: their client has them.
    pub fn acknowledge(&mut self, number: u64) {
        let known = self.entries.partition_point(|entry| entry.number <= number);
        self.bytes -= self.entries.drain(..known).map(|entry| entry.batch.len()).sum::<usize>();
        let known = self.fallen.partition_point(|fallen| fallen.number <= number);
        self.fallen.drain(..known);
    }

    /// The first batch that is left for a client that has all up to `next`.
    pub fn from(&self, next: u64) -> Option<v1::Parcel> {
        let place = self.entries.partition_point(|entry| entry.number < next);
        let entry = self.entries.get(place)?;
        let mut parcel = v1::Parcel {
            number: entry.number,
            before: entry.before,
            tree_over: entry.is_over,
            batch: entry.batch.clone(),
            ..v1::Parcel::default()
        };
        let unseen = |fallen: &&Fallen| (next..entry.number).contains(&fallen.number);
        let mut torn = BTreeSet::new();
        for fallen in self.fallen.iter().filter(unseen) {
            torn.extend(&fallen.torn);
            parcel.anchors.extend_from_slice(&fallen.anchors);
            parcel.incidents.extend_from_slice(&fallen.incidents);
        }
        parcel.torn = torn.into_iter().collect();
        Some(parcel)
    }

    /// Whether there is something for a client that has all up to `next`.
    pub fn has_from(&self, next: u64) -> bool {
        self.entries.back().is_some_and(|entry| entry.number >= next)
    }

    /// All samples of the session so far, lost ones included.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// All batches up to `next` were sent, and those from there on were not, or have to be sent again.
    pub fn set_unsent(&mut self, next: u64) {
        self.unsent = next;
    }

    /// Samples that were dropped before they were sent.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// How many batches there were.
    pub fn batches(&self) -> u64 {
        self.batches
    }

    /// What the kept batches take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn drop_oldest(&mut self) {
        let Some(entry) = self.entries.pop_front() else { return };
        self.bytes -= entry.batch.len();
        if entry.number >= self.unsent {
            self.dropped = self.dropped.saturating_add(entry.samples);
        }
        let Fallen { torn, anchors, incidents, .. } = &entry.beside;
        if torn.is_empty() && anchors.is_empty() && incidents.is_empty() {
            return;
        }
        self.fallen.push_back(entry.beside);
        if self.fallen.len() > MOST_FALLEN
            && let Some(oldest) = self.fallen.pop_front()
            && let Some(next) = self.fallen.front_mut()
        {
            next.torn.extend(oldest.torn);
        }
    }
}

#[cfg(test)]
mod tests {
    use jouletree_model::Nanos;
    use jouletree_model::sampling::{Anchor, Mono};

    use super::*;

    fn batch(number: u64, samples: usize, flags: Flags) -> Batch {
        let at = Mono(i64::try_from(number).unwrap());
        let sample = |_| Sample { sensor: 3, flags, at, count: number };
        let anchors = vec![Anchor { mono: at, wall: Nanos(0), boot: Nanos(0) }];
        Batch { number, samples: (0..samples).map(sample).collect(), anchors, ..Batch::default() }
    }

    #[test]
    fn what_is_not_acknowledged_comes_again() {
        let mut kept = Kept::new(1 << 20);
        for number in 0..5 {
            kept.push(&batch(number, 2, Flags::default()), number == 4);
        }
        let numbers = |kept: &Kept, next| kept.from(next).map(|parcel| parcel.number);
        assert_eq!([0, 3, 4, 5].map(|next| numbers(&kept, next)), [Some(0), Some(3), Some(4), None]);
        assert!(kept.has_from(4) && !kept.has_from(5));
        kept.acknowledge(2);
        assert_eq!([0, 4].map(|next| numbers(&kept, next)), [Some(3), Some(4)]);
        let parcel = kept.from(4).unwrap();
        assert_eq!((parcel.before, parcel.tree_over, parcel.anchors.len()), (8, true, 0));
        assert_eq!((kept.dropped(), kept.samples()), (0, 10));
        kept.acknowledge(u64::MAX);
        assert_eq!((kept.bytes(), kept.from(0)), (0, None));
    }

    #[test]
    fn what_is_dropped_is_counted_and_its_gaps_are_told_to_those_who_have_not_seen_them() {
        let mut kept = Kept::new(0);
        kept.push(&Batch { lost: 7, ..batch(0, 2, Flags::GAP) }, false);
        kept.push(&batch(1, 3, Flags::default()), false);
        kept.push(&batch(2, 4, Flags::default()), false);
        let parcel = kept.from(0).unwrap();
        assert_eq!((parcel.number, parcel.before, kept.dropped()), (2, 12, 5));
        assert_eq!((parcel.torn, parcel.anchors.len()), (vec![3], 2));
        let parcel = kept.from(1).unwrap();
        assert_eq!((parcel.torn, parcel.anchors.len()), (vec![], 1), "batch 0 was seen before it was dropped");
        assert_eq!(kept.from(2).unwrap().anchors.len(), 0);
        kept.set_unsent(3);
        kept.push(&batch(3, 1, Flags::default()), false);
        assert_eq!(kept.dropped(), 5, "batch 2 was sent before it was dropped");
    }

    #[test]
    fn a_gap_is_never_forgotten() {
        let mut kept = Kept::new(0);
        kept.push(&batch(0, 1, Flags::APART), false);
        for number in 1..2000 {
            kept.push(&batch(number, 1, Flags::default()), false);
        }
        let parcel = kept.from(0).unwrap();
        assert_eq!((parcel.torn, parcel.anchors.len()), (vec![3], MOST_FALLEN));
    }
}
