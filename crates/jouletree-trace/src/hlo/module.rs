//! A compiled module as it is in the file: computations, instructions, and who uses what.
//!
//! XLA writes callees before callers and operands before users, and only such references are kept. So whatever the
//! file claims, no instruction depends on itself and every walk ends.

use std::ops::Range;

use jouletree_model::TensorShape;
use rustc_hash::FxHashMap;

use super::frames::Frames;
use super::shape;
use crate::wire::{Fields, Value};

/// The instructions of all computations, those of one computation side by side.
#[derive(Debug, Default)]
pub(super) struct Module {
    pub(super) name: String,
    pub(super) computations: Vec<Computation>,
    pub(super) instructions: Vec<Instruction>,
    pub(super) frames: Frames,
}

/// A function: the program itself, the inside of a fusion, the body of a loop, what a reduction does to two elements.
#[derive(Debug)]
pub(super) struct Computation {
    /// Its instructions, as indices into those of the module.
    pub(super) instructions: Range<usize>,
    /// The instructions that call it.
    pub(super) callers: Vec<usize>,
}

/// One instruction. Others are known by their index in the module, computations likewise.
#[derive(Debug, Default)]
pub(super) struct Instruction {
    pub(super) name: Box<str>,
    pub(super) opcode: Box<str>,
    /// Where in the user's program it comes from, in the framework's notation; empty if the compiler made it up.
    pub(super) op_name: Box<str>,
    /// Where in its source files it was written: a number in [`Module::frames`].
    pub(super) frame: i64,
    /// The source file by name, as older versions write it.
    pub(super) file: Box<str>,
    /// What a custom call calls.
    pub(super) target: Box<str>,
    /// The tensors it makes, those of a tuple in a row.
    pub(super) outputs: Vec<TensorShape>,
    pub(super) operands: Vec<usize>,
    pub(super) users: Vec<usize>,
    pub(super) called: Vec<usize>,
    pub(super) computation: usize,
    pub(super) detail: Detail,
}

/// What an instruction has beside operands, as far as it is needed here.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Detail {
    #[default]
    None,
    /// The dimensions of the left operand that a dot product sums over.
    Contracted(Vec<i64>),
    /// The dimension of a convolution's kernel that counts the output's features.
    OutputFeatures(i64),
    /// The size of a window in every dimension.
    Window(Vec<i64>),
    /// The dimension that is sorted.
    Along(i64),
    /// The number of a parameter, or of an element of a tuple.
    Number(i64),
    /// How often a loop runs.
    Trips(u64),
}

/// What the file calls an instruction's neighbours.
#[derive(Default)]
struct Claims {
    id: i64,
    operands: Vec<i64>,
    called: Vec<i64>,
}

impl Module {
    /// Reads an `xla.HloProto`; what precedes a damage is kept, and a message that claims more than there is not.
    pub(super) fn read(hlo_proto: &[u8]) -> Module {
        let mut module = Module::default();
        let mut computations = FxHashMap::default();
        let within =
            Fields::new(hlo_proto).filter(|(field, _)| *field == 1).flat_map(|(_, value)| value.message());
        for (field, value) in within {
            match field {
                1 => module.name = value.text(),
                3 => module.read_computation(value, &mut computations),
                17 => module.frames = Frames::read(value),
                _ => {}
            }
        }
        module
    }

    fn read_computation(&mut self, value: Value<'_>, computations: &mut FxHashMap<i64, usize>) {
        let number = self.computations.len();
        let start = self.instructions.len();
        let mut id = 0;
        let mut siblings = FxHashMap::default();
        for (field, value) in value.message() {
            match field {
                2 => {
                    let (instruction, claims) = Instruction::read(value);
                    self.add(instruction, &claims, number, &siblings, computations);
                    siblings.insert(claims.id, self.instructions.len() - 1);
                }
                5 => id = value.signed(),
                _ => {}
            }
        }
        self.computations.push(Computation { instructions: start..self.instructions.len(), callers: Vec::new() });
        computations.insert(id, number);
    }

    fn add(
        &mut self,
        mut instruction: Instruction,
        claims: &Claims,
        computation: usize,
        siblings: &FxHashMap<i64, usize>,
        computations: &FxHashMap<i64, usize>,
    ) {
        let index = self.instructions.len();
        instruction.computation = computation;
        instruction.operands = claims.operands.iter().filter_map(|id| siblings.get(id).copied()).collect();
        instruction.called = claims.called.iter().filter_map(|id| computations.get(id).copied()).collect();
        for operand in &instruction.operands {
            let users = &mut self.instructions[*operand].users;
            if users.last() != Some(&index) {
                users.push(index);
            }
        }
        for called in &instruction.called {
            self.computations[*called].callers.push(index);
        }
        self.instructions.push(instruction);
    }

    /// The instructions of a computation, each with its index.
    pub(super) fn inside(&self, computation: usize) -> impl Iterator<Item = (usize, &Instruction)> {
        let range = self.computations[computation].instructions.clone();
        range.clone().zip(&self.instructions[range])
    }

    /// The source file that an instruction was written in.
    pub(super) fn file<'a>(&'a self, instruction: &'a Instruction) -> &'a str {
        self.frames.file(instruction.frame).unwrap_or(&instruction.file)
    }

    /// The tensors that an instruction takes.
    pub(super) fn inputs(&self, instruction: &Instruction) -> impl Iterator<Item = &TensorShape> {
        instruction.operands.iter().flat_map(|operand| &self.instructions[*operand].outputs)
    }
}

impl Instruction {
    fn read(value: Value<'_>) -> (Instruction, Claims) {
        let mut instruction = Instruction::default();
        let mut claims = Claims::default();
        let mut number = 0;
        let mut along = None;
        let mut details = Vec::new();
        for (field, value) in value.message() {
            match field {
                1 => instruction.name = value.text().into(),
                2 => instruction.opcode = value.text().into(),
                3 => instruction.outputs = shape::leaves(value),
                7 => instruction.read_metadata(value),
                9 | 13 => number = value.signed(),
                14 => along = along.or_else(|| value.integers().next()),
                28 => instruction.target = value.text().into(),
                35 => claims.id = value.signed(),
                36 => claims.operands.extend(value.integers()),
                38 => claims.called.extend(value.integers()),
                15 | 16 | 30 | 43 => details.push((field, value)),
                _ => {}
            }
        }
        let detail = |field: u64| details.iter().rev().find(|(found, _)| *found == field).map(|(_, value)| *value);
        instruction.detail = match &*instruction.opcode {
            "dot" => detail(30).map(|dot| Detail::Contracted(all(dot, 1))),
            "convolution" => {
                detail(16).map(|numbers| Detail::OutputFeatures(first(numbers, 4).map_or(0, Value::signed)))
            }
            "reduce-window" => detail(15).map(|window| Detail::Window(window_sizes(window))),
            "sort" => Some(Detail::Along(along.unwrap_or(0))),
            "parameter" | "get-tuple-element" => Some(Detail::Number(number)),
            "while" => detail(43).and_then(|config| trip_count(&config.text())).map(Detail::Trips),
            _ => None,
        }
        .unwrap_or_default();
        (instruction, claims)
    }

    fn read_metadata(&mut self, metadata: Value<'_>) {
        for (field, value) in metadata.message() {
            match field {
                2 => self.op_name = value.text().into(),
                3 => self.file = value.text().into(),
                15 => self.frame = value.signed(),
                _ => {}
            }
        }
    }

    /// Whether it runs the instructions of other computations one by one, so that a trace shows them beside it.
    pub(super) fn is_container(&self) -> bool {
        matches!(&*self.opcode, "call" | "conditional" | "while") && !self.called.is_empty()
    }

    /// Whether it is there before anything runs: an argument or a constant.
    pub(super) fn is_given(&self) -> bool {
        matches!(&*self.opcode, "parameter" | "constant")
    }
}

/// The first value of a field in a message.
fn first<'a>(message: Value<'a>, field: u64) -> Option<Value<'a>> {
    message.message().find(|(found, _)| *found == field).map(|(_, value)| value)
}

/// All integers of a field in a message.
fn all(message: Value<'_>, field: u64) -> Vec<i64> {
    message.message().filter(|(found, _)| *found == field).flat_map(|(_, value)| value.integers()).collect()
}

fn window_sizes(window: Value<'_>) -> Vec<i64> {
    let dimensions = window.message().filter(|(field, _)| *field == 1);
    dimensions.map(|(_, dimension)| first(dimension, 1).map_or(1, Value::signed)).collect()
}

/// The `n` of `{"known_trip_count":{"n":"10"}}`.
fn trip_count(config: &str) -> Option<u64> {
    let (_, after) = config.split_once("\"known_trip_count\"")?;
    let (_, number) = after.split_once("\"n\"")?;
    let number = number.trim_start_matches([':', ' ', '"']);
    number[..number.bytes().take_while(u8::is_ascii_digit).count()].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_tell_how_often_they_run() {
        assert_eq!(trip_count(r#"{"known_trip_count":{"n":"12"},"x":{"n":"3"}}"#), Some(12));
        assert_eq!(trip_count(r#"{"known_trip_count": {"n": 7}}"#), Some(7));
        for config in ["", "{}", r#"{"known_trip_count":"#, r#"{"known_trip_count":{"n":"é"}}"#] {
            assert_eq!(trip_count(config), None, "{config}");
        }
    }
}
