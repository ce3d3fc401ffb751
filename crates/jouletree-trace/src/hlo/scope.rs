//! The place of an instruction in the user's program, from its `op_name`.
//!
//! JAX writes the stack of scopes and transformations: `jit(step)/transpose(jvp(bert))/encoder/layer_0/ffn/mul`. Of
//! this the layers are kept (`bert/encoder/layer_0/ffn`), then the primitive (`mul`), and the transposition shows the
//! backward pass. What only says how the program is run is dropped: the function that was compiled, `while/body`,
//! `checkpoint`, `remat`, `vmap` and the like. A function that is compiled within another is kept as a layer where
//! its name is meant for readers (`jit(softmax)`, `jit(gelu)`) and dropped where it is private (`jit(_where)`).
//! Recomputation for the backward pass (`rematted_computation`) belongs to the backward pass, as it happens there.
//!
//! TensorFlow writes the names of its operations, as in its other traces.

use std::borrow::Cow;

use jouletree_model::Pass;

use crate::tensorflow::names::{Gradient, before_grappler, gradient, without_number};
use crate::tensorflow::shared_layer;

/// Transformations of functions, as JAX writes them around a scope.
const WRAPPERS: &[&str] = &[
    "checkpoint",
    "custom_jvp",
    "custom_vjp",
    "jit",
    "jvp",
    "linearize",
    "pjit",
    "pmap",
    "remat",
    "shard_map",
    "transpose",
    "vjp",
    "vmap",
    "xla_call",
    "xmap",
];

/// Wrappers around the name of a function, not of a scope.
const FUNCTIONS: &[&str] = &["jit", "pjit", "pmap", "xla_call"];

/// Parts of a name that say how a piece of a program is run, not what it is.
const STRUCTURE: &[&str] = &[
    "checkpoint",
    "closed_call",
    "core_call",
    "custom_jvp_call",
    "custom_jvp_call_jaxpr",
    "custom_lin",
    "custom_vjp_call",
    "custom_vjp_call_jaxpr",
    "jit",
    "named_call",
    "pjit",
    "pmap",
    "remat",
    "remat2",
    "rematted_computation",
    "shard_map",
    "while",
    "xla_call",
    "xla_pmap",
];

/// Parts that are structure only beside other parts of a loop or a branch; a layer may be called so as well.
const LOOP_PARTS: &[&str] = &["body", "cond", "scan", "while"];

/// Outermost scopes that say that parameters are updated, in lower case.
const OPTIMIZERS: &[&str] = &[
    "adadelta",
    "adafactor",
    "adagrad",
    "adam",
    "adamax",
    "adamw",
    "apply_gradients",
    "apply_updates",
    "lamb",
    "lars",
    "lion",
    "nadam",
    "optimizer",
    "optimiser",
    "optax",
    "radam",
    "rmsprop",
    "sgd",
];

/// How TensorFlow calls functions.
const CALLS: &[&str] = &["PartitionedCall", "StatefulPartitionedCall", "XlaLaunch"];

/// The layers, primitive and pass of an instruction.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct InstructionScope {
    /// The layers around it, separated by `/`; empty outside of every layer.
    pub(super) scope: String,
    /// What the framework calls the operation; empty if the name ends with a scope.
    pub(super) primitive: String,
    pub(super) pass: Pass,
}

/// The place that an `op_name` says; `None` if it says none, as the name of an argument does.
///
/// Where the compiler has merged instructions it joins their names by `;`: the place is then in the layer they share.
pub(super) fn place(op_name: &str) -> Option<InstructionScope> {
    let mut places = op_name.split(';').filter_map(single_place);
    let first = places.next()?;
    let rest: Vec<InstructionScope> = places.collect();
    let scopes: Vec<&str> = std::iter::once(&first).chain(&rest).map(|place| place.scope.as_str()).collect();
    let scope = shared_scope(&scopes).to_owned();
    Some(InstructionScope { scope, ..first })
}

/// The innermost layer that holds all of `scopes`, or the first of them where they share none.
fn shared_scope<'a>(scopes: &[&'a str]) -> &'a str {
    match shared_layer(scopes) {
        "" => scopes.first().copied().unwrap_or_default(),
        shared => shared,
    }
}

fn single_place(op_name: &str) -> Option<InstructionScope> {
    let parts = split(op_name);
    if parts.len() < 2 {
        return None;
    }
    if parts.iter().any(|part| unwrap(part).is_some()) {
        Some(jax_place(&parts))
    } else {
        tensorflow_place(op_name)
    }
}

fn jax_place(parts: &[&str]) -> InstructionScope {
    let parts: Vec<Unwrapped<'_>> = parts.iter().map(|part| Unwrapped::of(part)).collect();
    let name = |index: Option<usize>| parts.get(index?).map(|part| part.name);
    let mut scopes: Vec<&str> = Vec::new();
    let mut primitive = "";
    // Where what is differentiated backward began: its name, and how many scopes were before it.
    let mut transposed: Option<(&str, usize)> = None;
    for (index, part) in parts.iter().enumerate() {
        match transposed {
            // Within recomputation the whole stack of the forward pass is there a second time.
            Some((name, before)) if part.is_forward && part.name == name => scopes.truncate(before),
            None if part.is_transposed => transposed = Some((part.name, scopes.len())),
            _ => {}
        }
        let neighbours = [name(index.checked_sub(1)), name(Some(index + 1))];
        if part.is_function {
            let is_private = part.name.starts_with(['_', '<']) || part.name == "main";
            if index > 0 && !is_private {
                scopes.push(part.name);
            }
        } else if index + 1 == parts.len() && !part.is_wrapped {
            primitive = if is_structure(part.name, neighbours) { "" } else { part.name };
        } else {
            scopes.extend(split(part.name).into_iter().filter(|name| !is_structure(name, neighbours)));
        }
    }
    let pass = if transposed.is_some() {
        Pass::Backward
    } else if scopes.first().is_some_and(|first| is_optimizer(first)) {
        Pass::Optimizer
    } else {
        Pass::Forward
    };
    InstructionScope { scope: scopes.join("/"), primitive: primitive.to_owned(), pass }
}

/// A part of a name without the transformations around it.
struct Unwrapped<'a> {
    name: &'a str,
    is_wrapped: bool,
    is_function: bool,
    is_forward: bool,
    is_transposed: bool,
}

impl Unwrapped<'_> {
    fn of(part: &str) -> Unwrapped<'_> {
        let mut found = Unwrapped {
            name: part,
            is_wrapped: false,
            is_function: false,
            is_forward: false,
            is_transposed: false,
        };
        while let Some((wrapper, inner)) = unwrap(found.name) {
            found.name = inner;
            found.is_wrapped = true;
            found.is_function = FUNCTIONS.contains(&wrapper);
            found.is_forward |= wrapper == "jvp";
            found.is_transposed |= wrapper == "transpose";
        }
        found.is_forward &= !found.is_transposed;
        found
    }
}

fn tensorflow_place(op_name: &str) -> Option<InstructionScope> {
    let called: Vec<&str> = op_name.split('/').filter(|part| !CALLS.contains(&without_number(part))).collect();
    let called = called.join("/");
    let name = before_grappler(&called);
    let (path, pass) = match gradient(&name) {
        Gradient::Of(path) => (path, Pass::Backward),
        Gradient::Unknown => {
            let last = name.rsplit('/').next().unwrap_or_default();
            return Some(InstructionScope {
                scope: String::new(),
                primitive: last.to_owned(),
                pass: Pass::Backward,
            });
        }
        Gradient::No => {
            let is_update = is_optimizer(name.split('/').next().unwrap_or_default());
            (Cow::Borrowed(&*name), if is_update { Pass::Optimizer } else { Pass::Forward })
        }
    };
    let (scope, primitive) = path.rsplit_once('/').unwrap_or(("", &path));
    (!path.is_empty()).then(|| InstructionScope { scope: scope.to_owned(), primitive: primitive.to_owned(), pass })
}

fn is_optimizer(scope: &str) -> bool {
    OPTIMIZERS.contains(&without_number(scope).to_ascii_lowercase().as_str())
}

/// The transformation and what it surrounds: `jvp` and `bert` of `jvp(bert)`.
fn unwrap(part: &str) -> Option<(&str, &str)> {
    let (wrapper, inner) = part.strip_suffix(')')?.split_once('(')?;
    WRAPPERS.contains(&wrapper).then_some((wrapper, inner))
}

fn is_structure(part: &str, neighbours: [Option<&str>; 2]) -> bool {
    let is_branch = |part: &str| {
        let number = part.strip_prefix("branch_").and_then(|rest| rest.strip_suffix("_fun"));
        number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let is_loop = |part: &str| LOOP_PARTS.contains(&part);
    let beside_a_loop = || neighbours.into_iter().flatten().any(|part| is_loop(part) || is_branch(part));
    part.is_empty() || STRUCTURE.contains(&part) || is_branch(part) || (is_loop(part) && beside_a_loop())
}

/// The parts of a name between those `/` that are in no parentheses.
fn split(name: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let outside = name.split(|letter: char| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == '/' && depth == 0
    });
    outside.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_places() {
        use Pass::{Backward, Forward, Optimizer};
        for (op_name, scope, primitive, pass) in [
            (
                "jit(step)/jvp(bert)/encoder/layer_0/ffn/intermediate/dot_general",
                "bert/encoder/layer_0/ffn/intermediate",
                "dot_general",
                Forward,
            ),
            ("jit(step)/transpose(jvp(bert))/encoder/layer_0/mul", "bert/encoder/layer_0", "mul", Backward),
            ("jit(step)/optimizer/sub", "optimizer", "sub", Optimizer),
            ("jit(step)/Adam_1/layer_0/mul", "Adam_1/layer_0", "mul", Optimizer),
            ("jit(step)/bert/adam/mul", "bert/adam", "mul", Forward),
            // A primitive may have the name of a transformation.
            ("jit(step)/jvp(bert)/attention/transpose", "bert/attention", "transpose", Forward),
            // Outside of every layer.
            ("jit(step)/jvp()/reduce_sum", "", "reduce_sum", Forward),
            ("jit(step)/transpose(jvp())/div", "", "div", Backward),
            ("jit(_normal)/jit(_normal_real)/mul", "", "mul", Forward),
            // Functions within functions.
            ("jit(step)/jvp(jit(log_softmax))/sub", "log_softmax", "sub", Forward),
            ("jit(step)/jvp(bert)/pooler/jit(_where)/select_n", "bert/pooler", "select_n", Forward),
            ("jit(step)/jvp(bert)/ffn/jit(gelu)/tanh", "bert/ffn/gelu", "tanh", Forward),
            ("jit(step)/jit(main)/jvp(bert)/add", "bert", "add", Forward),
            ("jit(step)/jit(<lambda>)/bert/add", "bert", "add", Forward),
            ("pjit(step)/pjit/bert/add", "bert", "add", Forward),
            ("pmap(step)/bert/add", "bert", "add", Forward),
            // A name that ends with a scope.
            ("jit(step)/transpose(jvp(jit(take_along_axis)))", "take_along_axis", "", Backward),
            ("jit(step)/jvp(classifier)", "classifier", "", Forward),
            // Structure.
            ("jit(f)/bert/while/body/layer/dot_general", "bert/layer", "dot_general", Forward),
            ("jit(f)/bert/while/cond/lt", "bert", "lt", Forward),
            ("jit(f)/bert/while", "bert", "", Forward),
            ("jit(f)/jvp(bert)/while/body/closed_call", "bert", "", Forward),
            ("jit(f)/bert/cond/branch_1_fun/head/add", "bert/head", "add", Forward),
            ("jit(f)/car/body/add", "car/body", "add", Forward),
            ("jit(f)/jvp(while)/body/closed_call/layer/add", "layer", "add", Forward),
            (
                "jit(f)/transpose(jvp(checkpoint))/rematted_computation/ffn/dot_general",
                "ffn",
                "dot_general",
                Backward,
            ),
            (
                "jit(f)/transpose(jvp(bert))/encoder/layer_0/jvp(bert)/encoder/layer_0/checkpoint/ffn/mul",
                "bert/encoder/layer_0/ffn",
                "mul",
                Backward,
            ),
            (
                "jit(f)/transpose(jvp(bert))/vmap(jvp(bert))/vmap()/checkpoint/rematted_computation/ffn/tanh",
                "bert/ffn",
                "tanh",
                Backward,
            ),
            ("jit(f)/transpose(jvp(jit(_loss)))/a/jvp(jit(_loss))/a/remat2", "a", "", Backward),
            ("jit(f)/transpose(jvp(jvp()))/checkpoint/bert/ffn/mul", "bert/ffn", "mul", Backward),
            ("jit(f)/vmap(jvp(vmap(transpose(jvp(bert)))))/ffn/mul", "bert/ffn", "mul", Backward),
            (
                "jit(f)/transpose(jvp(bert))/while/body/closed_call/checkpoint/layer/mul",
                "bert/layer",
                "mul",
                Backward,
            ),
            ("jit(f)/transpose(jvp(bert))/checkpoint/layer_0/mul", "bert/layer_0", "mul", Backward),
            ("jit(f)/remat(bert)/custom_vjp_call/mul", "bert", "mul", Forward),
            ("jit(f)/vmap(encoder)/vmap()/add", "encoder", "add", Forward),
            ("jit(f)/vmap(transpose(jvp(vmap(encoder))))/add", "encoder", "add", Backward),
            ("jit(f)/transpose(jvp(bert/encoder))/add", "bert/encoder", "add", Backward),
            ("jit(f)/bert/bhqd,bhkd->bhqk/dot_general", "bert/bhqd,bhkd->bhqk", "dot_general", Forward),
            ("jit(f)/block(1)/add", "block(1)", "add", Forward),
            // Merged instructions.
            ("jit(f)/jvp(a)/b/mul;jit(f)/jvp(a)/c/add", "a", "mul", Forward),
            ("jit(f)/jvp(a)/b/mul;jit(f)/jvp(a)/b/mul", "a/b", "mul", Forward),
            ("jit(f)/jvp(a)/mul;jit(f)/jvp(b)/add", "a", "mul", Forward),
            ("y;jit(f)/jvp(a)/mul", "a", "mul", Forward),
            // TensorFlow.
            ("minibert_1/layer_0_1/attention_1/Softmax", "minibert_1/layer_0_1/attention_1", "Softmax", Forward),
            ("gradient_tape/minibert/layer_0/MatMul_1/MatMul", "minibert/layer_0", "MatMul_1", Backward),
            ("gradients/bert/encoder/add_grad/Sum", "bert/encoder", "add", Backward),
            ("gradients/AddN_3", "", "AddN_3", Backward),
            ("StatefulPartitionedCall_1/minibert/dense/MatMul", "minibert/dense", "MatMul", Forward),
            ("bert/ArithmeticOptimizer/AddOpsRewrite_add_1", "bert", "add_1", Forward),
            ("adam_1/Mul_4", "adam_1", "Mul_4", Optimizer),
            // Damage.
            ("jit(f)/jvp(bert/add", "", "jvp(bert/add", Forward),
            ("jit(f))/a/add", "a", "add", Forward),
        ] {
            let wanted = InstructionScope { scope: scope.to_owned(), primitive: primitive.to_owned(), pass };
            assert_eq!(place(op_name), Some(wanted), "{op_name}");
        }
    }

    #[test]
    fn names_of_arguments_tell_no_place() {
        for op_name in
            ["", "x", "p['layer_0']['d']['w']", "reduce_sum", "jit(step)", ";;", "StatefulPartitionedCall/"]
        {
            assert_eq!(place(op_name), None, "{op_name}");
        }
    }

    #[test]
    fn deep_nesting_ends() {
        let deep = format!("jit(f)/{}x{}/add", "jvp(".repeat(100_000), ")".repeat(100_000));
        assert_eq!(place(&deep).map(|place| place.scope), Some("x".to_owned()));
    }
}
