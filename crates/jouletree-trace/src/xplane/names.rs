//! Where TensorFlow's operations stand in the model, by their names alone: an XPlane tells no data flow.

use rustc_hash::{FxHashMap, FxHashSet};

use jouletree_model::{Op, Pass};

use crate::tensorflow::names::{
    DATA, Gradient, before_grappler, changes_variable, gradient, is_numbered, takes_data, without_number,
};

use super::keras::Renumbered;

/// The module of what belongs to the optimizer.
const OPTIMIZER: &str = "optimizer";

/// Longer names, and deeper ones, are taken as they are: nobody wrote them.
const LONGEST: usize = 4096;
const DEEPEST: usize = 64;

/// The place of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    At(Op),
    /// It sums the gradients of a tensor over its uses. Its name does not say which, but what ran before it does.
    SumOfGradients(Op),
}

/// An operation as its event is called, `minibert/layer_0/add:AddV2` taken apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named<'a> {
    pub(super) name: &'a str,
    pub(super) op_type: &'a str,
}

/// The places of all operations of a trace, in their order.
pub(super) fn places(ops: &[Named<'_>]) -> Vec<Place> {
    let cleaned: Vec<Cleaned> = ops.iter().map(Cleaned::of).collect();
    let model = Model::of(&cleaned);
    cleaned.iter().map(|op| model.place(op)).collect()
}

/// An operation with what TensorFlow did to its name undone.
struct Cleaned<'a> {
    named: Named<'a>,
    name: String,
    /// What it is the gradient of.
    of: Option<String>,
    is_backward: bool,
}

impl<'a> Cleaned<'a> {
    fn of(named: &Named<'a>) -> Cleaned<'a> {
        let mut name = named.name;
        while let Some((first, rest)) = name.split_once('/')
            && (is_numbered(first, "StatefulPartitionedCall") || is_numbered(first, "PartitionedCall"))
        {
            name = rest;
        }
        if name.len() > LONGEST || name.bytes().filter(|byte| *byte == b'/').count() >= DEEPEST {
            return Cleaned { named: *named, name: name.to_owned(), of: None, is_backward: false };
        }
        let name = before_grappler(name).into_owned();
        let (of, is_backward) = match gradient(&name) {
            Gradient::No => (None, false),
            Gradient::Unknown => (None, true),
            Gradient::Of(path) => (Some(path.into_owned()), true),
        };
        Cleaned { named: *named, name, of, is_backward }
    }

    /// The path that tells about scopes: an operand such as `MatMul/ReadVariableOp` makes no scope of its operation.
    fn forward_path(&self) -> Option<&str> {
        if self.name.len() > LONGEST {
            return None;
        }
        match &self.of {
            Some(of) => Some(of),
            None if self.is_backward => None,
            None => Some(match self.name.rsplit_once('/') {
                Some((operation, last)) if without_number(last) == "ReadVariableOp" => operation,
                _ => &self.name,
            }),
        }
    }
}

/// What the names of all operations together tell about the model.
struct Model {
    /// Paths that hold others and are no operations.
    scopes: FxHashSet<String>,
    renumbered: Renumbered,
    /// Top scopes that hold an optimizer.
    optimizers: FxHashSet<String>,
    has_backward: bool,
}

impl Model {
    fn of(ops: &[Cleaned<'_>]) -> Model {
        let forward: FxHashSet<&str> =
            ops.iter().filter(|op| !op.is_backward).filter_map(Cleaned::forward_path).collect();
        let mut scopes: FxHashSet<&str> = FxHashSet::default();
        for path in ops.iter().filter_map(Cleaned::forward_path) {
            let ends = path.match_indices('/').map(|(at, _)| &path[..at]);
            scopes.extend(ends.take(DEEPEST).filter(|scope| !forward.contains(scope)));
        }
        Model {
            renumbered: Renumbered::among(&scopes),
            optimizers: optimizers(ops),
            has_backward: ops.iter().any(|op| op.is_backward),
            scopes: scopes.into_iter().map(str::to_owned).collect(),
        }
    }

    fn place(&self, op: &Cleaned<'_>) -> Place {
        let last = op.name.rsplit('/').next().unwrap_or(&op.name);
        let at = |path: String, pass| {
            let path = if path.is_empty() { op.named.name.to_owned() } else { path };
            Op::new(path, op.named.op_type, op.named.name, pass)
        };
        if let Some(of) = &op.of {
            let path = self.renumbered.restored(of);
            // `gradient_tape/<layer>/Square` is a step on the way through a layer, `gradient_tape/<layer>/add/Sum` the
            // gradient of an operation.
            let path = if self.scopes.contains(of) { format!("{path}/{last}") } else { path };
            return Place::At(at(path, Pass::Backward));
        }
        let top = op.name.split('/').next().unwrap_or_default();
        if op.is_backward || (self.has_backward && op.named.op_type == "AddN" && last == op.name) {
            return Place::SumOfGradients(at(op.name.clone(), Pass::Backward));
        }
        if last != op.name && self.optimizers.contains(top) {
            return Place::At(at(format!("{OPTIMIZER}/{}", op.name), Pass::Optimizer));
        }
        if takes_data(&op.name, op.named.op_type) {
            return Place::At(data_op(op.named));
        }
        Place::At(at(self.renumbered.restored(&op.name), Pass::Forward))
    }
}

/// The top scopes that hold an optimizer: those that change variables by subtraction, by an update rule or in places,
/// or that are called like one and change variables at all, unless there are gradients of something inside (a layer
/// that keeps moving averages changes variables as well).
fn optimizers(ops: &[Cleaned<'_>]) -> FxHashSet<String> {
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
    let top = |path: &str| path.split_once('/').map(|(top, _)| top.to_owned());
    let model: FxHashSet<String> = ops.iter().filter_map(|op| top(op.of.as_deref()?)).collect();
    let mut found: FxHashMap<String, bool> = FxHashMap::default();
    for op in ops.iter().filter(|op| !op.is_backward && changes_variable(op.named.op_type)) {
        let Some(top) = top(&op.name).filter(|top| !model.contains(top)) else { continue };
        let name = without_number(&top).to_ascii_lowercase();
        let plain = ["AssignVariableOp", "AssignAddVariableOp", "Assign", "AssignAdd"].contains(&op.named.op_type);
        let is_optimizer = !plain || CALLED.contains(&name.as_str()) || name.contains("optimizer");
        *found.entry(top).or_default() |= is_optimizer;
    }
    found.into_iter().filter(|(_, is_optimizer)| *is_optimizer).map(|(top, _)| top).collect()
}

/// An operation of the input pipeline.
pub(super) fn data_op(named: Named<'_>) -> Op {
    Op::new(format!("{DATA}/{}", named.name), named.op_type, named.name, Pass::Forward)
}

/// `Iterator::Root::Prefetch::Map` works at `data/Prefetch/Map`; `None` for iterators that only hand over what
/// another thread has made or will make: their time is waiting.
pub(super) fn iterator_op<'a>(name: &'a str) -> Option<Op> {
    let stages = name.strip_prefix("Iterator::")?;
    let last = stages.rsplit("::").next().unwrap_or(stages);
    let kind = last.split('[').next().unwrap_or(last);
    let waits = kind == "Root"
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
        let ops: Vec<Named<'_>> = names.iter().map(|(name, op_type)| Named { name, op_type }).collect();
        let place = |place| match place {
            Place::At(op) => (op.path.into_string(), op.pass),
            Place::SumOfGradients(op) => (format!("sum {}", op.path), op.pass),
        };
        places(&ops).into_iter().map(place).collect()
    }

    #[test]
    fn keras_2_names() {
        use Pass::{Backward, Forward, Optimizer};
        let names = [
            ("net/layer_0/attention/MatMul_1", "BatchMatMulV2", "net/layer_0/attention/MatMul_1", Forward),
            ("net/layer_1/dense/Gelu/mul", "Mul", "net/layer_1/dense/Gelu/mul", Forward),
            ("net/classifier/BiasAdd", "_FusedMatMul", "net/classifier/BiasAdd", Forward),
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
        assert_eq!(path("Iterator::Root"), None);
        assert_eq!(path("Iterator::Root::Prefetch::ParallelMapV2"), None);
        assert_eq!(path("IteratorGetNextOp::DoCompute"), None);
    }
}
