//! TensorFlow graphs: a GraphDef, alone or in a MetaGraphDef or a SavedModel, with the functions of its library.

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use jouletree_model::{Facts, ModelTree, NodeId, TensorShape};

use super::{Refusal, bytes_of, whole};
use crate::flops::flops;
use crate::interner::Interner;
use crate::tensorflow::graph_ops;
use crate::wire::{Fields, Value};

/// Reads a TensorFlow graph; `None` when the bytes are none.
pub(super) fn read(bytes: &[u8]) -> Option<Result<ModelTree, Refusal>> {
    // A SavedModel holds MetaGraphDefs, a MetaGraphDef a GraphDef, all of them in field 2.
    let mut candidates = std::iter::once(bytes).chain(parts(bytes)).chain(parts(bytes).flat_map(parts));
    let graph = candidates.find(|candidate| is_graph(candidate))?;
    Some(whole(bytes, bytes).and_then(|()| Graph::of(bytes, graph).map(Graph::into_tree)))
}

fn parts(message: &[u8]) -> impl Iterator<Item = &[u8]> {
    Fields::new(message).filter_map(|(field, value)| match (field, value) {
        (2, Value::Bytes(part)) => Some(part),
        _ => None,
    })
}

/// Whether a message is a GraphDef: its first part is a node, with a name and the name of an operation.
fn is_graph(message: &[u8]) -> bool {
    let Some((1, Value::Bytes(node))) = Fields::new(message).next() else { return false };
    let text = |wanted| {
        let mut fields = Fields::new(node);
        fields.find(|(field, _)| *field == wanted).map(|(_, value)| value.bytes()).unwrap_or_default()
    };
    let is_name = |text: &[u8], others: &[u8]| {
        let first = text.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'));
        first && text.iter().all(|byte| byte.is_ascii_alphanumeric() || others.contains(byte))
    };
    is_name(text(1), b"_.-/\\>") && is_name(text(2), b"_>")
}

/// A graph as it is read.
#[derive(Default)]
struct Graph {
    names: Interner,
    /// The type of each operation, both as numbers of `names`.
    types: IndexMap<u32, u32>,
    inputs: FxHashMap<u32, Vec<u32>>,
    /// The tensors that each operation makes, where the file has them.
    outputs: FxHashMap<u32, Vec<TensorShape>>,
}

impl Graph {
    fn of(bytes: &[u8], graph: &[u8]) -> Result<Graph, Refusal> {
        whole(bytes, graph)?;
        let mut read = Graph::default();
        for (field, value) in Fields::new(graph) {
            match field {
                1 => read.add(bytes, value.bytes())?,
                2 => {
                    let functions = value.message().filter(|(field, _)| *field == 1);
                    for (_, function) in functions {
                        for (_, node) in function.message().filter(|(field, _)| *field == 3) {
                            read.add(bytes, node.bytes())?;
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(read)
    }

    fn add(&mut self, bytes: &[u8], node: &[u8]) -> Result<(), Refusal> {
        whole(bytes, node)?;
        let (mut name, mut op_type, mut inputs) = (&b""[..], &b""[..], Vec::new());
        let (mut shapes, mut element) = (Vec::new(), "");
        for (field, value) in Fields::new(node) {
            match field {
                1 => name = value.bytes(),
                2 => op_type = value.bytes(),
                3 if !value.bytes().starts_with(b"^") => {
                    // `name:port`, and in functions `name:output:port`.
                    let input = value.bytes().split(|byte| *byte == b':').next().unwrap_or_default();
                    inputs.push(self.names.bytes(input));
                }
                5 => attribute(value.message(), &mut shapes, &mut element),
                _ => {}
            }
        }
        let name = self.names.bytes(name);
        if self.types.contains_key(&name) {
            return Ok(());
        }
        self.types.insert(name, self.names.bytes(op_type));
        self.inputs.insert(name, inputs);
        let shapes = shapes.into_iter().map(|dimensions| TensorShape::new(element, dimensions));
        self.outputs.insert(name, shapes.collect());
        Ok(())
    }

    fn into_tree(self) -> ModelTree {
        let (ops, edges) = graph_ops(&self.types, &self.inputs, &self.names);
        let mut tree = ModelTree::default();
        let mut ids: Vec<NodeId> = Vec::with_capacity(ops.len());
        for (op, name) in ops.into_iter().zip(self.types.keys()) {
            let outputs = self.outputs.get(name).cloned().unwrap_or_default();
            // Of an input only the first output of what made it is known.
            let of_input = |input: &u32| self.outputs.get(input).and_then(|outputs| outputs.first()).cloned();
            let inputs: Vec<TensorShape> =
                self.inputs.get(name).into_iter().flatten().map_while(of_input).collect();
            let facts = Facts {
                flops: flops(&op.op_type, &inputs, &outputs),
                output_bytes: bytes_of(&outputs),
                inputs,
                outputs,
                ..Facts::default()
            };
            ids.push(tree.insert(op, facts));
        }
        for (from, to) in edges {
            if let (Some(from), Some(to)) = (ids.get(from), ids.get(to)) {
                tree.connect(*from, *to);
            }
        }
        tree
    }
}

/// Takes the shapes of the outputs, or the type of their elements, from an attribute if it is the one that has it.
fn attribute(entry: Fields<'_>, shapes: &mut Vec<Vec<i64>>, element: &mut &'static str) {
    let (mut key, mut content) = (&b""[..], Fields::new(&[]));
    for (field, value) in entry {
        match field {
            1 => key = value.bytes(),
            2 => content = value.message(),
            _ => {}
        }
    }
    match key {
        b"_output_shapes" => {
            let lists = content.filter(|(field, _)| *field == 1).flat_map(|(_, list)| list.message());
            shapes.extend(lists.filter(|(field, _)| *field == 7).map(|(_, shape)| dimensions(shape.message())));
        }
        b"T" | b"dtype" => {
            let number = content.filter(|(field, _)| *field == 6).map(|(_, number)| number.unsigned()).next();
            *element = number.map_or("", element_name);
        }
        _ => {}
    }
}

/// The dimensions in a shape; one that is not known at all has a single dimension that is not known.
fn dimensions(shape: Fields<'_>) -> Vec<i64> {
    let mut dimensions = Vec::new();
    for (field, value) in shape {
        match field {
            2 => {
                let size = value.message().find(|(field, _)| *field == 1);
                dimensions.push(size.map_or(0, |(_, size)| size.signed()));
            }
            3 if value.unsigned() != 0 => return vec![-1],
            _ => {}
        }
    }
    dimensions
}

fn element_name(number: u64) -> &'static str {
    const NAMES: [&str; 24] = [
        "",
        "float",
        "double",
        "int32",
        "uint8",
        "int16",
        "int8",
        "string",
        "complex64",
        "int64",
        "bool",
        "",
        "",
        "",
        "bfloat16",
        "",
        "",
        "uint16",
        "complex128",
        "float16",
        "resource",
        "variant",
        "uint32",
        "uint64",
    ];
    usize::try_from(number).ok().and_then(|number| NAMES.get(number)).copied().unwrap_or_default()
}
