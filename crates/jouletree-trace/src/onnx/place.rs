//! The place of every operation in the model.
//!
//! Most names still have it. A fused operation that has lost its path replaces nodes of the model that did not run
//! under their own names; the graph shows between which operations such nodes must have run, and so which they are.
//! Without the model the neighbours in the order of execution have to do.

use std::ops::Range;

use super::families::{Extent, Family};
use super::graph::Graph;
use super::names::{
    Serves, joined, layer, path_before_optimizers, serves, shared_layer, tells_place, without_marks,
};

/// How many nodes are looked at for the place of one operation.
const SEARCH: usize = 4096;

/// One operation that ran.
pub(super) struct Executed {
    pub(super) name: String,
    pub(super) op_type: String,
}

/// The places of the operations that ran.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The path of each.
    pub(super) paths: Vec<String>,
    /// For each node of the graph the operation that computed it.
    pub(super) owners: Vec<Option<usize>>,
    /// Those whose place is no more than that of their neighbours.
    pub(super) guessed: Vec<usize>,
}

/// The places of operations in the order in which they ran.
pub(super) fn places(executed: &[Executed], graph: &Graph<'_>) -> Places {
    let mut search = Search::new(executed, graph);
    search.by_name();
    search.by_graph();
    search.by_neighbours()
}

struct Search<'a> {
    executed: &'a [Executed],
    graph: &'a Graph<'a>,
    paths: Vec<Option<String>>,
    owners: Vec<Option<usize>>,
}

impl<'a> Search<'a> {
    fn new(executed: &'a [Executed], graph: &'a Graph<'a>) -> Search<'a> {
        Search {
            executed,
            graph,
            paths: executed.iter().map(|_| None).collect(),
            owners: vec![None; graph.nodes.len()],
        }
    }

    fn by_name(&mut self) {
        for (place, op) in self.executed.iter().enumerate() {
            if let Some(node) = self.graph.find(&op.name) {
                self.paths[place] = Some(self.graph.nodes[node].path.clone());
                self.owners[node].get_or_insert(place);
            } else if tells_place(&op.name) {
                self.paths[place] = Some(path_before_optimizers(&op.name));
            }
        }
    }

    /// Finds for fused operations the nodes that they replace.
    fn by_graph(&mut self) {
        if self.graph.nodes.is_empty() {
            return;
        }
        let windows = self.graph.windows(&self.owners);
        // Nodes by the first place at which they can have run.
        let mut starting: Vec<Vec<usize>> = vec![Vec::new(); self.executed.len() + 1];
        for (node, window) in windows.iter().enumerate().filter(|(node, _)| self.owners[*node].is_none()) {
            if let Some(nodes) = starting.get_mut(window.start) {
                nodes.push(node);
            }
        }
        for place in 0..self.executed.len() {
            let op = &self.executed[place];
            if self.paths[place].is_some() || serves(&op.name).is_some() {
                continue;
            }
            // What became possible last is what comes next.
            let possible = starting[..=place].iter().rev().take(SEARCH).flatten().copied().take(SEARCH);
            let possible: Vec<usize> =
                possible.filter(|node| self.owners[*node].is_none() && windows[*node].contains(&place)).collect();
            self.paths[place] = self.replaced(place, &possible, &windows);
        }
    }

    /// The path of the operation at `place` if some of the `possible` nodes show it; they are then its own.
    fn replaced(&mut self, place: usize, possible: &[usize], windows: &[Range<usize>]) -> Option<String> {
        let op = &self.executed[place];
        let family = Family::of(&op.op_type);
        let nodes = &self.graph.nodes;
        let candidates = || possible.iter().copied().filter(|node| family.holds(nodes[*node].op_type));
        let same_type = candidates().find(|node| nodes[*node].op_type == op.op_type);
        let first = same_type.or_else(|| candidates().next())?;
        let mut home = layer(&nodes[first].path);
        match family.extent {
            Extent::Node => {
                self.owners[first] = Some(place);
                return Some(nodes[first].path.clone());
            }
            Extent::Layer => {}
            Extent::Layers => home = candidates().map(|node| layer(&nodes[node].path)).fold(home, shared_layer),
        }
        if home.is_empty() {
            return None;
        }
        for node in possible {
            let is_inside = match family.extent {
                Extent::Layers => shared_layer(home, layer(&nodes[*node].path)) == home,
                _ => layer(&nodes[*node].path) == home && windows[*node].end <= windows[first].end,
            };
            if is_inside {
                self.owners[*node] = Some(place);
            }
        }
        Some(joined(home, without_marks(&op.name)).into_owned())
    }

    fn by_neighbours(self) -> Places {
        let layers: Vec<&str> = self.paths.iter().map(|path| path.as_deref().map_or("", layer)).collect();
        let mut previous = vec![""; layers.len()];
        let mut next = vec![""; layers.len()];
        let mut nearest = "";
        for (place, layer) in layers.iter().enumerate() {
            previous[place] = nearest;
            nearest = if layer.is_empty() { nearest } else { layer };
        }
        nearest = "";
        for (place, layer) in layers.iter().enumerate().rev() {
            next[place] = nearest;
            nearest = if layer.is_empty() { nearest } else { layer };
        }
        let mut guessed = Vec::new();
        let path = |place: usize| {
            if let Some(path) = &self.paths[place] {
                return path.clone();
            }
            let name = &self.executed[place].name;
            let home = match serves(name) {
                Some(Serves::Next) if !next[place].is_empty() => next[place],
                Some(Serves::Previous) if !previous[place].is_empty() => previous[place],
                _ => {
                    guessed.push(place);
                    between(previous[place], next[place])
                }
            };
            joined(home, without_marks(name)).into_owned()
        };
        let paths = (0..self.executed.len()).map(path).collect();
        Places { paths, owners: self.owners, guessed }
    }
}

/// The layer of an operation that ran between operations of two others: what they share, or else the first. Between two
/// blocks of a list (`layer.0`, `layer.1`) it is the first, too, for it is the first's output that comes next. What runs
/// before anything that has a layer has none.
fn between<'a>(previous: &'a str, next: &'a str) -> &'a str {
    let shared = shared_layer(previous, next);
    let own = previous[shared.len()..].trim_start_matches('/').split('/').next().unwrap_or_default();
    let other = next[shared.len()..].trim_start_matches('/').split('/').next().unwrap_or_default();
    let stem = |part: &'a str| part.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let are_siblings = own != other && stem(own).len() < own.len() && stem(own) == stem(other);
    match (are_siblings, shared.is_empty()) {
        (true, true) => &previous[..own.len()],
        (true, false) => &previous[..shared.len() + 1 + own.len()],
        (false, true) => previous,
        (false, false) => shared,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_share_a_layer_or_the_first_has_it() {
        for (previous, next, layer) in [
            ("encoder/layer.0/output/dense", "encoder/layer.0/intermediate", "encoder/layer.0"),
            ("encoder/layer.0/output/dense", "encoder/layer.1/attention/self", "encoder/layer.0"),
            ("layer_0/x", "layer_1/y", "layer_0"),
            ("encoder/layer.1/output", "pooler/dense", "encoder/layer.1/output"),
            ("", "pooler", ""),
            ("pooler", "", "pooler"),
            ("a/b", "a/b/c", "a/b"),
            ("a/b/c", "a/b", "a/b"),
            ("", "", ""),
        ] {
            assert_eq!(between(previous, next), layer, "{previous} {next}");
        }
    }
}
