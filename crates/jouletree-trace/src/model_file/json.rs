//! Models in JSON: jouletree's own trees, and graphs as scripts beside PyTorch and ONNX write them.

use indexmap::IndexMap;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use jouletree_model::{Facts, ModelTree, NodeId, Op, Pass, TensorShape};

use super::Refusal;
use crate::kineto::module_path;
use crate::onnx::path_of_name;

/// What the module that holds all others is called.
const ROOT: &str = "(root)";

/// Modules and operations of a PyTorch model.
#[derive(Deserialize)]
struct TorchModel {
    #[serde(default)]
    modules: Vec<TorchModule>,
    #[serde(default)]
    nodes: Vec<TorchNode>,
}

#[derive(Deserialize)]
struct TorchModule {
    name: String,
    #[serde(default)]
    cls: String,
    params: Option<u64>,
    flops_forward: Option<u64>,
    #[serde(default)]
    inputs: Vec<Vec<i64>>,
    output: Option<Vec<i64>>,
}

#[derive(Deserialize)]
struct TorchNode {
    name: String,
    op: String,
    #[serde(default)]
    module: String,
    #[serde(default)]
    inputs: Vec<String>,
    shape: Option<Vec<i64>>,
}

/// Operations of an ONNX model.
#[derive(Deserialize)]
struct OnnxModel {
    nodes: Vec<OnnxNode>,
}

#[derive(Deserialize)]
struct OnnxNode {
    name: String,
    op: String,
    #[serde(default)]
    inputs: Vec<String>,
}

pub(super) fn read(bytes: &[u8]) -> Result<ModelTree, Refusal> {
    let document: Value = serde_json::from_slice(bytes).map_err(|error| wrong(bytes, &error))?;
    let has = |key: &str| document.get(key).is_some_and(Value::is_array);
    if has("modules") {
        typed(document, "a graph of PyTorch modules").map(torch)
    } else if has("nodes") && has("edges") {
        typed(document, "a model tree")
    } else if has("nodes") {
        typed(document, "a graph of ONNX nodes").map(onnx)
    } else {
        let keys =
            document.as_object().map(|object| object.keys().take(8).cloned().collect::<Vec<_>>().join(", "));
        Err(Refusal::Unknown(match keys {
            Some(keys) => format!("it is JSON without a list of `nodes` (keys: {keys})"),
            None => "it is a JSON list".to_owned(),
        }))
    }
}

fn wrong(bytes: &[u8], error: &serde_json::Error) -> Refusal {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').take(error.line().saturating_sub(1));
    let at = lines.map(<[u8]>::len).sum::<usize>() + error.column();
    Refusal::Damaged(at.min(bytes.len()), error.to_string())
}

fn typed<T: DeserializeOwned>(document: Value, what: &str) -> Result<T, Refusal> {
    serde_json::from_value(document).map_err(|error| Refusal::Unknown(format!("it is not {what} ({error})")))
}

fn torch(model: TorchModel) -> ModelTree {
    let mut tree = ModelTree::default();
    let shape = |dimensions: Vec<i64>| TensorShape::new("", dimensions);
    for module in model.modules {
        let facts = Facts {
            is_module: true,
            parameters: module.params,
            flops: module.flops_forward,
            inputs: module.inputs.into_iter().map(shape).collect(),
            outputs: module.output.into_iter().map(shape).collect(),
            ..Facts::default()
        };
        tree.insert(Op::new(path_of_module(&module.name), module.cls, module.name, Pass::Forward), facts);
    }
    let mut ids: IndexMap<String, (NodeId, Vec<String>)> = IndexMap::new();
    for node in model.nodes {
        let op_type = operator(&node.op);
        let module = path_of_module(&node.module);
        let path = if module.is_empty() { op_type.clone() } else { format!("{module}/{op_type}") };
        let facts = Facts { outputs: node.shape.into_iter().map(shape).collect(), ..Facts::default() };
        let id = tree.insert(Op::new(path, op_type, node.name.as_str(), Pass::Forward), facts);
        ids.insert(node.name, (id, node.inputs));
    }
    connect(&mut tree, &ids);
    tree
}

fn onnx(model: OnnxModel) -> ModelTree {
    let mut tree = ModelTree::default();
    let mut ids: IndexMap<String, (NodeId, Vec<String>)> = IndexMap::new();
    for node in model.nodes {
        let op = Op::new(path_of_name(&node.name), node.op, node.name.as_str(), Pass::Forward);
        ids.insert(node.name, (tree.insert(op, Facts::default()), node.inputs));
    }
    connect(&mut tree, &ids);
    tree
}

/// Draws the edges; inputs that no node makes are parameters and inputs of the model.
fn connect(tree: &mut ModelTree, nodes: &IndexMap<String, (NodeId, Vec<String>)>) {
    for (id, inputs) in nodes.values() {
        for (from, _) in inputs.iter().filter_map(|input| nodes.get(input)) {
            tree.connect(*from, *id);
        }
    }
}

fn path_of_module(name: &str) -> String {
    if name == ROOT { String::new() } else { module_path(name) }
}

/// The operator as a trace calls it: `aten.linear.default` is `aten::linear`.
fn operator(target: &str) -> String {
    let mut parts = target.split('.');
    match (parts.next(), parts.next()) {
        (Some(space), Some(name)) => format!("{space}::{name}"),
        _ => target.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_called_as_in_traces() {
        assert_eq!(operator("aten.linear.default"), "aten::linear");
        assert_eq!(operator("aten.slice.Tensor"), "aten::slice");
        assert_eq!(operator("getitem"), "getitem");
        assert_eq!(path_of_module("(root)"), "");
    }
}
