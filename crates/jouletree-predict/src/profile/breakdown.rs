//! Bottlenecks: the energy of a predicted model by class of module and by kind of primitive. Either sums up to the whole.

use std::collections::BTreeMap;

use jouletree_model::Joules;
use serde::Serialize;

use super::predicted::{Predicted, PredictedNode};
use crate::irene::Level;

/// The name of work that no primitive covers.
const GLUE: &str = "(glue)";

/// All nodes of one class or kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BreakdownRow {
    /// The class or kind.
    pub name: String,
    /// How many there are.
    pub count: usize,
    /// What they take together.
    #[serde(rename = "energy_j")]
    pub energy: Joules,
    /// Their share of the whole.
    pub share: f64,
}

/// By class of module: each with its primitives and its glue, without the modules inside it.
pub fn by_module(predicted: &Predicted) -> Vec<BreakdownRow> {
    let mut rows: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
    // Parents come first: the module around a primitive is the last one of a smaller depth.
    let mut around: Vec<&PredictedNode> = Vec::new();
    for node in &predicted.nodes {
        around.truncate(node.depth);
        if node.level == Level::Leaf {
            if let Some(module) = around.last() {
                rows.entry(&module.kind).or_default().1 += node.energy.0;
            }
        } else {
            let row = rows.entry(&node.kind).or_default();
            *row = (row.0 + 1, row.1 + node.glue.0);
            around.push(node);
        }
    }
    sorted(predicted, rows)
}

/// By kind of primitive, and all glue.
pub fn by_kind(predicted: &Predicted) -> Vec<BreakdownRow> {
    let mut rows: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
    for node in &predicted.nodes {
        let (name, energy) =
            if node.level == Level::Leaf { (node.kind.as_str(), node.energy) } else { (GLUE, node.glue) };
        let row = rows.entry(name).or_default();
        *row = (row.0 + 1, row.1 + energy.0);
    }
    sorted(predicted, rows)
}

fn sorted(predicted: &Predicted, rows: BTreeMap<&str, (usize, f64)>) -> Vec<BreakdownRow> {
    let total = predicted.total().0.0;
    let mut rows: Vec<BreakdownRow> = rows
        .into_iter()
        .filter(|(_, (_, energy))| *energy > 0.0)
        .map(|(name, (count, energy))| BreakdownRow {
            name: name.to_owned(),
            count,
            energy: Joules(energy),
            share: if total > 0.0 { energy / total } else { 0.0 },
        })
        .collect();
    rows.sort_by(|a, b| b.energy.0.total_cmp(&a.energy.0));
    rows
}
