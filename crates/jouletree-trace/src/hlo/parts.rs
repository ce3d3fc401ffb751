//! Where the time of an instruction goes.
//!
//! A fusion runs many instructions as one. Where they come from one layer, it belongs to that layer. Where they come
//! from several, its time is split over them by the operations they take, or equally if none takes any; that is a
//! convention, not a measurement, and such parts are marked as approximate.

use std::borrow::Cow;

use indexmap::IndexMap;
use jouletree_model::{Op, Pass};
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::module::{Instruction, Module};
use super::places::{is_free, runs};
use super::scope::InstructionScope;
use super::{HloModule, InstructionShare, beside};

/// How many instructions inside another are looked at.
const SEARCH: usize = 8192;

/// How deep fusions may lie in fusions.
const DEPTH: usize = 8;

/// An instruction inside another: its opcode, its place and its weight.
#[derive(Debug)]
struct Inner<'a> {
    opcode: &'a str,
    place: Cow<'a, InstructionScope>,
    flops: u64,
}

/// The parts of one instruction, at least one.
pub(super) fn parts(hlo: &HloModule, index: usize) -> Vec<InstructionShare> {
    let instruction = &hlo.module.instructions[index];
    let own = hlo.places().own(index);
    let is_fusion = &*instruction.opcode == "fusion";
    // What a loop or a call runs is traced for itself; its own time is its own.
    let inner = if is_fusion || own.is_none() { work_inside(hlo, index) } else { Vec::new() };
    let namer = Namer { module: hlo.name(), instruction };
    match inner.first() {
        Some(first) if inner.iter().all(|other| is_same_layer(&other.place, &first.place)) => {
            let heaviest = heaviest(&inner).unwrap_or(first);
            let place = own.filter(|own| is_same_layer(own, &first.place)).unwrap_or(&heaviest.place);
            vec![InstructionShare { op: namer.op(place, heaviest.opcode, false), share: 1.0 }]
        }
        Some(_) => split(&inner, &namer),
        None => {
            let place = own.cloned().or_else(|| beside::place(hlo, index)).unwrap_or_else(|| nowhere(hlo.name()));
            // What a container runs is traced beside it: its own time is that of a loop or a call.
            let opcode = if instruction.is_container() { &instruction.opcode } else { opcode_inside(hlo, index) };
            vec![InstructionShare { op: namer.op(&place, opcode, false), share: 1.0 }]
        }
    }
}

/// One part for every path and pass inside; what takes no operations beside others that do has no part. The last part
/// is the one that the last instruction belongs to: it makes the result.
fn split(inner: &[Inner<'_>], namer: &Namer<'_>) -> Vec<InstructionShare> {
    let has_flops = inner.iter().any(|inner| inner.flops > 0);
    let weight = |inner: &Inner<'_>| if has_flops { inner.flops as f64 } else { 1.0 };
    let mut shares: IndexMap<(String, Pass), Share<'_>, FxBuildHasher> = IndexMap::default();
    for (at, found) in inner.iter().enumerate().filter(|(_, inner)| weight(inner) > 0.0) {
        let path = namer.path(&found.place, found.opcode);
        let new = Share { weight: 0.0, heaviest: found, last: at };
        let share = shares.entry((path, found.place.pass)).or_insert(new);
        share.weight += weight(found);
        share.last = at;
        if weight(found) > weight(share.heaviest) {
            share.heaviest = found;
        }
    }
    let mut shares: Vec<Share<'_>> = shares.into_values().collect();
    shares.sort_by_key(|share| share.last);
    let total: f64 = shares.iter().map(|share| share.weight).sum();
    let part = |share: &Share<'_>| InstructionShare {
        op: namer.op(&share.heaviest.place, share.heaviest.opcode, true),
        share: share.weight / total,
    };
    shares.iter().map(part).collect()
}

/// The part to which each instruction inside of a fusion belongs; those that belong to none pass on what they take.
pub(super) fn part_of_each(hlo: &HloModule, index: usize, parts: &[InstructionShare]) -> FxHashMap<usize, usize> {
    let namer = Namer { module: hlo.name(), instruction: &hlo.module.instructions[index] };
    let mut found = FxHashMap::default();
    each_inside(&hlo.module, index, |inner, instruction| {
        let named = hlo.places().own(inner).map(Cow::Borrowed);
        let unnamed = || beside::inside(hlo, inner).filter(|_| !is_free(instruction)).map(Cow::Owned);
        let Some(place) = named.or_else(unnamed).filter(|_| !instruction.is_given()) else { return };
        let path = namer.path(&place, &instruction.opcode);
        let part = parts.iter().position(|part| *part.op.path == *path && part.op.pass == place.pass);
        if let Some(part) = part {
            found.insert(inner, part);
        }
    });
    found
}

/// What the instructions at one place have together.
struct Share<'a> {
    weight: f64,
    heaviest: &'a Inner<'a>,
    /// The last of them.
    last: usize,
}

/// The instructions that do the work of another and have a place, through fusions in fusions; one without a name has
/// that of its neighbours. Those that are free count only where there are no others.
fn work_inside(hlo: &HloModule, index: usize) -> Vec<Inner<'_>> {
    let mut working = Vec::new();
    let mut free = Vec::new();
    each_inside(&hlo.module, index, |index, instruction| {
        let named = hlo.places().own(index).map(Cow::Borrowed);
        let unnamed = || beside::inside(hlo, index).filter(|_| !is_free(instruction)).map(Cow::Owned);
        let Some(place) = named.or_else(unnamed) else { return };
        let inner = Inner { opcode: &instruction.opcode, place, flops: hlo.flops[index].unwrap_or(0) };
        if is_free(instruction) { free.push(inner) } else { working.push(inner) }
    });
    if working.is_empty() { free } else { working }
}

/// The opcode that an instruction comes down to: the heaviest inside it, or its own.
fn opcode_inside(hlo: &HloModule, index: usize) -> &str {
    let mut heaviest: (u64, &str) = (0, &hlo.module.instructions[index].opcode);
    each_inside(&hlo.module, index, |index, instruction| {
        let flops = hlo.flops[index].unwrap_or(0);
        if !instruction.is_given() && flops >= heaviest.0 {
            heaviest = (flops, &instruction.opcode);
        }
    });
    heaviest.1
}

/// Visits the instructions that are run as a part of another, in their order.
fn each_inside<'a>(module: &'a Module, index: usize, mut visit: impl FnMut(usize, &'a Instruction)) {
    descend(module, index, 0, &mut { SEARCH }, &mut visit);
}

fn descend<'a>(
    module: &'a Module,
    caller: usize,
    depth: usize,
    left: &mut usize,
    visit: &mut impl FnMut(usize, &'a Instruction),
) {
    for (index, instruction) in ran_by(module, caller).flat_map(|computation| module.inside(computation)) {
        if *left == 0 {
            return;
        }
        *left -= 1;
        if depth < DEPTH && ran_by(module, index).next().is_some() {
            descend(module, index, depth + 1, left, visit);
        } else {
            visit(index, instruction);
        }
    }
}

/// The computations that are run as a part of an instruction. Each belongs to one, the first that calls it: so it is
/// when XLA has made a program of a module, and no claim can make it otherwise.
pub(super) fn ran_by(module: &Module, index: usize) -> impl Iterator<Item = usize> {
    let instruction = &module.instructions[index];
    let is_first = move |called: &usize| module.computations[*called].callers.first() == Some(&index);
    instruction.called.iter().copied().filter(move |called| runs(instruction) && is_first(called))
}

/// The instruction with the most operations, the last of equals: nearer to the result.
fn heaviest<'i, 'a>(inner: &'i [Inner<'a>]) -> Option<&'i Inner<'a>> {
    inner.iter().max_by_key(|inner| inner.flops)
}

fn is_same_layer(one: &InstructionScope, other: &InstructionScope) -> bool {
    one.scope == other.scope && one.pass == other.pass
}

/// The place of what the compiler made up for an unknown purpose.
fn nowhere(module: &str) -> InstructionScope {
    let scope = if module.is_empty() { "unnamed".to_owned() } else { format!("{module}/unnamed") };
    InstructionScope { scope, primitive: String::new(), pass: Pass::Forward }
}

/// Makes the operations of one instruction.
struct Namer<'a> {
    module: &'a str,
    instruction: &'a Instruction,
}

impl Namer<'_> {
    /// A path through the model; what is outside of every layer is under the module's name.
    fn path(&self, place: &InstructionScope, opcode: &str) -> String {
        let scope = if place.scope.is_empty() { self.module } else { &place.scope };
        let last = if place.primitive.is_empty() { opcode } else { &place.primitive };
        if scope.is_empty() { last.to_owned() } else { format!("{scope}/{last}") }
    }

    fn op(&self, place: &InstructionScope, opcode: &str, approximate: bool) -> Op {
        let own: &str = &self.instruction.opcode;
        let op_type = match own {
            "custom-call" if !self.instruction.target.is_empty() => format!("{own}:{}", self.instruction.target),
            "fusion" if opcode != own => format!("{own}:{opcode}"),
            _ => own.to_owned(),
        };
        let name = self.instruction.name.clone();
        Op { approximate, ..Op::new(self.path(place, opcode), op_type, name, place.pass) }
    }
}
