//! Compiled XLA modules: which layers an instruction of a trace works for, and what is known about it.
//!
//! A trace of compiled code names instructions (`dot.48`, `ynn_fusion.22`) that only the module explains. `module`
//! keeps what the file says, `scope` and `places` read the framework's notation for a place in the model, `flops` counts,
//! `frames` knows the user's source files, `parts` splits the time of an instruction, `whole` that of a whole module,
//! `beside` places instructions that the compiler made up, `flow` draws the data flow between those that ran, and `inside` that
//! within a fusion of several layers.

mod beside;
mod flops;
mod flow;
mod frames;
mod inside;
mod module;
mod parts;
mod places;
mod scope;
mod shape;
#[cfg(test)]
mod tests;
mod whole;

use std::sync::OnceLock;

use jouletree_model::{ModelTree, Op};
use rustc_hash::FxHashMap;

use module::Module;
use places::Places;

/// One compiled module.
#[derive(Debug)]
pub(crate) struct HloModule {
    module: Module,
    /// The operations of one run of each instruction, where they can be counted.
    flops: Vec<Option<u64>>,
    /// The scope of each instruction, found when the first is asked for: most modules of a trace never run.
    places: OnceLock<Places>,
    /// Where the time of each instruction goes, found when it is first asked for.
    parts: Vec<OnceLock<Vec<InstructionShare>>>,
    by_name: FxHashMap<Box<str>, usize>,
}

/// An operation of the model that an instruction works for, with its share of the instruction's time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InstructionShare {
    /// The operation. Its path ends with the framework's name for the operation (`dot_general`), or the opcode where
    /// there is none. Its type is the opcode (`dot`), for a fusion with the heaviest one inside (`fusion:dot`), for a
    /// custom call with what it calls (`custom-call:TopK`). Its name is that of the instruction.
    pub(crate) op: Op,
    /// A number from 0 to 1; the shares of an instruction's parts sum to 1.
    pub(crate) share: f64,
}

impl HloModule {
    /// Reads an `xla.HloProto`; the computations before a damage are used. `None` if there is not a single instruction.
    pub(crate) fn parse(hlo_proto: &[u8]) -> Option<HloModule> {
        let module = Module::read(hlo_proto);
        if module.instructions.is_empty() {
            return None;
        }
        let flops = flops::flops(&module);
        let parts = module.instructions.iter().map(|_| OnceLock::new()).collect();
        let named = module.instructions.iter().enumerate().map(|(index, found)| (found.name.clone(), index));
        let by_name = named.collect();
        Some(HloModule { module, flops, places: OnceLock::new(), parts, by_name })
    }

    /// The module's name: `jit_step`.
    pub(crate) fn name(&self) -> &str {
        &self.module.name
    }

    /// Where the time of an instruction, of any computation, goes: at least one part.
    pub(crate) fn parts(&self, instruction: &str) -> Option<&[InstructionShare]> {
        self.by_name.get(instruction).map(|index| self.parts_at(*index))
    }

    /// The number of an instruction if it runs others one by one: a loop, a branch, a call.
    pub(crate) fn container(&self, instruction: &str) -> Option<usize> {
        let index = *self.by_name.get(instruction)?;
        self.module.instructions[index].is_container().then_some(index)
    }

    /// The numbers of the containers that an instruction runs in, the innermost first.
    pub(crate) fn containers_around(&self, instruction: &str) -> Vec<usize> {
        let caller = |index: &usize| {
            let computation = self.module.instructions[*index].computation;
            self.module.computations[computation].callers.first().copied()
        };
        // Callers come after what they call, so this ends.
        let callers = std::iter::successors(self.by_name.get(instruction).and_then(caller), caller);
        callers.filter(|index| self.module.instructions[*index].is_container()).collect()
    }

    /// Adds the instructions that ran, by `used`, as nodes with the same operations as in their parts, and the data
    /// flow between them.
    pub(crate) fn add_to(&self, model: &mut ModelTree, used: &dyn Fn(&str) -> bool) {
        flow::add_to(self, model, used);
    }

    fn places(&self) -> &Places {
        self.places.get_or_init(|| Places::of(&self.module))
    }

    fn parts_at(&self, index: usize) -> &[InstructionShare] {
        self.parts[index].get_or_init(|| parts::parts(self, index))
    }
}
