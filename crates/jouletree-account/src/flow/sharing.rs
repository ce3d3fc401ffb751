//! Equal nodes of several layers that a graph optimizer merged into one: each layer gets back its own.
//!
//! `layer_0` and `layer_1` both compute the mask of their attention from the same tensor. The optimizer keeps the nodes of
//! one of them, from which both then read, although no layer waits for another. Such a node is found by its users: it is
//! used at the same place of its own layer and of a sibling. What it was computed from was merged with it, so that every
//! other user takes the tensors that enter the merged nodes from outside of their layer.

use indexmap::IndexSet;
use jouletree_model::{DataFlow, ModelTree, NodeId};
use rustc_hash::{FxBuildHasher, FxHashSet};

use super::order::numbered;
use super::path_of;

/// So many merged nodes are gone through on the way back to what entered them.
const SEARCH: usize = 4096;

/// The data flow as it was before nodes of several layers were merged.
pub(super) fn separated(model: &ModelTree, flows: &[DataFlow]) -> Vec<DataFlow> {
    let count = model.nodes().len();
    let (mut inputs, mut users) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    for DataFlow { from, to } in flows {
        inputs[to.index()].push(*from);
        users[from.index()].push(*to);
    }
    let mut found: IndexSet<DataFlow, FxBuildHasher> = IndexSet::default();
    for (node, users) in (0..).map(NodeId).zip(&users) {
        let path = path_of(model, node);
        let shared = layers(path).find(|(layer, _)| is_shared(model, path, layer, users));
        let Some((layer, _)) = shared else {
            found.extend(users.iter().map(|user| DataFlow { from: node, to: *user }));
            continue;
        };
        let is_own = |node: &NodeId| inside(path_of(model, *node), layer).is_some();
        let sources = sources(&inputs, node, is_own);
        for user in users {
            if is_own(user) {
                found.insert(DataFlow { from: node, to: *user });
            } else {
                found.extend(
                    sources.iter().filter(|from| *from != user).map(|from| DataFlow { from: *from, to: *user }),
                );
            }
        }
    }
    found.into_iter().collect()
}

/// The numbered layers around a node, outermost first: the path of each and its name.
fn layers(path: &str) -> impl Iterator<Item = (&str, &str)> {
    path.match_indices('/').filter_map(|(end, _)| {
        let layer = path.get(..end)?;
        let name = layer.rsplit('/').next()?;
        numbered(name).map(|_| (layer, name))
    })
}

/// Whether a node of a layer is used at the same place of this layer and of a sibling that differs in its number.
fn is_shared(model: &ModelTree, path: &str, layer: &str, users: &[NodeId]) -> bool {
    let (above, name) = layer.rsplit_once('/').unwrap_or(("", layer));
    let Some((stem, _)) = numbered(name) else { return false };
    let (mut own, mut others) = (FxHashSet::default(), Vec::new());
    for user in users {
        let (user, pass) = match model.get(*user) {
            Some((op, _)) if &*op.path != path => (&*op.path, op.pass),
            _ => continue,
        };
        if let Some(place) = inside(user, layer) {
            own.insert((place, pass));
        } else if let Some((name, place)) = inside(user, above).and_then(|rest| rest.split_once('/'))
            && numbered(name).is_some_and(|(same, _)| same == stem)
        {
            others.push((place, pass));
        }
    }
    others.iter().any(|place| own.contains(place))
}

/// What follows the path of a layer in the path of something inside it.
fn inside<'a>(path: &'a str, layer: &str) -> Option<&'a str> {
    if layer.is_empty() { Some(path) } else { path.strip_prefix(layer)?.strip_prefix('/') }
}

/// The nodes outside of a layer from which a merged node of it was computed.
fn sources(inputs: &[Vec<NodeId>], node: NodeId, is_own: impl Fn(&NodeId) -> bool) -> Vec<NodeId> {
    let mut seen: FxHashSet<NodeId> = FxHashSet::from_iter([node]);
    let mut waiting = vec![node];
    let mut found = Vec::new();
    while let Some(node) = waiting.pop() {
        for input in inputs.get(node.index()).into_iter().flatten() {
            if seen.len() < SEARCH && seen.insert(*input) {
                if is_own(input) { waiting.push(*input) } else { found.push(*input) }
            }
        }
    }
    found.sort();
    found
}
