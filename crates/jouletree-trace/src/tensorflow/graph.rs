//! The graph of a step, and the pass of each of its operations.

use std::borrow::Cow;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use jouletree_model::Pass;

use crate::interner::Interner;

use super::contents::Input;
use super::names::{Gradient, before_grappler, changes_variable, gradient};

/// The operations of a step with the data flow between them.
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    by_name: FxHashMap<String, usize>,
}

/// One operation.
pub(super) struct Node {
    /// The name the framework gave it.
    pub(super) name: String,
    /// The name before the graph optimizer changed it.
    pub(super) original: String,
    pub(super) op_type: String,
    /// What it is the gradient of, when its name says.
    pub(super) gradient: Gradient<'static>,
    pub(super) inputs: Vec<usize>,
    pub(super) consumers: Vec<usize>,
    pub(super) pass: Pass,
    /// Whether a gradient depends on it: it is a part of the model.
    pub(super) feeds_gradient: bool,
}

impl Node {
    /// Whether it holds a variable.
    pub(super) fn is_variable(&self) -> bool {
        matches!(self.op_type.as_str(), "VarHandleOp" | "VariableV2" | "Variable" | "AutoReloadVariable")
    }

    /// Whether it changes a variable.
    pub(super) fn is_update(&self) -> bool {
        changes_variable(&self.op_type)
    }
}

impl Graph {
    /// The graph of operations with their types and inputs, all of them numbers of `names`.
    pub(super) fn new(types: &IndexMap<u32, u32>, inputs: &FxHashMap<u32, Vec<Input>>, names: &Interner) -> Graph {
        let mut nodes: Vec<Node> = types
            .iter()
            .map(|(name, op_type)| {
                let name = names.get(*name).into_owned();
                let original = before_grappler(&name).into_owned();
                let gradient = match gradient(&original) {
                    Gradient::Of(path) => Gradient::Of(Cow::Owned(path.into_owned())),
                    Gradient::Unknown => Gradient::Unknown,
                    Gradient::No => Gradient::No,
                };
                Node {
                    name,
                    original,
                    op_type: names.get(*op_type).into_owned(),
                    gradient,
                    inputs: Vec::new(),
                    consumers: Vec::new(),
                    pass: Pass::Forward,
                    feeds_gradient: false,
                }
            })
            .collect();
        for (node, name) in types.keys().enumerate() {
            for input in inputs.get(name).into_iter().flatten() {
                if let Some(from) = types.get_index_of(&input.from) {
                    nodes[node].inputs.push(from);
                    nodes[from].consumers.push(node);
                }
            }
        }
        let by_name = nodes.iter().enumerate().map(|(index, node)| (node.original.clone(), index)).collect();
        let mut graph = Graph { nodes, by_name };
        graph.tell_passes();
        graph
    }

    /// The operation with this original name.
    pub(super) fn find(&self, original: &str) -> Option<&Node> {
        self.by_name.get(original).map(|index| &self.nodes[*index])
    }

    /// The data flow, from and to.
    pub(super) fn edges(&self) -> impl Iterator<Item = (usize, usize)> {
        self.nodes.iter().enumerate().flat_map(|(to, node)| node.inputs.iter().map(move |from| (*from, to)))
    }

    /// Gradients are the backward pass. The optimizer is what changes variables by gradients, and everything that
    /// leads there without feeding a gradient: it needs no scope to be known.
    fn tell_passes(&mut self) {
        let backward: Vec<usize> =
            (0..self.nodes.len()).filter(|node| self.nodes[*node].gradient != Gradient::No).collect();
        for node in &backward {
            self.nodes[*node].pass = Pass::Backward;
        }
        for node in self.reachable(&backward, |node| &node.inputs) {
            self.nodes[node].feeds_gradient = true;
        }
        let mut frontier = self.reachable(&backward, |node| &node.consumers);
        frontier.retain(|node| self.nodes[*node].is_update() && self.can_be_optimizer(*node));
        while let Some(node) = frontier.pop() {
            self.nodes[node].pass = Pass::Optimizer;
            let inputs = self.nodes[node].inputs.iter();
            frontier
                .extend(inputs.filter(|input| self.can_be_optimizer(**input) && !self.is_model_variable(**input)));
        }
    }

    /// Whether it is a variable that something else than the optimizer reads, too.
    fn is_model_variable(&self, node: usize) -> bool {
        let node = &self.nodes[node];
        node.is_variable() && node.consumers.iter().any(|consumer| self.nodes[*consumer].feeds_gradient)
    }

    fn can_be_optimizer(&self, node: usize) -> bool {
        self.nodes[node].pass == Pass::Forward && !self.nodes[node].feeds_gradient
    }

    /// Everything that `next` leads to from `from`, itself left out unless it is led back to.
    fn reachable(&self, from: &[usize], next: impl Fn(&Node) -> &Vec<usize>) -> Vec<usize> {
        let mut seen = vec![false; self.nodes.len()];
        let mut found = Vec::new();
        let mut frontier = from.to_vec();
        while let Some(node) = frontier.pop() {
            for follower in next(&self.nodes[node]) {
                if !std::mem::replace(&mut seen[*follower], true) {
                    found.push(*follower);
                    frontier.push(*follower);
                }
            }
        }
        found
    }
}
