//! Data flow between tensors by path, and its collapse to arrows between the parts of one diagram.
//!
//! An arrow means that a tensor computed from data in one part is used in another. `carriers` leaves out constants, shapes,
//! scalars and parameters, `sharing` undoes what graph optimizers merged across layers, and `order` drops what still leads
//! from a later layer back to an earlier one of the same chain.

mod carriers;
mod order;
mod sharing;

use jouletree_model::{DataFlow, ModelTree, NodeId, Pass};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::paths::{PathTree, ROOT, components};

pub use order::{is_earlier, numbered};

/// One tensor's output is another's input.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TensorEdge {
    /// The path of the tensor that is made.
    pub from: Box<str>,
    /// The pass in which it is made.
    pub from_pass: Pass,
    /// The path of the tensor that uses it.
    pub to: Box<str>,
    /// The pass in which it is used.
    pub to_pass: Pass,
}

/// Data flow between two children of one node of an energy tree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Arrow {
    /// The name of the child that makes the data.
    pub from: String,
    /// The name of the child that uses it.
    pub to: String,
    /// The pass in which it is made.
    pub from_pass: Pass,
    /// The pass in which it is used.
    pub to_pass: Pass,
    /// How many edges between tensors it represents.
    pub count: u64,
}

/// The data flow of a model by path: the edges along which data flows, as the program wrote it.
pub fn tensor_edges(model: &ModelTree) -> Vec<TensorEdge> {
    let carriers = carriers::Carriers::of(model);
    let flowing: Vec<DataFlow> = model.edges().filter(|flow| carriers.carries(*flow)).collect();
    let edge = |flow: DataFlow| {
        let ((from, _), (to, _)) = (model.get(flow.from)?, model.get(flow.to)?);
        Some(TensorEdge { from: from.path.clone(), from_pass: from.pass, to: to.path.clone(), to_pass: to.pass })
    };
    sharing::separated(model, &flowing).into_iter().filter_map(edge).collect()
}

/// The path of a node; empty for a number that the model does not have.
fn path_of(model: &ModelTree, node: NodeId) -> &str {
    model.get(node).map_or("", |(op, _)| &op.path)
}

/// The arrows that `edges` make, each with the number of the node whose children it joins.
pub(crate) fn arrows(tree: &PathTree<'_>, edges: &[TensorEdge]) -> impl Iterator<Item = (usize, Arrow)> {
    let mut counts: FxHashMap<_, u64> = FxHashMap::default();
    for edge in edges {
        if let Some((from, to)) = siblings(tree, &edge.from, &edge.to) {
            *counts.entry((from, to, edge.from_pass, edge.to_pass)).or_default() += 1;
        }
    }
    let nodes = tree.nodes();
    let mut by_parent: FxHashMap<usize, Vec<Arrow>> = FxHashMap::default();
    for ((from, to, from_pass, to_pass), count) in counts {
        let name = |node: usize| nodes[node].name.to_owned();
        let arrow = Arrow { from: name(from), to: name(to), from_pass, to_pass, count };
        by_parent.entry(nodes[from].parent).or_default().push(arrow);
    }
    by_parent
        .into_iter()
        .flat_map(|(parent, arrows)| order::in_order(arrows).into_iter().map(move |arrow| (parent, arrow)))
}

/// The two children of the lowest common ancestor that hold `from` and `to`; `None` when one holds the other.
fn siblings(tree: &PathTree<'_>, from: &str, to: &str) -> Option<(usize, usize)> {
    let mut parent = ROOT;
    for (from, to) in components(from).zip(components(to)) {
        let (from, to) = (tree.child(parent, from)?, tree.child(parent, to)?);
        if from != to {
            return Some((from, to));
        }
        parent = from;
    }
    None
}
