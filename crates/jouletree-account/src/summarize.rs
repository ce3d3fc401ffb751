//! The summarized tensor energy footprint (STEF): the self-similar blocks of a model folded into one and summed.

use jouletree_model::Pass;
use rustc_hash::FxHashMap;

use crate::blocks::{Renames, Sighting, renamed, repeated};
use crate::labels::{Alike, as_gradient, marks, named};
use crate::{Tef, TefEntry, TensorEdge};

/// The summary of a footprint (T2A in the paper): its [`Folding`] applied to itself.
///
/// `bert/encoder/layer_0/output/dense/MatMul ↦ 5` and `…/layer_1/… ↦ 3` become
/// `bert/encoder/transformer/output/dense/MatMul ↦ 8`. Ranked by power, the summary is the STPF. The total energy
/// stays the same, and the summary of a summary is itself.
pub fn t2a(tef: &Tef) -> Tef {
    Folding::of(tef).tef(tef)
}

/// Which blocks of a model are folded into which: a function from paths to paths. All passes follow it.
///
/// Siblings are folded when their names are one stem and a number (`layer_3`, `h.3`, `3`), they hold operations
/// rather than being one, and the layers inside them are the same, inner runs folded first. The first of them may have
/// no number (`group_0`, `group_0_1`, …). Of siblings that differ the largest group is folded. Its name is the stem with a star (`h.*`), or `transformer` for the `layer_N` of an
/// encoder; a name that a sibling has already is not given again.
#[derive(Debug, Clone, Default)]
pub struct Folding {
    rounds: Vec<Renames>,
}

impl Folding {
    /// The folding that suits the model behind a footprint.
    pub fn of(tef: &Tef) -> Folding {
        let mut ops: Vec<Sighting<'_>> = tef.entries().iter().map(Sighting::from).collect();
        let mut rounds = Vec::new();
        loop {
            // Two blocks may hold runs that become alike only when the blocks are one: once more, until nothing folds.
            // Every round leaves fewer paths, so there is an end.
            let renames = repeated(&ops);
            if renames.is_empty() {
                return Folding { rounds };
            }
            for op in &mut ops {
                op.path = renamed(&op.path, &renames).into();
            }
            rounds.push(renames);
        }
    }

    /// Where a path goes; empty components are dropped.
    pub fn path(&self, path: &str) -> Box<str> {
        let plain = renamed(path, &Renames::default());
        self.rounds.iter().fold(plain, |path, renames| renamed(&path, renames)).into()
    }

    /// The footprint with its paths folded. Entries that agree in path, type, pass and device are summed, gradients of weights
    /// and of inputs apart; they keep the framework's name where they all have the same.
    pub fn tef(&self, tef: &Tef) -> Tef {
        Tef::new(self.groups(tef).0)
    }

    /// The entries of the folded footprint in no particular order, and the place among them of each entry of `tef`.
    pub fn groups(&self, tef: &Tef) -> (Vec<TefEntry>, Vec<usize>) {
        let mut places: FxHashMap<_, usize> = FxHashMap::default();
        let mut sums: Vec<TefEntry> = Vec::new();
        let mut place_of = |entry: &TefEntry| {
            let path = self.path(&entry.path);
            let gradient = as_gradient(entry.mark.as_deref());
            let key = (path.clone(), entry.op_type.clone(), gradient, entry.pass, entry.device.clone());
            let place = *places.entry(key).or_insert(sums.len());
            match sums.get_mut(place) {
                Some(sum) => {
                    sum.add_error(entry);
                    sum.energy += entry.energy;
                    sum.busy += entry.busy;
                    sum.approximate |= entry.approximate;
                    sum.count = sum.count.saturating_add(entry.count);
                    if sum.name != entry.name {
                        sum.name = sum.path.clone();
                    }
                }
                None => sums.push(TefEntry { path, ..entry.clone() }),
            }
            place
        };
        let found = tef.entries().iter().map(&mut place_of).collect();
        (marked(sums), found)
    }

    /// The data flow with its paths folded, for the energy tree of the folded footprint.
    pub fn edges(&self, edges: &[TensorEdge]) -> Vec<TensorEdge> {
        let folded = |edge: &TensorEdge| TensorEdge {
            from: self.path(&edge.from),
            to: self.path(&edge.to),
            ..edge.clone()
        };
        edges.iter().map(folded).collect()
    }
}

/// Entries with marks that distinguish those of one path and pass. They differ in type or gradient, or in device alone.
fn marked(mut entries: Vec<TefEntry>) -> Vec<TefEntry> {
    let mut groups: FxHashMap<(&str, Pass), Vec<usize>> = FxHashMap::default();
    for (place, entry) in entries.iter().enumerate() {
        groups.entry((named(&entry.path, &entry.name, &entry.op_type), entry.pass)).or_default().push(place);
    }
    let mut all: Vec<Option<Box<str>>> = vec![None; entries.len()];
    for ((name, _), places) in groups {
        let one = |place: &usize| {
            let entry = &entries[*place];
            Alike { op_type: &entry.op_type, name: "", gradient: as_gradient(entry.mark.as_deref()) }
        };
        let mut alike: Vec<Alike<'_>> = places.iter().map(one).collect();
        alike.sort_unstable();
        alike.dedup();
        if alike.len() > 1 {
            let found: FxHashMap<Alike<'_>, Option<Box<str>>> =
                alike.iter().copied().zip(marks(name, &alike)).collect();
            for place in &places {
                all[*place] = found.get(&one(place)).cloned().flatten();
            }
        }
    }
    for (entry, mark) in entries.iter_mut().zip(all) {
        entry.mark = mark;
    }
    entries
}

#[cfg(test)]
#[path = "summarize_tests.rs"]
mod tests;
