//! The layers that a card names: parts that do not overlap, so that they add up to the whole.

use jouletree_account::EnergyTree;
use jouletree_model::Joules;

/// A part with more than this share is taken apart further, where there is something inside of it.
const LARGE: f64 = 0.1;
/// But not into more parts than this.
const PARTS: usize = 200;

/// A part of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// Its path.
    pub path: String,
    /// Whether this is only what operations right at the path used, without what is inside.
    pub is_own: bool,
    pub energy: Joules,
}

/// The tree taken apart until no part is large, or nothing is inside of those that are; the largest is first.
pub fn layers(tree: &EnergyTree) -> Vec<Layer> {
    let mut open: Vec<&EnergyTree> = vec![tree];
    let mut own: Vec<Layer> = Vec::new();
    while open.len() + own.len() < PARTS {
        let is_large = |node: &EnergyTree| node.energy.0 > LARGE * tree.energy.0 && !node.children.is_empty();
        let with_children = open.iter().enumerate().filter(|(_, node)| is_large(node));
        let largest = with_children.max_by(|(_, one), (_, other)| one.energy.0.total_cmp(&other.energy.0));
        let Some((index, _)) = largest else { break };
        let node = open.swap_remove(index);
        open.extend(&node.children);
        if node.own.0 > 0.0 {
            own.push(Layer { path: node.path.clone(), is_own: true, energy: node.own });
        }
    }
    let whole = |node: &EnergyTree| Layer { path: node.path.clone(), is_own: false, energy: node.energy };
    let mut layers: Vec<Layer> = open.into_iter().map(whole).chain(own).collect();
    // The root is the whole and no part of it.
    layers.retain(|layer| layer.energy.0 > 0.0 && (layer.is_own || !layer.path.is_empty()));
    layers.sort_by(|one, other| other.energy.0.total_cmp(&one.energy.0));
    layers
}
