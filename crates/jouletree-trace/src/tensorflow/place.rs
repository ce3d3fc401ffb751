//! The place of every operation in the model.

use std::collections::BTreeSet;

use jouletree_model::{Op, Pass};

use super::fused::Products;
use super::graph::{Graph, Node};
use super::names::{DATA, Gradient, takes_data, without_number};

/// How many operations are looked at on the way back from an optimizer's operation to its variable.
const SEARCH: usize = 512;

/// The operations of a graph in the order of its nodes, each at its place.
pub(super) fn places(graph: &Graph) -> Vec<Op> {
    // A layer with parameters has gradients, and they are named after it.
    let model: BTreeSet<&str> = graph
        .nodes
        .iter()
        .filter_map(|node| match &node.gradient {
            Gradient::Of(path) => top(path),
            _ => None,
        })
        .collect();
    let mut products = Products::default();
    for node in &graph.nodes {
        if let Gradient::Of(path) = &node.gradient {
            products.note(path);
        } else if without_number(last(&node.original)) == "ReadVariableOp" {
            products.note(layer(&node.original));
        }
    }
    let mut search = Search::of(graph);
    let mut paths: Vec<Option<String>> = graph
        .nodes
        .iter()
        .enumerate()
        .map(|(index, node)| match (&node.gradient, node.pass) {
            (Gradient::Of(path), _) => Some(path.clone().into_owned()),
            (Gradient::Unknown, _) => None,
            (_, Pass::Optimizer) => Some(optimizer_path(&mut search, index, &model)),
            _ if takes_data(&node.original, &node.op_type) => Some(format!("{DATA}/{}", node.original)),
            _ => Some(products.place(&node.original, &node.op_type).unwrap_or_else(|| node.original.clone())),
        })
        .collect();
    place_sums_of_gradients(graph, &mut paths);
    let op = |(node, path): (&Node, Option<String>)| {
        Op::new(
            path.unwrap_or_else(|| node.original.clone()),
            node.op_type.as_str(),
            node.name.as_str(),
            node.pass,
        )
    };
    graph.nodes.iter().zip(paths).map(op).collect()
}

/// The first part of a name that has several.
fn top(name: &str) -> Option<&str> {
    name.split_once('/').map(|(top, _)| top)
}

/// The last part of a name.
fn last(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// The layer of a path.
pub(crate) fn layer(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(layer, _)| layer)
}

/// An optimizer's operation without a scope belongs to the variable it works for: the nearest that its inputs lead
/// back to, else the only one that its output changes. Without such a variable, or with a scope of its own (clipping,
/// a schedule), it belongs to the optimizer itself.
fn optimizer_path(search: &mut Search<'_>, index: usize, model: &BTreeSet<&str>) -> String {
    let graph = search.graph;
    let node = &graph.nodes[index];
    let in_model = |name: &str| top(name).is_some_and(|top| model.contains(top));
    if in_model(&node.original) {
        return node.original.clone();
    }
    // `Mul_174/ReadVariableOp` is an operand of `Mul_174`, which has no scope.
    let unscoped = top(&node.original).is_none_or(|top| graph.find(top).is_some());
    if !unscoped && !node.is_update() {
        return format!("optimizer/{}", node.original);
    }
    let behind = search.variables_behind(index).into_iter().map(|found| variable_of(graph, found));
    let behind: Vec<String> = behind.collect();
    let variable = match behind.iter().find(|variable| in_model(variable)) {
        Some(variable) => Some(variable.clone()),
        None => search.variable_ahead(index).or(behind.into_iter().next()),
    };
    let last = without_number(last(&node.original));
    match variable {
        Some(variable) if in_model(&variable) => format!("{variable}/{last}"),
        Some(variable) => format!("optimizer/{variable}/{last}"),
        None => format!("optimizer/{}", node.original),
    }
}

/// Searches through a graph from one operation after the other. What one of them has seen is marked with its number, so that
/// the next one need not forget it.
struct Search<'a> {
    graph: &'a Graph,
    seen_by: Vec<u32>,
    number: u32,
}

impl<'a> Search<'a> {
    fn of(graph: &'a Graph) -> Search<'a> {
        Search { graph, seen_by: vec![0; graph.nodes.len()], number: 0 }
    }

    /// The variables that the optimizer's operations before this one lead back to, the nearest first.
    fn variables_behind(&mut self, index: usize) -> Vec<usize> {
        let is_part = |node: &Node| node.pass == Pass::Optimizer || node.is_variable();
        let mut found = self.nearest_first(index, |node| &node.inputs, is_part);
        found.retain(|found| self.graph.nodes[*found].is_variable());
        found
    }

    /// The one variable that the optimizer's operations after this one change; `None` when they change several.
    fn variable_ahead(&mut self, index: usize) -> Option<String> {
        let found = self.nearest_first(index, |node| &node.consumers, |node| node.pass == Pass::Optimizer);
        let graph = self.graph;
        let updates = found.into_iter().filter(|found| graph.nodes[*found].is_update());
        let changed: BTreeSet<String> = updates
            .filter_map(|update| {
                graph.nodes[update].inputs.iter().find(|input| graph.nodes[**input].is_variable())
            })
            .map(|variable| variable_of(graph, *variable))
            .collect();
        if changed.len() == 1 { changed.into_iter().next() } else { None }
    }

    /// What `next` leads to from `index`, itself included, through operations that are `part`, the nearest first.
    fn nearest_first(
        &mut self,
        index: usize,
        next: impl Fn(&Node) -> &Vec<usize>,
        part: impl Fn(&Node) -> bool,
    ) -> Vec<usize> {
        let graph = self.graph;
        self.number += 1;
        self.seen_by[index] = self.number;
        let mut found = vec![index];
        let mut at = 0;
        while let Some(index) = found.get(at) {
            at += 1;
            for follower in next(&graph.nodes[*index]) {
                let is_seen = self.seen_by[*follower] == self.number;
                if found.len() < SEARCH && !is_seen && part(&graph.nodes[*follower]) {
                    self.seen_by[*follower] = self.number;
                    found.push(*follower);
                }
            }
        }
        found
    }
}

/// The variable itself, or the one whose slot (a moment, an average) it is.
fn variable_of(graph: &Graph, index: usize) -> String {
    const SLOTS: [&str; 8] = ["adam_m", "adam_v", "Adam", "Momentum", "RMSProp", "Adagrad", "Ftrl", "LAMB"];
    let name = graph.nodes[index].original.as_str();
    let Some((owner, slot)) = name.rsplit_once('/') else { return name.to_owned() };
    let owned = graph.find(owner).is_some_and(Node::is_variable);
    if owned || SLOTS.contains(&without_number(slot)) { owner.to_owned() } else { name.to_owned() }
}

/// `gradients/AddN_3` sums the gradients of one tensor over its uses: it belongs to the layer that all of them share,
/// and its constants belong there with it.
fn place_sums_of_gradients(graph: &Graph, paths: &mut [Option<String>]) {
    type Ends = fn(&Node) -> &[usize];
    let (inputs, consumers): (Ends, Ends) = (|node| &node.inputs, |node| &node.consumers);
    for (behind, ahead) in [(inputs, consumers), (consumers, inputs)] {
        // Sums of sums are placed after what they sum up: each round looks only at what the last one made possible.
        let mut frontier: Vec<usize> = (0..graph.nodes.len()).collect();
        while !frontier.is_empty() {
            let open = frontier.into_iter().filter(|index| paths[*index].is_none());
            let placed: Vec<(usize, String)> = open
                .filter_map(|index| {
                    let node = &graph.nodes[index];
                    Some((index, path_beside(node, behind(node), paths)?))
                })
                .collect();
            frontier = placed.iter().flat_map(|(index, _)| ahead(&graph.nodes[*index])).copied().collect();
            frontier.sort_unstable();
            frontier.dedup();
            for (index, path) in placed {
                paths[index] = Some(path);
            }
        }
    }
}

/// The path of an operation in the layer that its placed neighbours share; `None` while none is placed.
fn path_beside(node: &Node, neighbours: &[usize], paths: &[Option<String>]) -> Option<String> {
    let layers: Vec<&str> = neighbours.iter().filter_map(|index| paths[*index].as_deref()).map(layer).collect();
    if layers.is_empty() {
        return None;
    }
    let shared = shared_layer(&layers);
    let last = without_number(last(&node.original));
    Some(if shared.is_empty() { node.original.clone() } else { format!("{shared}/{last}") })
}

/// The innermost layer that holds all of `layers`.
pub(crate) fn shared_layer<'a>(layers: &[&'a str]) -> &'a str {
    let Some((first, rest)) = layers.split_first() else { return "" };
    let mut shared = *first;
    for other in rest {
        while !(shared.is_empty()
            || *other == shared
            || other.strip_prefix(shared).is_some_and(|tail| tail.starts_with('/')))
        {
            shared = layer(shared);
        }
    }
    shared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_layers_end_at_whole_parts() {
        assert_eq!(shared_layer(&["a/b/c", "a/b", "a/bc"]), "a");
        assert_eq!(shared_layer(&["a/b", "a/b/d"]), "a/b");
        assert_eq!(shared_layer(&["a", "b"]), "");
    }
}
