//! The model: its modules and operations, what they compute on, and the data flow between them.
//!
//! One type for everyone: accounting draws its arrows from it, prediction its features, diagrams their shape. The tree
//! is that of the paths; a node is a module or an operation, and its facts are what some source knew.

use std::fmt;

use indexmap::{IndexMap, IndexSet};
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use crate::Op;

/// The number of a node in its [`ModelTree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The modules and operations of a model with the data flow between them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "WrittenTree", into = "WrittenTree")]
pub struct ModelTree {
    nodes: IndexMap<Op, Facts, FxBuildHasher>,
    edges: IndexSet<DataFlow, FxBuildHasher>,
}

/// The output of one node is an input of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DataFlow {
    /// The node that makes the tensor.
    pub from: NodeId,
    /// The node that uses it.
    pub to: NodeId,
}

/// What is known about a node, beside its name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Whether it is a module: a part of the tree that holds others, not an operation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_module: bool,
    /// How many parameters it has, those of the modules inside included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<u64>,
    /// How many floating-point operations one run takes, what is inside included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flops: Option<u64>,
    /// How many bytes one run makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// The tensors it takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<TensorShape>,
    /// The tensors it makes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<TensorShape>,
}

/// The type and size of a tensor, written `float32[8,64,128]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TensorShape {
    /// The type of its elements in the framework's words; empty when the source does not say.
    #[serde(default, rename = "type")]
    pub element: Box<str>,
    /// Its dimensions; a negative one is not known.
    #[serde(rename = "dims")]
    pub dimensions: Vec<i64>,
}

impl ModelTree {
    /// The number of a node, which is added if it is new. What is already known about it stays; `facts` fill gaps.
    pub fn insert(&mut self, node: Op, facts: Facts) -> NodeId {
        let entry = self.nodes.entry(node);
        let id = NodeId(u32::try_from(entry.index()).unwrap_or(u32::MAX));
        entry.and_modify(|known| known.fill(&facts)).or_insert(facts);
        id
    }

    /// Notes that `to` uses what `from` makes.
    pub fn connect(&mut self, from: NodeId, to: NodeId) {
        self.edges.insert(DataFlow { from, to });
    }

    /// A node and what is known about it.
    pub fn get(&self, id: NodeId) -> Option<(&Op, &Facts)> {
        self.nodes.get_index(id.index())
    }

    /// What is known about an operation of a trace.
    pub fn facts(&self, op: &Op) -> Option<&Facts> {
        self.nodes.get(op)
    }

    /// All nodes with their numbers, in order.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = (NodeId, &Op, &Facts)> {
        self.nodes.iter().enumerate().map(|(index, (node, facts))| (NodeId(index as u32), node, facts))
    }

    /// The data flow between nodes.
    pub fn edges(&self) -> impl ExactSizeIterator<Item = DataFlow> {
        self.edges.iter().copied()
    }

    /// Whether nothing is known about the model.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Adds what another source knows.
    pub fn merge(&mut self, other: ModelTree) {
        let ids: Vec<NodeId> = other.nodes.into_iter().map(|(node, facts)| self.insert(node, facts)).collect();
        for edge in other.edges {
            if let (Some(from), Some(to)) = (ids.get(edge.from.index()), ids.get(edge.to.index())) {
                self.connect(*from, *to);
            }
        }
    }
}

impl Facts {
    /// Takes over what is not yet known.
    fn fill(&mut self, other: &Facts) {
        self.parameters = self.parameters.or(other.parameters);
        self.flops = self.flops.or(other.flops);
        self.output_bytes = self.output_bytes.or(other.output_bytes);
        if self.inputs.is_empty() {
            self.inputs.clone_from(&other.inputs);
        }
        if self.outputs.is_empty() {
            self.outputs.clone_from(&other.outputs);
        }
    }
}

impl TensorShape {
    /// A tensor of elements of this type, with these dimensions.
    pub fn new(element: impl Into<Box<str>>, dimensions: impl Into<Vec<i64>>) -> TensorShape {
        TensorShape { element: element.into(), dimensions: dimensions.into() }
    }

    /// How many elements it has; `None` when a dimension is not known or there are too many to count.
    pub fn elements(&self) -> Option<u64> {
        self.dimensions.iter().try_fold(1_u64, |product, size| product.checked_mul(u64::try_from(*size).ok()?))
    }
}

impl fmt::Display for TensorShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dimensions: Vec<String> = self.dimensions.iter().map(i64::to_string).collect();
        write!(f, "{}[{}]", self.element, dimensions.join(","))
    }
}

/// A model tree as it is written.
#[derive(Serialize, Deserialize)]
struct WrittenTree {
    nodes: Vec<WrittenNode>,
    edges: Vec<DataFlow>,
}

#[derive(Serialize, Deserialize)]
struct WrittenNode {
    #[serde(flatten)]
    op: Op,
    #[serde(flatten)]
    facts: Facts,
}

impl From<ModelTree> for WrittenTree {
    fn from(tree: ModelTree) -> WrittenTree {
        let nodes = tree.nodes.into_iter().map(|(op, facts)| WrittenNode { op, facts }).collect();
        WrittenTree { nodes, edges: tree.edges.into_iter().collect() }
    }
}

impl From<WrittenTree> for ModelTree {
    /// Edges to nodes that are not there, and nodes that are there twice, are put in order.
    fn from(written: WrittenTree) -> ModelTree {
        let mut tree = ModelTree::default();
        let ids: Vec<NodeId> = written.nodes.into_iter().map(|node| tree.insert(node.op, node.facts)).collect();
        for edge in written.edges {
            if let (Some(from), Some(to)) = (ids.get(edge.from.index()), ids.get(edge.to.index())) {
                tree.connect(*from, *to);
            }
        }
        tree
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pass;

    fn op(path: &str) -> Op {
        Op::new(path, "MatMul", path, Pass::Forward)
    }

    #[test]
    fn sources_complete_each_other() {
        let mut tree = ModelTree::default();
        let a = tree.insert(op("a"), Facts { flops: Some(1), ..Facts::default() });
        let mut other = ModelTree::default();
        let b = other.insert(op("b"), Facts::default());
        let shapes = vec![TensorShape::new("float", [2, 3])];
        let also_a = other.insert(op("a"), Facts { flops: Some(2), outputs: shapes.clone(), ..Facts::default() });
        other.connect(also_a, b);
        tree.merge(other);
        let (_, facts) = tree.get(a).unwrap();
        assert_eq!((facts.flops, &facts.outputs), (Some(1), &shapes));
        assert_eq!(tree.edges().collect::<Vec<_>>(), [DataFlow { from: a, to: NodeId(1) }]);
    }

    #[test]
    fn shapes_count_their_elements() {
        assert_eq!(TensorShape::new("float", [2, 3]).elements(), Some(6));
        assert_eq!(TensorShape::new("float", []).elements(), Some(1));
        assert_eq!(TensorShape::new("float", [-1, 3]).elements(), None);
        assert_eq!(TensorShape::new("float", [i64::MAX, 3]).elements(), None);
        assert_eq!(TensorShape::new("f32", [8, 64]).to_string(), "f32[8,64]");
    }
}
