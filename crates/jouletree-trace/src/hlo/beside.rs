//! A place for instructions that the compiler made up: that of the nearest others they work with.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;

use super::HloModule;
use super::scope::{Place, shared_scope};

/// How many instructions are looked at around one.
const SEARCH: usize = 256;

/// How many callers are gone up.
const DEPTH: usize = 16;

/// The layer that the nearest operands and users with a layer share; failing them, that of the caller.
pub(super) fn place(hlo: &HloModule, index: usize) -> Option<Place> {
    let module = &hlo.module;
    let mut at = index;
    for _ in 0..DEPTH {
        if let Some(found) = near(hlo, at) {
            return Some(found);
        }
        at = *module.computations[module.instructions[at].computation].callers.first()?;
        if let Some(found) = in_a_layer(hlo, at) {
            return Some(Place { primitive: String::new(), ..found.clone() });
        }
    }
    None
}

/// The place of an instruction, by names, if that is in a layer.
fn in_a_layer(hlo: &HloModule, index: usize) -> Option<&Place> {
    hlo.places().get(&hlo.module, index).filter(|place| !place.scope.is_empty())
}

fn near(hlo: &HloModule, index: usize) -> Option<Place> {
    let mut seen = FxHashSet::from_iter([index]);
    let mut ring = VecDeque::from([(index, 0_usize)]);
    let mut found: Vec<&Place> = Vec::new();
    let mut found_at = usize::MAX;
    while let Some((at, distance)) = ring.pop_front() {
        if distance > found_at {
            break;
        }
        let instruction = &hlo.module.instructions[at];
        if distance > 0
            && let Some(place) = in_a_layer(hlo, at)
        {
            found.push(place);
            found_at = distance;
        }
        // Everything meets at the arguments, the constants and the result: nothing is near because of them.
        if distance > 0 && (instruction.is_given() || &*instruction.opcode == "tuple") {
            continue;
        }
        for next in instruction.operands.iter().chain(&instruction.users) {
            if seen.len() >= SEARCH {
                break;
            }
            if seen.insert(*next) {
                ring.push_back((*next, distance + 1));
            }
        }
    }
    let scopes: Vec<&str> = found.iter().map(|place| place.scope.as_str()).collect();
    let scope = shared_scope(&scopes).to_owned();
    found.first().map(|first| Place { scope, primitive: String::new(), pass: first.pass })
}
