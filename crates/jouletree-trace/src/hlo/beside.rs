//! A place for instructions that the compiler made up: that of what they are computed for.
//!
//! XLA expands, rewrites and lays out anew without saying for what. Such an instruction belongs to the nearest
//! instructions with a place that use what it makes. Where there are none, as before a result of the program, it belongs
//! to those that made what it takes, and failing these to its caller.

use std::collections::VecDeque;

use jouletree_model::Pass;
use rustc_hash::FxHashSet;

use super::HloModule;
use super::module::{Detail, Instruction, Module};
use super::scope::InstructionScope;
use crate::tensorflow::shared_layer;

/// How many instructions are looked at around one.
const SEARCH: usize = 256;

/// How many callers are gone up, and how many fusions are gone into.
const DEPTH: usize = 16;

/// Where an instruction belongs; `None` if nothing around it has a place.
pub(super) fn place(hlo: &HloModule, index: usize) -> Option<InstructionScope> {
    let module = &hlo.module;
    let mut at = index;
    for _ in 0..DEPTH {
        if let Some(found) = inside(hlo, at) {
            return Some(found);
        }
        at = *module.computations[module.instructions[at].computation].callers.first()?;
        if let Some(found) = hlo.places().own(at) {
            return Some(InstructionScope { primitive: String::new(), ..found.clone() });
        }
    }
    None
}

/// The same by the instructions of its own computation alone.
pub(super) fn inside(hlo: &HloModule, index: usize) -> Option<InstructionScope> {
    shared(&users(hlo, index, 0)).or_else(|| shared(&makers(hlo, index)))
}

/// The layer that all places in the first of their passes share: a copy of a weight is made for the layer that needs it first,
/// though its gradients and the optimizer read it, too.
fn shared(places: &[&InstructionScope]) -> Option<InstructionScope> {
    let pass: Pass = places.iter().map(|place| place.pass).min()?;
    let first = places.iter().filter(|place| place.pass == pass);
    let scopes: Vec<&str> = first.map(|place| place.scope.as_str()).collect();
    Some(InstructionScope { scope: shared_layer(&scopes).to_owned(), primitive: String::new(), pass })
}

/// The places of the nearest instructions that use what `index` makes.
fn users(hlo: &HloModule, index: usize, depth: usize) -> Vec<&InstructionScope> {
    nearest(index, |at| {
        let users = hlo.module.instructions[at].users.iter().copied();
        users.map(|user| (user, user_places(hlo, user, at, depth), is_passed(&hlo.module, user))).collect()
    })
}

/// The places of the nearest instructions that made what `index` takes. Arguments and constants belong to everyone.
fn makers(hlo: &HloModule, index: usize) -> Vec<&InstructionScope> {
    let module = &hlo.module;
    nearest(index, |at| {
        let makers = module.instructions[at].operands.iter().copied();
        let makers = makers.filter(|maker| !module.instructions[*maker].is_given());
        makers.map(|maker| (maker, hlo.places().get(module, maker).into_iter().collect(), true)).collect()
    })
}

/// The places that a walk meets first. `around` lists the neighbours of an instruction, the places of each, and whether
/// the walk goes on behind it if it has none.
fn nearest<'a>(
    index: usize,
    around: impl Fn(usize) -> Vec<(usize, Vec<&'a InstructionScope>, bool)>,
) -> Vec<&'a InstructionScope> {
    let mut seen = FxHashSet::from_iter([index]);
    let mut ring = VecDeque::from([(index, 0_usize)]);
    let mut found = Vec::new();
    let mut found_at = usize::MAX;
    while let Some((at, distance)) = ring.pop_front() {
        if distance >= found_at {
            break;
        }
        for (next, places, is_passed) in around(at) {
            if seen.len() >= SEARCH || !seen.insert(next) {
                continue;
            }
            if !places.is_empty() {
                found.extend(places);
                found_at = distance + 1;
            } else if is_passed {
                ring.push_back((next, distance + 1));
            }
        }
    }
    found
}

/// The places of an instruction that takes `taken`: for a fusion or a call, those inside it that use it.
fn user_places(hlo: &HloModule, user: usize, taken: usize, depth: usize) -> Vec<&InstructionScope> {
    let module = &hlo.module;
    let instruction = &module.instructions[user];
    if depth < DEPTH && matches!(&*instruction.opcode, "fusion" | "call") {
        let parameters = parameters(module, instruction, taken);
        let inside: Vec<&InstructionScope> =
            parameters.into_iter().flat_map(|parameter| users(hlo, parameter, depth + 1)).collect();
        if !inside.is_empty() {
            return inside;
        }
    }
    hlo.places().get(module, user).into_iter().collect()
}

/// The parameters as which a fusion or a call knows what it takes.
fn parameters(module: &Module, caller: &Instruction, taken: usize) -> Vec<usize> {
    let Some(called) = caller.called.first() else { return Vec::new() };
    let is_taken = |instruction: &Instruction| match (&*instruction.opcode, &instruction.detail) {
        ("parameter", Detail::Number(number)) => {
            usize::try_from(*number).ok().and_then(|number| caller.operands.get(number)) == Some(&taken)
        }
        _ => false,
    };
    module.inside(*called).filter(|(_, instruction)| is_taken(instruction)).map(|(index, _)| index).collect()
}

/// Whether users are looked for behind an instruction. Everything meets in the result: nothing is near because of it.
/// A tuple that a loop or a branch takes is no result.
fn is_passed(module: &Module, index: usize) -> bool {
    let instruction = &module.instructions[index];
    let takes_tuples = |user: &usize| matches!(&*module.instructions[*user].opcode, "while" | "conditional");
    &*instruction.opcode != "tuple"
        || (!instruction.users.is_empty() && instruction.users.iter().all(takes_tuples))
}
