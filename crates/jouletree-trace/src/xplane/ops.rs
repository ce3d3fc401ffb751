//! The operations of a file while it is read: numbered as they occur, placed when everything has been seen.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use jouletree_model::{Op, OpId, Pass};

use crate::tensorflow::names::without_number;
use crate::tensorflow::{layer, shared_layer};

/// The number of an operation until it is placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Slot(pub(super) u32);

impl Slot {
    pub(super) const NONE: Slot = Slot(u32::MAX);
}

/// The operations met so far.
#[derive(Debug, Default)]
pub(super) struct Ops {
    ops: Vec<Op>,
    /// The operations before each sum of gradients in its thread, and how often they were there.
    sums: FxHashMap<Slot, BTreeMap<Slot, u64>>,
    /// How many names of eager calls there are.
    pub(super) eager: usize,
}

impl Ops {
    pub(super) fn add(&mut self, op: Op) -> Slot {
        self.ops.push(op);
        Slot(self.ops.len() as u32 - 1)
    }

    /// Adds a sum of gradients that is to be placed by what ran before it.
    pub(super) fn add_sum(&mut self, op: Op) -> Slot {
        let slot = self.add(op);
        self.sums.insert(slot, BTreeMap::new());
        slot
    }

    /// Adds an operation that was called on its own, outside of any graph.
    pub(super) fn add_eager(&mut self, called: &str, name: &str) -> Slot {
        self.eager += 1;
        self.add(Op::new(called, called, name, Pass::Forward))
    }

    /// Notes that a thread went on to a sum after it had finished `before`: an executor hands an operation to the
    /// thread that made the last of its inputs.
    pub(super) fn note_before(&mut self, sum: Slot, before: Slot) {
        if self.get(before).is_some_and(|op| op.pass == Pass::Backward)
            && !self.sums.contains_key(&before)
            && let Some(votes) = self.sums.get_mut(&sum)
        {
            *votes.entry(before).or_default() += 1;
        }
    }

    pub(super) fn get(&self, slot: Slot) -> Option<&Op> {
        self.ops.get(slot.0 as usize)
    }

    /// Places the sums of gradients: each in the layer that everything before it shares, or in that of what was there
    /// most often when they share none.
    pub(super) fn place_sums(&mut self) {
        let sums = std::mem::take(&mut self.sums);
        for (sum, votes) in sums {
            let paths = || votes.keys().filter_map(|before| self.get(*before)).map(|op| &*op.path);
            let layers: Vec<&str> = paths().map(layer).collect();
            let most = votes.iter().max_by_key(|(_, votes)| **votes).and_then(|(before, _)| self.get(*before));
            let shared = match shared_layer(&layers) {
                "" => most.map(|op| layer(&op.path)).unwrap_or_default(),
                shared => shared,
            };
            let shared = shared.to_owned();
            if let Some(op) = self.ops.get_mut(sum.0 as usize).filter(|_| !shared.is_empty()) {
                let last = op.path.rsplit('/').next().unwrap_or(&op.path);
                op.path = format!("{shared}/{}", without_number(last)).into();
            }
        }
    }

    /// The numbers of operations in a table that `intern` fills with those that are used.
    pub(super) fn numbers(&self, used: &[bool], mut intern: impl FnMut(Op) -> OpId) -> Vec<OpId> {
        let number = |(op, used): (&Op, &bool)| if *used { intern(op.clone()) } else { OpId(u32::MAX) };
        self.ops.iter().zip(used).map(number).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.ops.len()
    }
}
