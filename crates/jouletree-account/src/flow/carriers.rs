//! Which operations pass data on: constants, shapes and scalars do not, parameters do so within their own layer only.

use jouletree_model::{DataFlow, Facts, ModelTree, Op};

use super::path_of;
use crate::paths::components;

/// Types whose output does not depend on data: constants, and what is computed from the shape of a tensor alone. Types of
/// TensorFlow, ONNX, XLA and PyTorch.
const CONSTANT: [&str; 27] = [
    "Const",
    "HostConst",
    "_HostConst",
    "Constant",
    "constant",
    "iota",
    "Shape",
    "ShapeN",
    "Size",
    "Rank",
    "VariableShape",
    "BroadcastArgs",
    "BroadcastGradientArgs",
    "ConcatOffset",
    "ConstantOfShape",
    "OnesLike",
    "ZerosLike",
    "EyeLike",
    "NoOp",
    "ControlTrigger",
    "get-dimension-size",
    "aten.sym_size",
    "aten.sym_size.int",
    "aten.arange",
    "aten.ones",
    "aten.zeros",
    "aten.full",
];

/// Types that are constant unless they take data: what they take may be missing in a trace.
const CONSTANT_ALONE: [&str; 5] = ["Fill", "Range", "LinSpace", "OneHot", "Pack"];

/// Types that hold or read a parameter.
const PARAMETER: [&str; 7] = [
    "VarHandleOp",
    "Variable",
    "VariableV2",
    "AutoReloadVariable",
    "ReadVariableOp",
    "_ReadVariablesOp",
    "Identity",
];

/// What an operation passes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Carries {
    /// A tensor computed from data.
    Data,
    /// A parameter of the model, unchanged.
    Parameter,
    /// Nothing that depends on data.
    Nothing,
}

/// What the operations of a model pass on.
pub(super) struct Carriers<'a> {
    model: &'a ModelTree,
    carries: Vec<Carries>,
    /// The layers within which a parameter is drawn.
    homes: Vec<Vec<&'a str>>,
}

impl<'a> Carriers<'a> {
    pub(super) fn of(model: &'a ModelTree) -> Carriers<'a> {
        let count = model.nodes().len();
        let (mut inputs, mut consumers) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for DataFlow { from, to } in model.edges().filter(|flow| flow.from != flow.to) {
            inputs[to.index()].push(from.index());
            consumers[from.index()].push(to.index());
        }
        let nodes: Vec<(&Op, &Facts)> = model.nodes().map(|(_, op, facts)| (op, facts)).collect();
        let mut carries = vec![Carries::Data; count];
        let mut waiting: Vec<usize> = (0..count).collect();
        // What an operation passes on only ever becomes less, so this ends.
        while let Some(node) = waiting.pop() {
            let (op, facts) = nodes[node];
            let found = if facts.is_module { Carries::Data } else { found(op, &inputs[node], &carries) };
            if found != carries[node] {
                carries[node] = found;
                waiting.extend(&consumers[node]);
            }
        }
        let homes = (0..count)
            .map(|node| match carries[node] {
                Carries::Parameter => {
                    let variables = inputs[node].iter().filter(|input| carries[**input] == Carries::Parameter);
                    let all = variables.copied().chain([node]);
                    all.map(|node| parent(&nodes[node].0.path)).collect()
                }
                _ => Vec::new(),
            })
            .collect();
        for (carries, (_, facts)) in carries.iter_mut().zip(&nodes) {
            if is_scalar(facts) {
                *carries = Carries::Nothing;
            }
        }
        Carriers { model, carries, homes }
    }

    /// Whether data flows along an edge.
    pub(super) fn carries(&self, flow: DataFlow) -> bool {
        let from = flow.from.index();
        match self.carries.get(from) {
            Some(Carries::Data) => true,
            Some(Carries::Parameter) => {
                let to = path_of(self.model, flow.to);
                self.homes.get(from).is_some_and(|homes| homes.iter().any(|home| is_within(to, home)))
            }
            Some(Carries::Nothing) | None => false,
        }
    }
}

fn found(op: &Op, inputs: &[usize], carries: &[Carries]) -> Carries {
    let op_type = &*op.op_type;
    if CONSTANT.contains(&op_type) || inputs.is_empty() && CONSTANT_ALONE.contains(&op_type) {
        return Carries::Nothing;
    }
    let takes = |what: Carries| inputs.iter().any(|input| carries[*input] == what);
    let is_parameter = PARAMETER.contains(&op_type) && op_type != "Identity";
    if !takes(Carries::Data) && (is_parameter || op_type == "Identity" && takes(Carries::Parameter)) {
        return Carries::Parameter;
    }
    let has_only_constants = !inputs.is_empty() && !takes(Carries::Data) && !takes(Carries::Parameter);
    if has_only_constants && !is_random(op_type) { Carries::Nothing } else { Carries::Data }
}

/// Whether it makes random numbers of a given shape.
fn is_random(op_type: &str) -> bool {
    op_type.contains("Random") || op_type.contains("TruncatedNormal") || op_type.starts_with("rng")
}

/// Whether all that it makes are single numbers.
fn is_scalar(facts: &Facts) -> bool {
    !facts.is_module
        && !facts.outputs.is_empty()
        && facts.outputs.iter().all(|tensor| tensor.dimensions.is_empty())
}

fn parent(path: &str) -> &str {
    path.trim_end_matches('/').rsplit_once('/').map_or("", |(parent, _)| parent)
}

fn is_within(path: &str, layer: &str) -> bool {
    let mut own = components(path);
    components(layer).all(|part| own.next() == Some(part))
}
