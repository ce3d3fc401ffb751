//! The instructions that ran as a part of the model: their shapes, their operations, the data flow between them.

use jouletree_model::{Facts, ModelTree, NodeId, TensorShape};
use rustc_hash::FxHashSet;

use super::module::{Detail, Module};
use super::{HloModule, InstructionShare, shape};

/// How many instructions that did not run are gone through on the way back to what did.
const SEARCH: usize = 1024;

/// How many tensors are noted that an instruction takes.
const INPUTS: usize = 256;

/// How many edges an instruction may have before only its last part is drawn.
const EDGES: usize = 4096;

/// Adds the instructions that ran to a model.
///
/// What a fusion takes goes to every part of it; what it makes comes from its last part, to which the others lead.
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
    for index in indices() {
        let Some((last, others)) = nodes[index].split_last() else { continue };
        others.iter().for_each(|other| model.connect(*other, *last));
        let producers = producers(module, index, &ran);
        let takers =
            if producers.len() * nodes[index].len() > EDGES { std::slice::from_ref(last) } else { &nodes[index] };
        for from in producers.into_iter().filter_map(|producer| nodes[producer].last()) {
            takers.iter().for_each(|to| model.connect(*from, *to));
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

/// The instructions that ran and made what `index` takes, through those that did not run themselves.
fn producers(module: &Module, index: usize, ran: &[bool]) -> Vec<usize> {
    let mut seen: FxHashSet<usize> = FxHashSet::default();
    let mut found = Vec::new();
    let mut ahead = module.instructions[index].operands.clone();
    while let Some(at) = ahead.pop() {
        if at == index || seen.len() >= SEARCH || !seen.insert(at) {
            continue;
        }
        if ran[at] {
            found.push(at);
        } else {
            ahead.extend(behind(module, at));
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
