//! A whole module as one run: where its time goes when its instructions are not in the profile.
//!
//! Old versions of TensorFlow run a compiled function without a word about its instructions. Its time is split over them
//! as that of a fusion is over its parts: by the operations they take. That is a convention, not a measurement, and all
//! parts are marked as approximate.

use indexmap::IndexMap;
use jouletree_model::{Op, Pass};
use rustc_hash::FxBuildHasher;

use super::{HloModule, InstructionShare};

impl HloModule {
    /// The operations of the module's program, each with its share of a run; none where no instruction can be counted.
    pub(crate) fn whole(&self) -> Vec<InstructionShare> {
        // Callees precede callers: the program itself is the last computation.
        let Some(program) = self.module.computations.last() else { return Vec::new() };
        let mut weights: IndexMap<(Box<str>, Pass), (Op, f64), FxBuildHasher> = IndexMap::default();
        for index in program.instructions.clone() {
            let weight = self.flops[index].unwrap_or(0) as f64;
            for part in self.parts_at(index).iter().filter(|_| weight > 0.0) {
                let key = (part.op.path.clone(), part.op.pass);
                let op = || (Op { approximate: true, ..part.op.clone() }, 0.0);
                weights.entry(key).or_insert_with(op).1 += weight * part.share;
            }
        }
        let total: f64 = weights.values().map(|(_, weight)| weight).sum();
        weights.into_values().map(|(op, weight)| InstructionShare { op, share: weight / total }).collect()
    }
}
