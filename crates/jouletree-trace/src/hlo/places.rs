//! The places of a module's instructions, by the names in it.

use jouletree_model::Pass;

use super::frames;
use super::module::{Instruction, Module};
use super::scope::{InstructionScope, place};

/// Opcodes that take no time within a fusion: they only change how elements are numbered.
const FREE: &[&str] = &["bitcast", "broadcast", "constant", "get-tuple-element", "iota", "parameter", "tuple"];

/// Opcodes that run the instructions of the computations they call. A reduction calls one as well, but that is what
/// it does to two elements, and has no place of its own.
const RUNS: &[&str] = &["async-start", "call", "conditional", "custom-call", "fusion", "while"];

/// The layer of updates of parameters that are in no scope.
const OPTIMIZER: &str = "optimizer";

/// The places of all instructions, as far as names say.
#[derive(Debug)]
pub(super) struct Places {
    /// By their own names.
    own: Vec<Option<InstructionScope>>,
    /// By a name inside: the last one, nearest to the result.
    inside: Vec<Option<InstructionScope>>,
}

impl Places {
    pub(super) fn of(module: &Module) -> Places {
        let named = |instruction: &Instruction| {
            // The name of a parameter is that of an argument.
            if &*instruction.opcode == "parameter" {
                return None;
            }
            let place = place(&instruction.op_name)?;
            let is_update = place.pass == Pass::Forward && frames::is_optimizer(module.file(instruction));
            Some(if is_update { update(place) } else { place })
        };
        let own: Vec<Option<InstructionScope>> = module.instructions.iter().map(named).collect();
        let mut places = Places { own, inside: Vec::with_capacity(module.computations.len()) };
        // Callees precede their callers.
        for computation in 0..module.computations.len() {
            let mut found = None;
            for (index, instruction) in module.inside(computation) {
                if found.is_none() || !is_free(instruction) {
                    found = places.get(module, index).or(found);
                }
            }
            let found = found.cloned();
            places.inside.push(found);
        }
        places
    }

    /// The place that an instruction's own name says.
    pub(super) fn own(&self, index: usize) -> Option<&InstructionScope> {
        self.own[index].as_ref()
    }

    /// The place that an instruction's own name says, or a name inside it.
    pub(super) fn get(&self, module: &Module, index: usize) -> Option<&InstructionScope> {
        let instruction = &module.instructions[index];
        let inside = |called: &usize| self.inside.get(*called)?.as_ref();
        self.own(index)
            .or_else(|| if runs(instruction) { instruction.called.iter().find_map(inside) } else { None })
    }
}

/// The place of what a library of optimizers wrote; its scopes say nothing of passes.
fn update(place: InstructionScope) -> InstructionScope {
    let scope = if place.scope.is_empty() { OPTIMIZER.to_owned() } else { place.scope };
    InstructionScope { scope, pass: Pass::Optimizer, ..place }
}

/// Whether an instruction takes no time within a fusion.
pub(super) fn is_free(instruction: &Instruction) -> bool {
    FREE.contains(&&*instruction.opcode)
}

/// Whether the time of what an instruction calls is its own time.
pub(super) fn runs(instruction: &Instruction) -> bool {
    RUNS.contains(&&*instruction.opcode)
}
