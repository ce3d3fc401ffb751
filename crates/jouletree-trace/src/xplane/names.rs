//! Where TensorFlow's operations are in the model, by their names: an XPlane has no data flow. What an optimizer's operation
//! works for is known where the program noted it.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};

use jouletree_model::{Op, Pass};

use crate::tensorflow::fused::Products;
use crate::tensorflow::inlined::Inlined;
use crate::tensorflow::names::{
    DATA, Gradient, before_grappler, changes_variable, gradient, takes_data, without_number,
};

use super::keras::Renumbered;
use super::layers::{CALLS, Layers};

/// The module of what belongs to the optimizer.
pub(super) const OPTIMIZER: &str = "optimizer";

/// Longer names, and deeper ones, are taken as they are: they were generated.
const LONGEST: usize = 4096;
const DEEPEST: usize = 64;

/// The place of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OpPlacement {
    At(Op),
    /// It sums the gradients of a tensor over its uses. Its name does not say which, but what ran before it does.
    SumOfGradients(Op),
}

/// A place, and whether it certainly is in the model: a loop over a data set runs the model in threads of the input pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) place: OpPlacement,
    pub(super) is_of_model: bool,
}

/// An operation as its event is called, `minibert/layer_0/add:AddV2` taken apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named<'a> {
    pub(super) name: &'a str,
    pub(super) op_type: &'a str,
}

/// The places of all operations of a trace, in their order.
pub(super) fn places(ops: &[Named<'_>], layers: &Layers) -> Vec<Placed> {
    let mut loops = FxHashSet::default();
    let originals: Vec<Cow<'_, str>> = ops.iter().map(|op| original(op.name)).collect();
    let inlined: Vec<Inlined<'_>> = originals.iter().map(|name| Inlined::of(name, &mut loops)).collect();
    let clean = |(named, inlined): (&_, &_)| Cleaned::of(named, inlined, &loops, layers);
    let cleaned: Vec<Cleaned> = ops.iter().zip(&inlined).map(clean).collect();
    let model = Model::of(&cleaned, layers);
    cleaned.iter().map(|op| model.placed(op)).collect()
}

/// The name before the graph was optimized.
fn original(name: &str) -> Cow<'_, str> {
    if is_odd(name) { Cow::Borrowed(name) } else { before_grappler(name) }
}

fn is_odd(name: &str) -> bool {
    name.len() > LONGEST || name.bytes().filter(|byte| *byte == b'/').count() >= DEEPEST
}

/// An operation with what TensorFlow did to its name undone, and with the names that the program gives its layers.
struct Cleaned<'a> {
    named: Named<'a>,
    name: String,
    /// What it is the gradient of.
    of: Option<String>,
    /// Whether that is a layer, and no operation.
    is_of_layer: bool,
    is_backward: bool,
    /// Whether the program said that it is in a layer or in an optimizer.
    is_in_layer: bool,
    is_in_optimizer: bool,
    /// The variable that it works for, if it is an optimizer's.
    variable: Option<String>,
}

impl<'a> Cleaned<'a> {
    fn of(named: &Named<'a>, inlined: &Inlined<'_>, loops: &FxHashSet<String>, layers: &Layers) -> Cleaned<'a> {
        if is_odd(named.name) {
            let name = named.name.to_owned();
            return Cleaned {
                named: *named,
                name,
                of: None,
                is_of_layer: false,
                is_backward: false,
                is_in_layer: false,
                is_in_optimizer: false,
                variable: None,
            };
        }
        let mut around = Around::default();
        for scopes in &inlined.outer {
            around.enter(scopes, loops, layers);
        }
        let own = inlined.own.join("/");
        let path = |own: &str| around.path(own, loops, layers);
        let mut is_of_layer = false;
        let (of, is_backward) = match gradient(&own) {
            Gradient::Of(of) if around.is_loop(&of, loops) => {
                is_of_layer = true;
                let inside = path(&format!("{of}/."));
                (Some(inside.strip_suffix("/.").unwrap_or(&inside).to_owned()), true)
            }
            Gradient::Of(of) => {
                is_of_layer = layers.is_layer(&of);
                (Some(path(&of)), true)
            }
            // A function that computes gradients was called where their layer is.
            Gradient::No if around.is_backward => (Some(path(&own)), true),
            Gradient::Unknown if !around.raw.is_empty() => (Some(path(last(&own))), true),
            Gradient::Unknown => (None, true),
            Gradient::No => (None, false),
        };
        Cleaned {
            named: *named,
            name: path(&own),
            of,
            is_of_layer,
            is_backward,
            is_in_layer: layers.has(&own),
            is_in_optimizer: layers.is_optimizer(&own),
            variable: variable(inlined, &own, loops, layers),
        }
    }

    /// The path that shows scopes: an operand such as `MatMul/ReadVariableOp` makes no scope of its operation.
    fn forward_path(&self) -> Option<&str> {
        if self.name.len() > LONGEST {
            return None;
        }
        match &self.of {
            Some(of) => Some(of),
            None if self.is_backward => None,
            None => Some(self.operation()),
        }
    }

    /// The operation that an operand belongs to, or the operation itself.
    fn operation(&self) -> &str {
        match self.name.rsplit_once('/') {
            Some((operation, last)) if without_number(last) == "ReadVariableOp" => operation,
            _ => &self.name,
        }
    }
}

/// The path of the variable that an operation works for.
fn variable(inlined: &Inlined<'_>, own: &str, loops: &FxHashSet<String>, layers: &Layers) -> Option<String> {
    if !layers.has_variables() {
        return None;
    }
    let outer = inlined.outer.iter().map(|scopes| format!("{}{CALLS}", scopes.join("/")));
    let found = layers.variable_of(&outer.chain([own.to_owned()]).collect::<String>())?;
    let (calls, own) = found.rsplit_once(CALLS).unwrap_or(("", found));
    let mut around = Around::default();
    for scopes in calls.split(CALLS).filter(|scopes| !scopes.is_empty()) {
        around.enter(&scopes.split('/').collect::<Vec<_>>(), loops, layers);
    }
    Some(around.path(own, loops, layers))
}

/// The scopes around a function that was inlined.
#[derive(Default)]
struct Around {
    raw: String,
    restored: String,
    is_backward: bool,
}

impl Around {
    /// Goes into a function that is called inside of `scopes`.
    fn enter(&mut self, scopes: &[&str], loops: &FxHashSet<String>, layers: &Layers) {
        let scopes = match scopes {
            ["gradient_tape", rest @ ..] => {
                self.is_backward = true;
                rest
            }
            scopes => scopes,
        };
        if scopes.is_empty() {
            return;
        }
        // The last scope is not the operation: a loop there is left out as well.
        let inside = self.path(&format!("{}/.", scopes.join("/")), loops, layers);
        self.restored = inside.strip_suffix('.').unwrap_or(&inside).to_owned();
        self.raw = format!("{}{}/", self.raw, scopes.join("/"));
    }

    /// Whether something in the function is a loop or a branch.
    fn is_loop(&self, own: &str, loops: &FxHashSet<String>) -> bool {
        match self.raw.as_str() {
            "" => loops.contains(own),
            raw => loops.contains(&format!("{raw}{own}")),
        }
    }

    /// The place of what is called so in the function.
    fn path(&self, own: &str, loops: &FxHashSet<String>, layers: &Layers) -> String {
        // What a loop keeps for its gradients is called by its whole name inside of the loop: `a/while/a/while/x_0`.
        let repeated = |(at, _): (usize, &str)| {
            let (scope, rest) = (&own[..at], &own[at + 1..]);
            let again = rest.strip_prefix(scope).is_some_and(|inner| inner.starts_with('/'));
            (again && self.is_loop(scope, loops)).then_some(rest)
        };
        let own = own.match_indices('/').find_map(repeated).unwrap_or(own);
        format!("{}{}", self.restored, layers.restored(own, |scope| self.is_loop(scope, loops)))
    }
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// What the names of all operations together show about the model.
struct Model {
    /// Paths that hold others and are no operations.
    scopes: FxHashSet<String>,
    /// What gradients are gradients of.
    differentiated: FxHashSet<String>,
    /// Top scopes of these.
    tops: FxHashSet<String>,
    renumbered: Renumbered,
    /// Top scopes that hold an optimizer.
    optimizers: FxHashSet<String>,
    products: Products,
    has_backward: bool,
}

impl Model {
    fn of(ops: &[Cleaned<'_>], layers: &Layers) -> Model {
        let forward: FxHashSet<&str> =
            ops.iter().filter(|op| !op.is_backward).filter_map(Cleaned::forward_path).collect();
        let mut scopes: FxHashSet<&str> = FxHashSet::default();
        for path in ops.iter().filter_map(Cleaned::forward_path) {
            let ends = path.match_indices('/').map(|(at, _)| &path[..at]);
            scopes.extend(ends.take(DEEPEST).filter(|scope| !forward.contains(scope)));
        }
        let differentiated: FxHashSet<String> = ops.iter().filter_map(|op| op.of.clone()).collect();
        // Where the program has named its layers nothing is left to be found out.
        let renumbered = if layers.is_empty() { Renumbered::among(&scopes) } else { Renumbered::default() };
        let mut products = Products::default();
        for op in ops {
            match &op.of {
                Some(of) => products.note(&renumbered.restored(of)),
                None if op.operation() != op.name => products.note(&renumbered.restored(op.operation())),
                None => {}
            }
        }
        Model {
            optimizers: optimizers(ops),
            has_backward: ops.iter().any(|op| op.is_backward),
            scopes: scopes.into_iter().map(str::to_owned).collect(),
            tops: differentiated.iter().filter_map(|path| Some(path.split_once('/')?.0.to_owned())).collect(),
            differentiated,
            products,
            renumbered,
        }
    }

    fn placed(&self, op: &Cleaned<'_>) -> Placed {
        let place = self.place(op);
        let is_update = matches!(&place, OpPlacement::At(op) if op.pass == Pass::Optimizer);
        let top = op.name.split_once('/').map(|(top, _)| top);
        let is_of_model = op.is_backward
            || op.is_in_layer
            || is_update
            || top.is_some_and(|top| self.tops.contains(top))
            || self.differentiated.contains(op.operation());
        Placed { place, is_of_model }
    }

    fn place(&self, op: &Cleaned<'_>) -> OpPlacement {
        let last = last(&op.name);
        let at = |path: String, pass| {
            let path = if path.is_empty() { op.named.name.to_owned() } else { path };
            Op::new(path, op.named.op_type, op.named.name, pass)
        };
        if let Some(of) = &op.of {
            let path = self.renumbered.restored(of);
            // `gradient_tape/<layer>/Square` is a step on the way through a layer, `gradient_tape/<layer>/add/Sum` the
            // gradient of an operation.
            let path = if op.is_of_layer || self.scopes.contains(of) { format!("{path}/{last}") } else { path };
            return OpPlacement::At(at(path, Pass::Backward));
        }
        let top = op.name.split('/').next().unwrap_or_default();
        if op.is_backward || (self.has_backward && op.named.op_type == "AddN" && last == op.name) {
            return OpPlacement::SumOfGradients(at(op.name.clone(), Pass::Backward));
        }
        let is_scoped = last != op.name;
        // What subtracts from variables without any scope, in a program that computes gradients, is an optimizer.
        let is_update = self.has_backward && changes_by_rule(op.named.op_type);
        if op.is_in_optimizer || (is_scoped && self.optimizers.contains(top)) || (!is_scoped && is_update) {
            let path = match &op.variable {
                Some(variable) => format!("{}/{}", self.renumbered.restored(variable), without_number(last)),
                None => format!("{OPTIMIZER}/{}", op.name),
            };
            return OpPlacement::At(at(path, Pass::Optimizer));
        }
        if takes_data(&op.name, op.named.op_type) {
            return OpPlacement::At(data_op(op.named));
        }
        let path = self.renumbered.restored(&op.name);
        let path = self.products.place(&path, op.named.op_type).unwrap_or(path);
        OpPlacement::At(at(path, Pass::Forward))
    }
}

/// Whether operations of this type change a variable as optimizers do, and not by giving it a value.
fn changes_by_rule(op_type: &str) -> bool {
    const PLAIN: [&str; 4] = ["AssignVariableOp", "AssignAddVariableOp", "Assign", "AssignAdd"];
    changes_variable(op_type) && !PLAIN.contains(&op_type)
}

/// Whether a scope is called like an optimizer.
pub(super) fn is_called_optimizer(scope: &str) -> bool {
    let name = without_number(scope).to_ascii_lowercase();
    CALLED.contains(&name.as_str()) || name.contains("optimizer")
}

/// How optimizers are called, in lower case.
const CALLED: [&str; 16] = [
    "adam",
    "adamw",
    "adamax",
    "nadam",
    "sgd",
    "rmsprop",
    "adagrad",
    "adadelta",
    "ftrl",
    "lion",
    "adafactor",
    "lamb",
    "muon",
    "momentum",
    "gradientdescent",
    "lossscaleoptimizer",
];

/// The top scopes that hold an optimizer: those that change variables by subtraction, by an update rule or in places,
/// or that are called like one and change variables at all, unless there are gradients of something inside (a layer
/// that keeps moving averages changes variables as well).
fn optimizers(ops: &[Cleaned<'_>]) -> FxHashSet<String> {
    let top = |path: &str| path.split_once('/').map(|(top, _)| top.to_owned());
    let model: FxHashSet<String> = ops.iter().filter_map(|op| top(op.of.as_deref()?)).collect();
    let mut found: FxHashMap<String, bool> = FxHashMap::default();
    for op in ops.iter().filter(|op| !op.is_backward && changes_variable(op.named.op_type)) {
        let Some(top) = top(&op.name).filter(|top| !model.contains(top)) else { continue };
        let is_optimizer = changes_by_rule(op.named.op_type) || is_called_optimizer(&top);
        *found.entry(top).or_default() |= is_optimizer;
    }
    found.into_iter().filter(|(_, is_optimizer)| *is_optimizer).map(|(top, _)| top).collect()
}

/// An operation of the input pipeline.
pub(super) fn data_op(named: Named<'_>) -> Op {
    Op::new(format!("{DATA}/{}", named.name), named.op_type, named.name, Pass::Forward)
}

/// `MakeIterator::ScanDataset` prepares an iterator, and the functions that it calls, at `data/MakeIterator/ScanDataset`.
pub(super) fn preparing_op(name: &str) -> Option<Op> {
    let kind = name.strip_prefix("MakeIterator::")?;
    Some(Op::new(format!("{DATA}/MakeIterator/{kind}"), "MakeIterator", name, Pass::Forward))
}

/// `Iterator::Root::Prefetch::Map` works at `data/Prefetch/Map`; `None` for iterators that only hand over what
/// another thread has made or will make: their time is waiting.
pub(super) fn iterator_op<'a>(name: &'a str) -> Option<Op> {
    // The same inside of a function that goes through a data set.
    let stages = name.strip_prefix("Reduce").unwrap_or(name).strip_prefix("Iterator::")?;
    let last = stages.rsplit("::").next().unwrap_or(stages);
    let kind = last.split('[').next().unwrap_or(last);
    let waits = kind == "Root"
        || kind == "Scan"
        || kind.starts_with("Prefetch")
        || kind.starts_with("Parallel")
        || kind.contains("MapAndBatch");
    // Every round of a repeated data set has a number.
    let stage =
        |stage: &'a str| if stage.contains("Repeat[") { stage.split('[').next().unwrap_or(stage) } else { stage };
    let stages = stages.strip_prefix("Root::").unwrap_or(stages);
    let stages: Vec<&str> = stages.split("::").map(stage).collect();
    (!waits).then(|| Op::new(format!("{DATA}/{}", stages.join("/")), kind, name, Pass::Forward))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(names: &[(&str, &str)]) -> Vec<(String, Pass)> {
        placed_in(names, &Layers::default()).into_iter().map(|(path, pass, _)| (path, pass)).collect()
    }

    fn placed_in(names: &[(&str, &str)], layers: &Layers) -> Vec<(String, Pass, bool)> {
        let ops: Vec<Named<'_>> = names.iter().map(|(name, op_type)| Named { name, op_type }).collect();
        let place = |placed: Placed| match placed.place {
            OpPlacement::At(op) => (op.path.into_string(), op.pass, placed.is_of_model),
            OpPlacement::SumOfGradients(op) => (format!("sum {}", op.path), op.pass, placed.is_of_model),
        };
        places(&ops, layers).into_iter().map(place).collect()
    }

    fn check(names: &[(&str, &str, &str, Pass)], layers: &Layers) {
        let written: Vec<(&str, &str)> = names.iter().map(|(name, op_type, ..)| (*name, *op_type)).collect();
        for ((name, _, path, pass), found) in names.iter().zip(placed_in(&written, layers)) {
            assert_eq!((found.0.as_str(), found.1), (*path, *pass), "{name}");
        }
    }

    #[test]
    fn loops_are_no_layers() {
        use Pass::{Backward, Forward, Optimizer};
        // Keras 2 with several steps for each execution.
        let executions = [
            ("while/body/_1/while/net/mid/Relu", "_MklNativeFusedMatMul", "net/mid/MatMul", Forward),
            (
                "while/body/_1/gradient_tape/while/net/mid/MatMul/MatMul_1",
                "_MklMatMul",
                "net/mid/MatMul",
                Backward,
            ),
            ("while/body/_1/while/Adam/sub_10", "Sub", "optimizer/Adam/sub_10", Optimizer),
            (
                "while/body/_1/while/Adam/AssignSubVariableOp",
                "AssignSubVariableOp",
                "optimizer/Adam/AssignSubVariableOp",
                Optimizer,
            ),
            ("while/enter/_7", "Enter", "enter", Forward),
        ];
        check(&executions, &Layers::default());
        // A recurrent layer, and its gradients.
        let recurrent = [
            ("net/gru/while/body/_9/net/gru/while/cell/split", "Split", "net/gru/cell/split", Forward),
            (
                "gradient_tape/net/gru/while/net/gru/while_grad/body/_480/gradient_tape/net/gru/while/gradients/net/gru/while/cell/MatMul_grad/MatMul_1",
                "_MklMatMul",
                "net/gru/cell/MatMul",
                Backward,
            ),
            ("gradient_tape/net/gru/while/Shape", "Shape", "net/gru/Shape", Backward),
            ("net/gru/while/net/gru/while/cell/split_0", "TensorListPopBack", "net/gru/cell/split_0", Forward),
            (
                "gradient_tape/net/gru/while/net/gru/while_grad/body/_480/gradient_tape/net/gru/while/gradients/AddN_5",
                "AddN",
                "net/gru/AddN_5",
                Backward,
            ),
        ];
        check(&recurrent, &Layers::default());
        // A branch, and a function that a layer calls.
        let others = [
            ("net/drop/cond/then/_5/net/drop/cond/mask/Mul", "Mul", "net/drop/mask/Mul", Forward),
            ("net/block/StatefulPartitionedCall/MatMul", "MatMul", "net/block/MatMul", Forward),
            (
                "gradient_tape/net/block/PartitionedCall/gradients/MatMul_grad/MatMul",
                "MatMul",
                "net/block/MatMul",
                Backward,
            ),
        ];
        check(&others, &Layers::default());
    }

    #[test]
    fn layers_have_the_names_of_the_program() {
        use Pass::{Backward, Forward, Optimizer};
        let mut layers = Layers::default();
        for (scope, name) in [
            ("layer:net_1", "net"),
            ("layer:net_1/conv2d_1", "conv2d"),
            ("layer:net_1/conv2d_1_2", "conv2d_1"),
            ("optimizer:my_rule_1", "my_rule"),
        ] {
            layers.add(scope, name);
        }
        let around = "while/body/_1/while/cond/then/_143/while/cond/StatefulPartitionedCall";
        let names = [
            (format!("{around}/net_1/conv2d_1/Relu"), "_FusedConv2D", "net/conv2d/convolution", Forward),
            (
                format!("{around}/gradient_tape/net_1/conv2d_1/convolution/Conv2DBackpropFilter"),
                "Conv2DBackpropFilter",
                "net/conv2d/convolution",
                Backward,
            ),
            (
                format!("{around}/gradient_tape/net_1/conv2d_1_2/ReluGrad"),
                "ReluGrad",
                "net/conv2d_1/ReluGrad",
                Backward,
            ),
            (format!("{around}/my_rule_1/Mul"), "Mul", "optimizer/my_rule/Mul", Optimizer),
        ];
        let names: Vec<_> =
            names.iter().map(|(name, kind, path, pass)| (name.as_str(), *kind, *path, *pass)).collect();
        check(&names, &layers);
    }

    #[test]
    fn updates_are_in_the_layers_of_their_variables() {
        use Pass::{Backward, Forward, Optimizer};
        let mut keras_3 = Layers::default();
        for (name, shown) in [
            ("layer:net_1", "net"),
            ("layer:net_1/mid_1", "mid"),
            ("optimizer:adam_1", "adam"),
            ("update:while/cond|adam_1/truediv_7", "while/cond|net_1/mid_1/kernel"),
            ("update:adam_1/truediv_7", "net_1/mid_1/bias"),
            ("update:net_1/mid_1/MatMul", "net_1/mid_1/kernel"),
            ("update:", "net_1"),
            ("update:adam_1/Pow", ""),
        ] {
            keras_3.add(name, shown);
        }
        let around = "while/body/_1/while/cond/then/_143/while/cond/StatefulPartitionedCall";
        let looped = format!("{around}/adam_1/truediv_7");
        let names = [
            (looped.as_str(), "RealDiv", "net/mid/kernel/truediv", Optimizer),
            ("StatefulPartitionedCall/adam_1/truediv_7", "RealDiv", "net/mid/bias/truediv", Optimizer),
            ("StatefulPartitionedCall/adam_1/Pow", "Pow", "optimizer/adam/Pow", Optimizer),
            // Only what is an optimizer's can work for a variable.
            ("StatefulPartitionedCall/net_1/mid_1/MatMul", "MatMul", "net/mid/MatMul", Forward),
        ];
        check(&names, &keras_3);
        let mut keras_2 = Layers::default();
        keras_2.add("update:while/Adam/sub_10", "while/net/mid/kernel");
        let names = [
            ("while/body/_1/while/Adam/sub_10", "Sub", "net/mid/kernel/sub", Optimizer),
            (
                "while/body/_1/while/Adam/AssignSubVariableOp",
                "AssignSubVariableOp",
                "optimizer/Adam/AssignSubVariableOp",
                Optimizer,
            ),
            ("while/body/_1/gradient_tape/while/net/mid/MatMul/MatMul", "MatMul", "net/mid/MatMul", Backward),
        ];
        check(&names, &keras_2);
    }

    #[test]
    fn the_model_is_known_in_threads_of_the_input_pipeline() {
        let mut layers = Layers::default();
        layers.add("layer:head_1", "head");
        let names = [
            ("gradient_tape/net/mid/MatMul/MatMul", "MatMul", true),
            ("net/mid/Relu", "_FusedMatMul", true),
            ("gradient_tape/pow/Pow", "Pow", true),
            ("pow", "Pow", true),
            ("SGD/AssignSubVariableOp", "AssignSubVariableOp", true),
            ("head_1/Softmax", "Softmax", true),
            ("rfft", "RFFT", false),
            ("decode/Cast", "Cast", false),
        ];
        let written: Vec<(&str, &str)> = names.iter().map(|(name, op_type, _)| (*name, *op_type)).collect();
        for ((name, _, is_of_model), found) in names.iter().zip(placed_in(&written, &layers)) {
            assert_eq!(found.2, *is_of_model, "{name}");
        }
    }

    #[test]
    fn what_subtracts_from_variables_is_an_optimizer() {
        use Pass::{Backward, Forward, Optimizer};
        let update = ("AssignSubVariableOp", "AssignSubVariableOp", "optimizer/AssignSubVariableOp", Optimizer);
        let gradient = ("gradient_tape/net/MatMul/MatMul", "MatMul", "net/MatMul", Backward);
        let metric = ("AssignAddVariableOp", "AssignAddVariableOp", "AssignAddVariableOp", Forward);
        check(&[gradient, update, metric], &Layers::default());
        // Without gradients it is whatever the program does.
        check(
            &[("AssignSubVariableOp", "AssignSubVariableOp", "AssignSubVariableOp", Forward)],
            &Layers::default(),
        );
    }

    #[test]
    fn keras_2_names() {
        use Pass::{Backward, Forward, Optimizer};
        let names = [
            ("net/layer_0/attention/MatMul_1", "BatchMatMulV2", "net/layer_0/attention/MatMul_1", Forward),
            ("net/layer_1/dense/Gelu/mul", "Mul", "net/layer_1/dense/Gelu/mul", Forward),
            ("net/classifier/BiasAdd", "_FusedMatMul", "net/classifier/MatMul", Forward),
            (
                "net/classifier/MatMul/ReadVariableOp",
                "ReadVariableOp",
                "net/classifier/MatMul/ReadVariableOp",
                Forward,
            ),
            ("gradient_tape/net/classifier/MatMul/MatMul_1", "MatMul", "net/classifier/MatMul", Backward),
            (
                "gradient_tape/net/layer_0/attention/MatMul_1/MatMul",
                "BatchMatMulV2",
                "net/layer_0/attention/MatMul_1",
                Backward,
            ),
            ("gradient_tape/net/layer_1/dense/Gelu/Square", "Square", "net/layer_1/dense/Gelu/Square", Backward),
            ("gradient_tape/net/layer_1/dense/Gelu/mul/Mul", "Mul", "net/layer_1/dense/Gelu/mul", Backward),
            ("gradient_tape/loss/mul", "Mul", "loss", Backward),
            ("AddN_3", "AddN", "sum AddN_3", Backward),
            ("Adam/truediv_27", "RealDiv", "optimizer/Adam/truediv_27", Optimizer),
            (
                "Adam/AssignSubVariableOp_1",
                "AssignSubVariableOp",
                "optimizer/Adam/AssignSubVariableOp_1",
                Optimizer,
            ),
            ("metrics/AssignAddVariableOp", "AssignAddVariableOp", "metrics/AssignAddVariableOp", Forward),
            (
                "net/bn/AssignMovingAvg/AssignSubVariableOp",
                "AssignSubVariableOp",
                "net/bn/AssignMovingAvg/AssignSubVariableOp",
                Forward,
            ),
        ];
        let written: Vec<(&str, &str)> = names.iter().map(|(name, op_type, ..)| (*name, *op_type)).collect();
        for ((name, _, path, pass), found) in names.iter().zip(placed(&written)) {
            assert_eq!(found, ((*path).to_owned(), *pass), "{name}");
        }
    }

    #[test]
    fn keras_3_names_land_where_keras_2_names_do() {
        use Pass::{Backward, Forward, Optimizer};
        let names = [
            (
                "StatefulPartitionedCall/net_1/layer_0_1/attention_1/MatMul_1",
                "net/layer_0/attention/MatMul_1",
                Forward,
            ),
            (
                "StatefulPartitionedCall/net_1/layer_1_1/ln1_1/ArithmeticOptimizer/AddOpsRewrite_Leaf_1_add_2",
                "net/layer_1/ln1/add_2",
                Forward,
            ),
            (
                "StatefulPartitionedCall/gradient_tape/net_1/layer_0_1/attention_1/MatMul_1/MatMul",
                "net/layer_0/attention/MatMul_1",
                Backward,
            ),
            (
                "StatefulPartitionedCall/gradient_tape/net_1/layer_1_1/ln1_1/moments/Tile_1",
                "net/layer_1/ln1/moments/Tile_1",
                Backward,
            ),
            (
                "StatefulPartitionedCall/net_1/layer_1_1/ln1_1/moments/mean",
                "net/layer_1/ln1/moments/mean",
                Forward,
            ),
            (
                "StatefulPartitionedCall/sgd/ResourceApplyGradientDescent_1",
                "optimizer/sgd/ResourceApplyGradientDescent_1",
                Optimizer,
            ),
        ];
        let written: Vec<(&str, &str)> = names
            .iter()
            .map(|(name, ..)| (*name, if name.contains("Apply") { "ResourceApplyGradientDescent" } else { "X" }))
            .collect();
        for ((name, path, pass), found) in names.iter().zip(placed(&written)) {
            assert_eq!(found, ((*path).to_owned(), *pass), "{name}");
        }
    }

    #[test]
    fn iterators_that_wait_are_left_out() {
        let path = |name| iterator_op(name).map(|op| op.path.into_string());
        assert_eq!(
            path("Iterator::Root::Prefetch::ParallelMapV2::Zip[0]::FlatMap").as_deref(),
            Some("data/Prefetch/ParallelMapV2/Zip[0]/FlatMap")
        );
        let repeated = path("Iterator::Root::ForeverRepeat[7]::FromTensor");
        assert_eq!(repeated.as_deref(), Some("data/ForeverRepeat/FromTensor"));
        assert_eq!(path("Iterator::Root::Prefetch"), None);
        assert_eq!(path("ReduceIterator::Root::Prefetch::Scan"), None);
        let reduced = path("ReduceIterator::Root::Prefetch::Scan::MapAndBatch::TensorSlice");
        assert_eq!(reduced.as_deref(), Some("data/Prefetch/Scan/MapAndBatch/TensorSlice"));
        assert_eq!(path("Iterator::Root"), None);
        assert_eq!(path("Iterator::Root::Prefetch::ParallelMapV2"), None);
        assert_eq!(path("IteratorGetNextOp::DoCompute"), None);
    }
}
