//! ONNX models. Weights are stepped over, not copied: only their names and sizes matter.

mod node;
mod tensor;

use rustc_hash::FxHashMap;

use jouletree_model::{Facts, ModelTree, NodeId, Op, Pass, TensorShape};

use super::{Refusal, bytes_of, whole};
use crate::flops::flops;
use crate::onnx::path_of_name;
use crate::wire::{Fields, Value};

use node::Node;
use tensor::{element_name, value_info};

/// How deep graphs may lie in graphs (branches, loop bodies).
const DEPTH: usize = 16;

/// Reads an ONNX model; `None` when the bytes are none.
pub(super) fn read(bytes: &[u8]) -> Option<Result<ModelTree, Refusal>> {
    let mut is_versioned = false;
    let mut graph = None;
    for (field, value) in Fields::new(bytes) {
        match (field, value) {
            // Every model has its version; other messages with a field 7 have no number here.
            (1, Value::Varint(_)) => is_versioned = true,
            (7, Value::Bytes(bytes)) => graph = Some(bytes),
            _ => {}
        }
    }
    let graph = graph.filter(|graph| is_versioned && is_graph(graph))?;
    Some(whole(bytes, bytes).and_then(|()| {
        let mut model = Model::default();
        model.tell_tensors(bytes, graph, 0)?;
        model.add_nodes(graph, 0);
        Ok(model.into_tree())
    }))
}

/// Whether a message is a graph: its first node names the type of an operation.
fn is_graph(message: &[u8]) -> bool {
    let first = Fields::new(message).find(|(field, _)| *field == 1);
    let op_type = first.and_then(|(_, node)| node.message().find(|(field, _)| *field == 4));
    let op_type = op_type.map(|(_, op_type)| op_type.bytes()).unwrap_or_default();
    !op_type.is_empty() && op_type.iter().all(u8::is_ascii_graphic)
}

/// An ONNX model as it is read.
#[derive(Default)]
struct Model<'a> {
    tree: ModelTree,
    /// Tensors by name: their types and sizes, as far as the file has them.
    shapes: FxHashMap<&'a [u8], TensorShape>,
    /// Weights by name, with the number of their elements.
    weights: FxHashMap<&'a [u8], u64>,
    makers: FxHashMap<&'a [u8], NodeId>,
    uses: Vec<(&'a [u8], NodeId)>,
    /// How many nodes there are that the runtime counts.
    counted: usize,
}

impl<'a> Model<'a> {
    /// Collects what a graph and those inside it say about tensors.
    fn tell_tensors(&mut self, bytes: &[u8], graph: &'a [u8], depth: usize) -> Result<(), Refusal> {
        whole(bytes, graph)?;
        for (field, value) in Fields::new(graph) {
            match field {
                1 if depth < DEPTH => {
                    whole(bytes, value.bytes())?;
                    for inner in Node::of(value.message()).graphs {
                        self.tell_tensors(bytes, inner, depth + 1)?;
                    }
                }
                5 => self.tell_weight(value.message()),
                11..=13 => {
                    if let Some((name, shape)) = value_info(value.message()) {
                        self.shapes.entry(name).or_insert(shape);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn tell_weight(&mut self, tensor: Fields<'a>) {
        let (mut name, mut element, mut dimensions) = (&b""[..], 0, Vec::new());
        for (field, value) in tensor {
            match field {
                1 => dimensions.extend(value.integers()),
                2 => element = value.signed(),
                8 => name = value.bytes(),
                _ => {}
            }
        }
        let shape = TensorShape::new(element_name(element), dimensions);
        // Whole numbers of 64 bits are sizes and indices, single numbers are constants: none of it was learned.
        if !matches!(&*shape.element, "int64" | "bool" | "string")
            && !shape.dimensions.is_empty()
            && let Some(elements) = shape.elements()
        {
            self.weights.insert(name, elements);
        }
        self.shapes.insert(name, shape);
    }

    fn add_nodes(&mut self, graph: &'a [u8], depth: usize) {
        for (_, value) in Fields::new(graph).filter(|(field, _)| *field == 1) {
            let node = Node::of(value.message());
            self.add(&node);
            if depth < DEPTH {
                for inner in &node.graphs {
                    self.add_nodes(inner, depth + 1);
                }
            }
        }
    }

    fn add(&mut self, node: &Node<'a>) {
        let op_type = String::from_utf8_lossy(node.op_type);
        // The runtime counts nodes without constants, and calls those without a name by their number.
        let number = self.counted;
        self.counted += usize::from(op_type != "Constant");
        let name = match String::from_utf8_lossy(node.name) {
            name if name.is_empty() => format!("{op_type}_{number}"),
            name => name.into_owned(),
        };
        let path = match node.module() {
            Some(module) if !name.contains('/') => format!("{module}/{name}"),
            _ => path_of_name(&name),
        };
        // A weight under another name is still that weight.
        if op_type == "Identity"
            && let ([from], [to]) = (&node.inputs[..], &node.outputs[..])
            && let Some(elements) = self.weights.get(from).copied()
        {
            self.weights.insert(to, elements);
        }
        let id =
            self.tree.insert(Op::new(path, op_type.as_ref(), name, Pass::Forward), self.facts(node, &op_type));
        for output in node.outputs.iter().filter(|output| !output.is_empty()) {
            self.makers.insert(output, id);
        }
        self.uses.extend(node.inputs.iter().map(|input| (*input, id)));
    }

    fn facts(&self, node: &Node<'a>, op_type: &str) -> Facts {
        // A shape that is not known leaves a gap, after which places would be wrong.
        let shapes = |names: &[&[u8]]| {
            let known = names.iter().map_while(|name| self.shapes.get(name).cloned());
            known.collect::<Vec<TensorShape>>()
        };
        let (inputs, outputs) = (shapes(&node.inputs), shapes(&node.outputs));
        let weights = node.inputs.iter().filter_map(|input| self.weights.get(input));
        let parameters = weights.copied().reduce(u64::saturating_add).filter(|_| op_type != "Identity");
        Facts {
            parameters,
            flops: flops(op_type, &inputs, &outputs),
            output_bytes: bytes_of(&outputs).filter(|_| outputs.len() == node.outputs.len()),
            inputs,
            outputs,
            ..Facts::default()
        }
    }

    fn into_tree(mut self) -> ModelTree {
        for (tensor, user) in self.uses {
            if let Some(maker) = self.makers.get(tensor) {
                self.tree.connect(*maker, user);
            }
        }
        self.tree
    }
}
