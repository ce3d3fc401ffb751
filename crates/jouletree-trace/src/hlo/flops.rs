//! How many operations on numbers an instruction takes.
//!
//! A product with a sum counts two, every other operation on one element counts one: also a transcendental one
//! (`exponential`, `tanh`), whatever it costs, and one on integers. Moving data counts nothing, and neither does a
//! conversion between types. What cannot be counted (a custom call, a loop without a known end) is not guessed.
//!
//! XLA's own analysis, in comparison, counts transcendental operations apart, conversions as operations, and for a
//! reduction one operation less per result.

use jouletree_model::TensorShape;

use super::module::{Detail, Instruction, Module};

/// Opcodes that do one operation for every element of their result.
const ELEMENTWISE: &[&str] = &[
    "abs",
    "acos",
    "acosh",
    "add",
    "and",
    "asin",
    "asinh",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "clamp",
    "clz",
    "compare",
    "complex",
    "cosh",
    "cosine",
    "count-leading-zeros",
    "divide",
    "erf",
    "exponential",
    "exponential-minus-one",
    "floor",
    "imag",
    "is-finite",
    "log",
    "log-plus-one",
    "logistic",
    "maximum",
    "minimum",
    "multiply",
    "negate",
    "not",
    "or",
    "popcnt",
    "power",
    "real",
    "reduce-precision",
    "remainder",
    "rng",
    "rng-bit-generator",
    "round-nearest-afz",
    "round-nearest-even",
    "rsqrt",
    "select",
    "shift-left",
    "shift-right-arithmetic",
    "shift-right-logical",
    "sign",
    "sine",
    "sinh",
    "sqrt",
    "stochastic-convert",
    "subtract",
    "tan",
    "tanh",
    "xor",
];

/// Opcodes that only move data, pass it on or wait for it.
const MOVEMENT: &[&str] = &[
    "add-dependency",
    "after-all",
    "all-gather",
    "all-gather-done",
    "all-gather-start",
    "all-reduce-done",
    "all-to-all",
    "async-done",
    "async-update",
    "bitcast",
    "bitcast-convert",
    "broadcast",
    "collective-broadcast",
    "collective-permute",
    "collective-permute-done",
    "collective-permute-start",
    "concatenate",
    "constant",
    "convert",
    "copy",
    "copy-done",
    "copy-start",
    "domain",
    "dynamic-reshape",
    "dynamic-slice",
    "dynamic-update-slice",
    "gather",
    "get-dimension-size",
    "get-tuple-element",
    "infeed",
    "iota",
    "opt-barrier",
    "optimization-barrier",
    "outfeed",
    "pad",
    "parameter",
    "partition-id",
    "ragged-all-to-all",
    "recv",
    "recv-done",
    "replica-id",
    "reshape",
    "reverse",
    "rng-get-and-update-state",
    "send",
    "send-done",
    "set-dimension-size",
    "slice",
    "transpose",
    "tuple",
];

/// The operations of one run of every instruction, in their order; `None` where they are unknown.
pub(super) fn flops(module: &Module) -> Vec<Option<u64>> {
    let mut instructions: Vec<Option<u64>> = Vec::with_capacity(module.instructions.len());
    // Callees precede their callers.
    let mut computations: Vec<Option<u64>> = Vec::with_capacity(module.computations.len());
    for computation in &module.computations {
        for index in computation.instructions.clone() {
            instructions.push(of_instruction(module, &module.instructions[index], &computations));
        }
        computations.push(sum(instructions[computation.instructions.clone()].iter().copied()));
    }
    instructions
}

fn of_instruction(module: &Module, instruction: &Instruction, computations: &[Option<u64>]) -> Option<u64> {
    let output = || instruction.outputs.first()?.elements();
    let operand = |number: usize| module.instructions[*instruction.operands.get(number)?].outputs.first();
    let elements = |number: usize| operand(number)?.elements();
    let called = || instruction.called.iter().map(|called| computations.get(*called).copied().flatten());
    // What is done to two elements; some writers leave it out.
    let applied = || if instruction.called.is_empty() { Some(1) } else { sum(called()) };
    match (&*instruction.opcode, &instruction.detail) {
        ("dot", Detail::Contracted(dimensions)) => {
            product([Some(2), output(), sizes(operand(0)?, dimensions.iter().copied())])
        }
        ("convolution", Detail::OutputFeatures(dimension)) => {
            let kernel = operand(1)?;
            let others = (0..kernel.dimensions.len() as i64).filter(|other| other != dimension);
            product([Some(2), output(), sizes(kernel, others)])
        }
        ("reduce" | "all-reduce" | "all-reduce-start" | "reduce-scatter", _) => product([elements(0), applied()]),
        ("select-and-scatter", _) => product([elements(0), applied()]),
        ("reduce-window", Detail::Window(sizes)) => {
            let window = sizes.iter().try_fold(1_u64, |all, size| all.checked_mul(u64::try_from(*size).ok()?));
            product([output(), window, applied()])
        }
        // Operands, indices, then as many updates as operands.
        ("scatter", _) => product([elements(instruction.operands.len().div_ceil(2)), applied()]),
        ("map", _) => product([output(), applied()]),
        ("sort", Detail::Along(dimension)) => {
            let length = sizes(operand(0)?, [*dimension])?;
            product([elements(0), Some(u64::from(length.max(1).next_power_of_two().ilog2())), applied()])
        }
        ("fusion" | "call" | "async-start", _) if !instruction.called.is_empty() => sum(called()),
        ("while", Detail::Trips(trips)) => product([Some(*trips), sum(called())]),
        ("conditional", _) => called().try_fold(0, |most, branch| Some(branch?.max(most))),
        (opcode, _) if ELEMENTWISE.contains(&opcode) => output(),
        (opcode, _) if MOVEMENT.contains(&opcode) => Some(0),
        _ => None,
    }
}

/// The product of some dimensions of a tensor.
fn sizes(tensor: &TensorShape, dimensions: impl IntoIterator<Item = i64>) -> Option<u64> {
    dimensions.into_iter().try_fold(1_u64, |all, dimension| {
        let size = tensor.dimensions.get(usize::try_from(dimension).ok()?)?;
        all.checked_mul(u64::try_from(*size).ok()?)
    })
}

fn product<const N: usize>(factors: [Option<u64>; N]) -> Option<u64> {
    factors.into_iter().try_fold(1_u64, |all, factor| all.checked_mul(factor?))
}

fn sum(terms: impl IntoIterator<Item = Option<u64>>) -> Option<u64> {
    terms.into_iter().try_fold(0_u64, |all, term| all.checked_add(term?))
}
