//! Glue: the work of a module that no primitive covers, such as activations, residual sums, masks and transposes.
//!
//! It is a sum of seven readable terms that need sizes only, none of them negative and none named after a module. Because
//! everything is additive, the energy of a node is that of the leaves below plus the terms summed over the subtree, and
//! one small least-squares problem over all inner nodes is the best fit of whole trees.
//!
//! A caveat that belongs to every figure quoted for it: the terms were designed with the gaps of the six published models
//! in view, and whether nodes or trees weigh alike was decided by how other families and sizes of these models came out.
//! The coefficients never see what they are tried on; the choice of terms and weights did. A model or a device that was not
//! used for them is the real test.

use std::collections::BTreeMap;

use jouletree_model::Joules;
use serde::{Deserialize, Serialize};

use super::error::IreneError;
use super::tree::{Level, Node, Tree};
use crate::non_negative::NormalEquations;

/// How much a row of the fit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowWeight {
    /// Every inner node counts the same, so a model with many modules counts more.
    Node,
    /// Every tree counts the same, so that coefficients carry over to models built otherwise than the largest one.
    Tree,
}

/// What each coefficient is joules per.
pub const GLUE_TERMS: [&str; 7] = [
    "MiB moved by no child",
    "million operations of no child",
    "module that calls primitives",
    "primitive called",
    "MiB of attention scores",
    "thousand tokens of attention",
    "attention",
];

/// The coefficients of the seven terms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, f64>", into = "BTreeMap<String, f64>")]
pub struct Glue {
    joules_per_unit: [f64; GLUE_TERMS.len()],
}

impl From<Glue> for BTreeMap<String, f64> {
    fn from(glue: Glue) -> BTreeMap<String, f64> {
        glue.coefficients().map(|(term, joules)| (term.to_owned(), joules.0)).collect()
    }
}

impl From<BTreeMap<String, f64>> for Glue {
    /// Terms that an earlier version did not know cost nothing.
    fn from(written: BTreeMap<String, f64>) -> Glue {
        Glue { joules_per_unit: GLUE_TERMS.map(|term| written.get(term).copied().unwrap_or(0.0)) }
    }
}

/// The seven terms of one node.
type Terms = [f64; GLUE_TERMS.len()];

impl Glue {
    /// Fits the relative errors of all inner nodes, given the energies of the leaves (zero elsewhere) of each tree.
    pub fn fit<'a>(
        trees: impl IntoIterator<Item = (&'a Tree, Vec<Joules>)>,
        weight: RowWeight,
    ) -> Result<Glue, IreneError> {
        let mut sums = NormalEquations::new(GLUE_TERMS.len());
        let mut rows = 0;
        for (tree, mut energies) in trees {
            let inner = tree.nodes.iter().filter(|node| node.level != Level::Leaf).count();
            let share = match weight {
                RowWeight::Node => 1.0,
                RowWeight::Tree => (inner as f64).sqrt(),
            };
            let mut totals: Vec<Terms> = tree.nodes.iter().map(|node| terms(tree, node)).collect();
            for (place, node) in tree.nodes.iter().enumerate() {
                if node.level != Level::Leaf && node.measured.0 > 0.0 {
                    let gold = node.measured;
                    sums.add(&totals[place], (gold - energies[place]).0, gold.0 * share);
                    rows += 1;
                }
                if let Some(parent) = node.parent {
                    let energy = energies[place];
                    energies[parent] += energy;
                    let below = totals[place];
                    for (total, term) in totals[parent].iter_mut().zip(below) {
                        *total += term;
                    }
                }
            }
        }
        if rows == 0 {
            return Err(IreneError::NothingToFit { what: "the glue of modules", needed: "modules" });
        }
        let mut joules_per_unit = [0.0; GLUE_TERMS.len()];
        joules_per_unit.copy_from_slice(&sums.solve_non_negative());
        Ok(Glue { joules_per_unit })
    }

    /// The glue of one node, without that of the nodes below.
    pub fn energy(&self, tree: &Tree, node: &Node) -> Joules {
        Joules(terms(tree, node).iter().zip(self.joules_per_unit).map(|(term, per_unit)| term * per_unit).sum())
    }

    /// The coefficients with what they are joules per.
    pub fn coefficients(&self) -> impl Iterator<Item = (&'static str, Joules)> {
        GLUE_TERMS.into_iter().zip(self.joules_per_unit.map(Joules))
    }
}

fn terms(tree: &Tree, node: &Node) -> Terms {
    if node.level == Level::Leaf {
        return Terms::default();
    }
    let (mut bytes, mut flops) = (node.specs.mebibytes, node.specs.megaflops);
    let (mut primitives, mut scores, mut attends) = (0.0, 0.0, false);
    for child in tree.children(node) {
        bytes -= child.specs.mebibytes;
        flops -= child.specs.megaflops;
        if child.level == Level::Leaf {
            primitives += 1.0;
            attends |= matches!(child.kind.as_str(), "matmul" | "attention");
            if child.kind == "softmax" {
                scores += child.specs.mebibytes;
            }
        }
    }
    let calls = f64::from(primitives > 0.0);
    // What sums leave of nothing is nothing.
    let rest = |left: f64, whole: f64| if left > 1e-9 * whole { left } else { 0.0 };
    let (bytes, flops) = (rest(bytes, node.specs.mebibytes), rest(flops, node.specs.megaflops));
    let mut terms = [bytes, flops, calls, primitives, 0.0, 0.0, 0.0];
    if attends {
        terms[4..].copy_from_slice(&[scores, tree.tokens() / 1000.0, 1.0]);
    }
    terms
}
