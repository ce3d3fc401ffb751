//! The graph of the model: its nodes, which of them ran, and when the others would have.

use std::collections::VecDeque;
use std::ops::Range;

use rustc_hash::FxHashMap;

use jouletree_model::{Facts, ModelTree, Op};

use super::names::{former_names, joined, layer, shared_layer};

/// How many nodes that did not run are passed through on the way from one that ran to the next.
const PASSED: usize = 2048;

/// The operations of a model with the data flow between them.
pub(super) struct Graph<'a> {
    pub(super) nodes: Vec<Node<'a>>,
    by_name: FxHashMap<&'a str, usize>,
}

/// One operation.
pub(super) struct Node<'a> {
    pub(super) op_type: &'a str,
    pub(super) path: String,
    pub(super) facts: &'a Facts,
    inputs: Vec<usize>,
    consumers: Vec<usize>,
}

impl<'a> Graph<'a> {
    pub(super) fn new(model: &'a ModelTree) -> Graph<'a> {
        let mut numbers: Vec<Option<usize>> = Vec::with_capacity(model.nodes().len());
        let mut graph = Graph { nodes: Vec::new(), by_name: FxHashMap::default() };
        let mut nameless: Vec<(usize, &Op)> = Vec::new();
        for (_, op, facts) in model.nodes() {
            numbers.push((!facts.is_module).then_some(graph.nodes.len()));
            if facts.is_module {
                continue;
            }
            graph.by_name.entry(&op.name).or_insert(graph.nodes.len());
            if !op.path.contains('/') && !op.name.starts_with('/') {
                nameless.push((graph.nodes.len(), op));
            }
            let path = op.path.to_string();
            graph.nodes.push(Node {
                op_type: &op.op_type,
                path,
                facts,
                inputs: Vec::new(),
                consumers: Vec::new(),
            });
        }
        for edge in model.edges() {
            let number = |id: usize| numbers.get(id).copied().flatten();
            if let (Some(from), Some(to)) = (number(edge.from.index()), number(edge.to.index())) {
                graph.nodes[from].consumers.push(to);
                graph.nodes[to].inputs.push(from);
            }
        }
        for (node, op) in nameless {
            let layer = graph.layer_around(node).to_owned();
            graph.nodes[node].path = joined(&layer, &op.path).into_owned();
        }
        graph
    }

    /// The layer of a node whose name lacks it: what its consumers share, or what made its inputs.
    fn layer_around(&self, node: usize) -> &str {
        let layers = |nodes: &'_ [usize]| {
            let layers = nodes.iter().map(|node| layer(&self.nodes[*node].path)).filter(|layer| !layer.is_empty());
            layers.reduce(shared_layer).unwrap_or_default()
        };
        let node = &self.nodes[node];
        let of_consumers = layers(&node.consumers);
        if of_consumers.is_empty() { layers(&node.inputs) } else { of_consumers }
    }

    /// The node that runs under this name, which the optimizers may have changed.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        former_names(name).find_map(|name| self.by_name.get(name).copied())
    }

    /// For every node the places in the order of execution at which it can have run, as part of an operation with
    /// another name: after everything it needs and before everything that needs it. `ran` says for each node the
    /// place of the operation that bears its name.
    pub(super) fn windows(&self, ran: &[Option<usize>]) -> Vec<Range<usize>> {
        let mut windows = vec![0..usize::MAX; self.nodes.len()];
        let order = self.in_order();
        let place = |node: usize| ran.get(node).copied().flatten();
        for node in &order {
            let after = |input: &usize| place(*input).map_or(windows[*input].start, |place| place + 1);
            windows[*node].start = self.nodes[*node].inputs.iter().map(after).max().unwrap_or(0);
        }
        for node in order.iter().rev() {
            let before = |consumer: &usize| place(*consumer).unwrap_or(windows[*consumer].end);
            windows[*node].end = self.nodes[*node].consumers.iter().map(before).min().unwrap_or(usize::MAX);
        }
        windows
    }

    /// The nodes so that each comes after its inputs; those in a circle, which no model has, are left out.
    fn in_order(&self) -> Vec<usize> {
        let mut missing: Vec<usize> = self.nodes.iter().map(|node| node.inputs.len()).collect();
        let mut ready: VecDeque<usize> = (0..self.nodes.len()).filter(|node| missing[*node] == 0).collect();
        let mut order = Vec::with_capacity(self.nodes.len());
        while let Some(node) = ready.pop_front() {
            order.push(node);
            for consumer in &self.nodes[node].consumers {
                missing[*consumer] -= 1;
                if missing[*consumer] == 0 {
                    ready.push_back(*consumer);
                }
            }
        }
        order
    }

    /// The data flow between operations that ran. `owner` says for each node the operation that computed it;
    /// nodes that have none are passed through.
    pub(super) fn flow(&self, owner: &[Option<usize>]) -> Vec<(usize, usize)> {
        let owner_of = |node: usize| owner.get(node).copied().flatten();
        let mut edges = Vec::new();
        let mut seen = vec![usize::MAX; self.nodes.len()];
        for (source, from) in (0..self.nodes.len()).filter_map(|node| Some((node, owner_of(node)?))) {
            let mut frontier = vec![source];
            let mut passed = 0;
            while let Some(node) = frontier.pop() {
                for consumer in &self.nodes[node].consumers {
                    if std::mem::replace(&mut seen[*consumer], source) == source {
                        continue;
                    }
                    match owner_of(*consumer) {
                        Some(to) if to != from => edges.push((from, to)),
                        Some(_) => {}
                        None if passed < PASSED => {
                            passed += 1;
                            frontier.push(*consumer);
                        }
                        None => {}
                    }
                }
            }
        }
        edges
    }
}
