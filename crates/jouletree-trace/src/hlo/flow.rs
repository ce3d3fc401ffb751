//! The instructions that ran as a part of the model: their shapes, their operations, the data flow between them.

use jouletree_model::{Facts, ModelTree, NodeId, TensorShape};
use rustc_hash::{FxHashMap, FxHashSet};

use super::inside::{Inside, Source};
use super::module::{Detail, Module};
use super::{HloModule, InstructionShare, shape};

/// How many instructions that did not run are gone through on the way back to what did.
const SEARCH: usize = 1024;

/// How many tensors are noted that an instruction takes.
const INPUTS: usize = 256;

/// How many edges lead to an instruction, about; no more are drawn.
const EDGES: usize = 4096;

/// An instruction that ran, and which element of the tuple that it makes.
type Made = (usize, Option<usize>);

/// Adds the instructions that ran to a model.
///
/// Data goes to those parts of a fusion that compute on it, and comes from those that make the result.
pub(super) fn add_to(hlo: &HloModule, model: &mut ModelTree, used: &dyn Fn(&str) -> bool) {
    let module = &hlo.module;
    let ran: Vec<bool> = module.instructions.iter().map(|instruction| used(&instruction.name)).collect();
    let indices = || ran.iter().enumerate().filter(|(_, ran)| **ran).map(|(index, _)| index);
    let ran_inside: Vec<bool> =
        module.computations.iter().map(|inside| ran[inside.instructions.clone()].contains(&true)).collect();
    let mut nodes: Vec<Vec<NodeId>> = vec![Vec::new(); ran.len()];
    for index in indices() {
        // A loop whose body ran instruction by instruction is counted there.
        let is_counted_inside = module.instructions[index].called.iter().any(|called| ran_inside[*called]);
        let parts = hlo.parts_at(index);
        nodes[index] = parts
            .iter()
            .map(|part| model.insert(part.op.clone(), facts(hlo, index, is_counted_inside, part)))
            .collect();
    }
    let inside: FxHashMap<usize, Inside> =
        indices().filter_map(|index| Some((index, Inside::of(hlo, index)?))).collect();
    let drawing = Drawing { module, ran: &ran, nodes: &nodes, inside: &inside };
    for index in indices() {
        let mut edges = FxHashSet::default();
        for (place, to) in nodes[index].iter().enumerate() {
            match inside.get(&index).and_then(|inside| inside.taken.get(place)) {
                Some(taken) => taken.iter().for_each(|source| drawing.add(index, *source, *to, &mut edges)),
                None => (0..module.instructions[index].operands.len())
                    .for_each(|operand| drawing.add(index, Source::Operand(operand), *to, &mut edges)),
            }
            if edges.len() > EDGES {
                break;
            }
        }
        let mut edges: Vec<(NodeId, NodeId)> = edges.into_iter().collect();
        edges.sort_unstable();
        edges.into_iter().filter(|(from, to)| from != to).for_each(|(from, to)| model.connect(from, to));
    }
}

/// What is needed to find the nodes that make a tensor.
struct Drawing<'a> {
    module: &'a Module,
    ran: &'a [bool],
    nodes: &'a [Vec<NodeId>],
    inside: &'a FxHashMap<usize, Inside>,
}

impl Drawing<'_> {
    /// Adds the edges from what a part of the instruction `index` takes.
    fn add(&self, index: usize, source: Source, to: NodeId, edges: &mut FxHashSet<(NodeId, NodeId)>) {
        match source {
            Source::Part(part) => edges.extend(self.nodes[index].get(part).map(|from| (*from, to))),
            Source::Operand(operand) => {
                let mut seen = FxHashSet::default();
                self.follow((index, operand), to, &mut seen, edges);
            }
        }
    }

    /// Adds the edges from what made an operand of an instruction.
    fn follow(
        &self,
        (index, operand): (usize, usize),
        to: NodeId,
        seen: &mut FxHashSet<(usize, usize)>,
        edges: &mut FxHashSet<(NodeId, NodeId)>,
    ) {
        if seen.len() >= SEARCH || !seen.insert((index, operand)) {
            return;
        }
        for (producer, element) in producers(self.module, index, operand, self.ran) {
            match self.inside.get(&producer) {
                Some(inside) => {
                    for source in inside.made(element) {
                        match source {
                            Source::Part(part) => {
                                edges.extend(self.nodes[producer].get(part).map(|from| (*from, to)));
                            }
                            // It passes on what it takes.
                            Source::Operand(operand) => self.follow((producer, operand), to, seen, edges),
                        }
                    }
                }
                None => edges.extend(self.nodes[producer].last().map(|from| (*from, to))),
            }
        }
    }
}

/// What is known about a part of an instruction. Every part has the shapes of the whole, and its share of what can be
/// added up.
fn facts(hlo: &HloModule, index: usize, is_counted_inside: bool, part: &InstructionShare) -> Facts {
    let module = &hlo.module;
    let instruction = &module.instructions[index];
    let share = |whole: u64| if part.share < 1.0 { (whole as f64 * part.share).round() as u64 } else { whole };
    let flops = hlo.flops[index].filter(|_| !is_counted_inside);
    let inputs: Vec<TensorShape> = module.inputs(instruction).take(INPUTS).cloned().collect();
    Facts {
        flops: flops.map(share),
        output_bytes: shape::total_bytes(&instruction.outputs).map(share),
        inputs,
        outputs: instruction.outputs.clone(),
        ..Facts::default()
    }
}

/// The instructions that ran and made an operand of `index`, through those that did not run themselves.
fn producers(module: &Module, index: usize, operand: usize, ran: &[bool]) -> Vec<Made> {
    let mut seen: FxHashSet<usize> = FxHashSet::default();
    let mut found = Vec::new();
    let mut ahead: Vec<Made> =
        module.instructions[index].operands.get(operand).map(|operand| (*operand, None)).into_iter().collect();
    while let Some((at, element)) = ahead.pop() {
        if at == index || seen.len() >= SEARCH {
            continue;
        }
        if ran[at] {
            found.push((at, element));
        } else if seen.insert(at) {
            let instruction = &module.instructions[at];
            let element = match (&*instruction.opcode, &instruction.detail) {
                ("get-tuple-element", Detail::Number(number)) => usize::try_from(*number).ok(),
                _ => None,
            };
            ahead.extend(behind(module, at).into_iter().map(|behind| (behind, element)));
        }
    }
    found
}

/// What an instruction that did not run passes on.
fn behind(module: &Module, at: usize) -> Vec<usize> {
    let instruction = &module.instructions[at];
    match (&*instruction.opcode, &instruction.detail) {
        ("get-tuple-element", Detail::Number(number)) => {
            let tuple = instruction.operands.first().map(|tuple| &module.instructions[*tuple]);
            let element = tuple
                .filter(|tuple| &*tuple.opcode == "tuple")
                .and_then(|tuple| tuple.operands.get(usize::try_from(*number).ok()?));
            element.map_or_else(|| instruction.operands.clone(), |element| vec![*element])
        }
        ("parameter", Detail::Number(number)) => {
            let callers = &module.computations[instruction.computation].callers;
            callers
                .iter()
                .filter_map(|caller| argument(module, *caller, instruction.computation, *number))
                .collect()
        }
        _ => instruction.operands.clone(),
    }
}

/// What a caller passes to a computation as its parameter of this number.
fn argument(module: &Module, caller: usize, computation: usize, number: i64) -> Option<usize> {
    let caller = &module.instructions[caller];
    let operand = match &*caller.opcode {
        "while" => 0,
        // The first operand chooses between the branches, each of which has one argument.
        "conditional" => 1 + caller.called.iter().position(|called| *called == computation)?,
        "fusion" | "call" | "async-start" => usize::try_from(number).ok()?,
        _ => return None,
    };
    caller.operands.get(operand).copied()
}
