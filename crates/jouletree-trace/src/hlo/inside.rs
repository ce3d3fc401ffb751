//! The data flow inside of a fusion whose time is split over parts: what each part takes from outside and from other parts,
//! and which parts make the result.

use rustc_hash::{FxHashMap, FxHashSet};

use super::HloModule;
use super::module::{Detail, Module};
use super::parts::{part_of_each, ran_by};

/// How many instructions are gone through on the way back from one.
const SEARCH: usize = 4096;

/// Where a tensor inside of a fusion comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Source {
    /// A part of the fusion.
    Part(usize),
    /// An operand of the fusion.
    Operand(usize),
}

/// The data flow inside of one fusion.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Inside {
    /// What each part takes.
    pub(super) taken: Vec<Vec<Source>>,
    /// What makes the result: one list, or one for each element of a tuple.
    pub(super) made: Vec<Vec<Source>>,
}

impl Inside {
    /// Of an instruction whose time is split over parts; `None` for others.
    pub(super) fn of(hlo: &HloModule, index: usize) -> Option<Inside> {
        let parts = hlo.parts_at(index);
        if parts.len() < 2 {
            return None;
        }
        let part_of = part_of_each(hlo, index, parts);
        let walk = Walk { module: &hlo.module, fusion: index, part_of: &part_of };
        let mut taken = vec![FxHashSet::default(); parts.len()];
        for (inner, part) in &part_of {
            let operands = &hlo.module.instructions[*inner].operands;
            taken[*part]
                .extend(walk.back(operands.clone()).into_iter().filter(|from| *from != Source::Part(*part)));
        }
        let root = walk.root(index)?;
        let instruction = &hlo.module.instructions[root];
        let made = match &*instruction.opcode {
            "tuple" => instruction.operands.iter().map(|element| walk.back(vec![*element])).collect(),
            _ => vec![walk.back(vec![root])],
        };
        let sorted = |set: FxHashSet<Source>| {
            let mut sorted: Vec<Source> = set.into_iter().collect();
            sorted.sort_unstable();
            sorted
        };
        Some(Inside { taken: taken.into_iter().map(sorted).collect(), made })
    }

    /// What makes an element of the result, or all of it.
    pub(super) fn made(&self, element: Option<usize>) -> impl Iterator<Item = Source> {
        let one = element.filter(|element| self.made.len() > 1 && *element < self.made.len());
        let chosen = self.made.iter().enumerate().filter(move |(at, _)| one.is_none_or(|one| one == *at));
        chosen.flat_map(|(_, sources)| sources.iter().copied())
    }
}

/// Walks from tensors back to what made them.
struct Walk<'a> {
    module: &'a Module,
    fusion: usize,
    part_of: &'a FxHashMap<usize, usize>,
}

impl Walk<'_> {
    fn back(&self, mut ahead: Vec<usize>) -> Vec<Source> {
        let mut seen: FxHashSet<usize> = FxHashSet::default();
        let mut found = Vec::new();
        while let Some(at) = ahead.pop() {
            if seen.len() >= SEARCH || !seen.insert(at) {
                continue;
            }
            if let Some(part) = self.part_of.get(&at) {
                found.push(Source::Part(*part));
                continue;
            }
            let instruction = &self.module.instructions[at];
            match (&*instruction.opcode, &instruction.detail) {
                ("parameter", Detail::Number(number)) => {
                    let Ok(number) = usize::try_from(*number) else { continue };
                    match self.module.computations[instruction.computation].callers.first() {
                        Some(caller) if *caller == self.fusion => found.push(Source::Operand(number)),
                        Some(caller) => ahead.extend(self.module.instructions[*caller].operands.get(number)),
                        None => {}
                    }
                }
                _ => match self.root(at) {
                    Some(root) => ahead.push(root),
                    None => ahead.extend(&instruction.operands),
                },
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The instruction that makes the result of a fusion: operands come before users, so it is the last.
    fn root(&self, index: usize) -> Option<usize> {
        let computation = ran_by(self.module, index).next()?;
        self.module.computations[computation].instructions.clone().next_back()
    }
}
