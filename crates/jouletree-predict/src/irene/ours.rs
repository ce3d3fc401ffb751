//! Our predictor: of every node it uses the best that is known, says what that was, and splits the node exactly into what
//! its children take and what is glue.

use std::collections::BTreeSet;

use jouletree_model::{Joules, PredictionInterval, Warning};
use serde::{Deserialize, Serialize};

use super::conformal::{LeftOutErrors, LevelQuantiles};
use super::error::IreneError;
use super::glue::{Glue, RowWeight};
use super::law::PowerLaw;
use super::spec_leaves::SpecLeaves;
use super::tree::{Level, Tree};

/// What a prediction rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// The node's own latency and device energy.
    OwnMeasured,
    /// Those of every primitive below it.
    MeasuredLeaves,
    /// Sizes.
    SpecsOnly,
}

/// How much of what a tree holds may be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    Everything,
    Leaves,
    Sizes,
}

/// The prediction of one node.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodePrediction {
    /// The node's path.
    pub scope: String,
    /// Its level.
    pub level: Level,
    /// Its energy: `children` and `glue` together, to the last digit.
    pub energy: Joules,
    /// What its children take; nothing for a primitive.
    pub children: Joules,
    /// What no child takes; all of it for a primitive.
    pub glue: Joules,
    /// What the energy rests on.
    pub basis: Basis,
    /// Where the measured energy is to be expected nine times in ten.
    pub interval: Option<PredictionInterval>,
    /// Whether it is a primitive known by its size alone, of a size beyond all that were measured.
    pub is_outside: bool,
}

/// A tree predicted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TreePrediction {
    /// The nodes in the order of the tree: children first, the root last.
    pub nodes: Vec<NodePrediction>,
    /// What was odd and what was done instead.
    pub warnings: Vec<Warning>,
}

/// Everything that is fitted, without intervals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Core {
    law: Option<PowerLaw>,
    leaves: SpecLeaves,
    glue_of_measured: Option<Glue>,
    glue_of_sizes: Glue,
}

/// A predictor fitted on the trees of one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TreePredictor {
    core: Core,
    own_measured: LevelQuantiles,
    measured_leaves: LevelQuantiles,
    specs_only: LevelQuantiles,
}

impl Core {
    fn fit(trees: &[&Tree]) -> Result<Core, IreneError> {
        // Data without any measurement but the energy still teach sizes.
        let law = PowerLaw::fit(trees.iter().copied()).ok();
        let leaves = SpecLeaves::fit(trees.iter().copied())?;
        let by_size = trees.iter().map(|tree| (*tree, leaves.predict_tree(tree)));
        let glue_of_sizes = Glue::fit(by_size, RowWeight::Tree)?;
        let measured = |law: PowerLaw| {
            let whole = trees.iter().filter_map(|tree| Some((*tree, measured_leaves(tree, &law)?)));
            Glue::fit(whole, RowWeight::Node).ok()
        };
        let glue_of_measured = law.and_then(measured);
        Ok(Core { law, leaves, glue_of_measured, glue_of_sizes })
    }

    fn predict(&self, tree: &Tree, known: Known) -> Vec<(Joules, Joules, Basis)> {
        let mut by_size = None;
        let mut children = vec![Joules::ZERO; tree.nodes.len()];
        let mut all_measured = vec![true; tree.nodes.len()];
        let mut predicted = Vec::with_capacity(tree.nodes.len());
        for (place, node) in tree.nodes.iter().enumerate() {
            let visible = match known {
                Known::Everything => true,
                Known::Leaves => node.level == Level::Leaf,
                Known::Sizes => false,
            };
            let own = node.resources.filter(|_| visible).zip(self.law).map(|(seen, law)| law.energy(&seen));
            let (glue, basis) = match (own, &self.glue_of_measured) {
                (Some(own), _) => (own - children[place], Basis::OwnMeasured),
                (None, _) if node.level == Level::Leaf => {
                    let energies = by_size.get_or_insert_with(|| self.leaves.predict_tree(tree));
                    (energies[place], Basis::SpecsOnly)
                }
                (None, Some(glue)) if all_measured[place] => (glue.energy(tree, node), Basis::MeasuredLeaves),
                (None, _) => (self.glue_of_sizes.energy(tree, node), Basis::SpecsOnly),
            };
            let energy = children[place] + glue;
            if let Some(parent) = node.parent {
                children[parent] += energy;
                all_measured[parent] &= basis != Basis::SpecsOnly;
            }
            predicted.push((children[place], glue, basis));
        }
        predicted
    }
}

/// The energies of measured leaves, zero elsewhere; `None` if a leaf was not measured.
fn measured_leaves(tree: &Tree, law: &PowerLaw) -> Option<Vec<Joules>> {
    tree.nodes
        .iter()
        .map(|node| match node.level {
            Level::Leaf => node.resources.map(|seen| law.energy(&seen)),
            Level::Module | Level::Model => Some(Joules::ZERO),
        })
        .collect()
}

impl TreePredictor {
    /// Fits the predictor on all trees; its intervals on each model by a fit that left this model out. Of a single model
    /// each size is left out instead.
    pub fn fit(trees: &[&Tree]) -> Result<TreePredictor, IreneError> {
        let core = Core::fit(trees)?;
        let models: BTreeSet<&str> = trees.iter().map(|tree| tree.model.as_str()).collect();
        let group = |tree: &Tree| if models.len() > 1 { tree.model.clone() } else { tree.title() };
        let groups: BTreeSet<String> = trees.iter().map(|tree| group(tree)).collect();
        let mut errors = [(); 3].map(|()| LeftOutErrors::default());
        // One tree alone cannot be left out of anything: then there are no intervals.
        for name in groups.iter().filter(|_| groups.len() > 1) {
            let (out, others): (Vec<&Tree>, Vec<&Tree>) = trees.iter().copied().partition(|t| group(t) == *name);
            let fitted = Core::fit(&others)?;
            for tree in out {
                for (errors, known) in errors.iter_mut().zip([Known::Everything, Known::Leaves, Known::Sizes]) {
                    for (node, (children, glue, _)) in tree.nodes.iter().zip(fitted.predict(tree, known)) {
                        errors.add(node.level, children + glue, node.measured);
                    }
                }
            }
        }
        let [own_measured, measured_leaves, specs_only] = errors.map(LeftOutErrors::quantiles);
        Ok(TreePredictor { core, own_measured, measured_leaves, specs_only })
    }

    /// Predicts every node by the best that the tree holds of it.
    pub fn predict(&self, tree: &Tree) -> TreePrediction {
        self.predict_knowing(tree, Known::Everything)
    }

    pub(crate) fn predict_knowing(&self, tree: &Tree, known: Known) -> TreePrediction {
        let predicted = self.core.predict(tree, known);
        let mut notes = BTreeSet::new();
        let nodes = tree
            .nodes
            .iter()
            .zip(predicted)
            .map(|(node, (children, glue, basis))| {
                let by_size = node.level == Level::Leaf && basis == Basis::SpecsOnly;
                if by_size {
                    notes.extend(self.core.leaves.note(&node.kind));
                }
                let is_outside = by_size && self.core.leaves.is_outside(tree, node);
                let energy = children + glue;
                let quantiles = match basis {
                    Basis::OwnMeasured => &self.own_measured,
                    Basis::MeasuredLeaves => &self.measured_leaves,
                    Basis::SpecsOnly => &self.specs_only,
                };
                let interval = quantiles.around(node.level, energy);
                NodePrediction {
                    scope: node.scope.clone(),
                    level: node.level,
                    energy,
                    children,
                    glue,
                    basis,
                    interval,
                    is_outside,
                }
            })
            .collect();
        let warnings = notes.into_iter().map(|note| Warning::new(tree.title(), note)).collect();
        TreePrediction { nodes, warnings }
    }

    /// The law of measured nodes, where the training data allowed one.
    pub fn law(&self) -> Option<PowerLaw> {
        self.core.law
    }

    /// By which share of themselves predictions by sizes were off, of nodes that were left out of the fit.
    pub fn left_out_error(&self, level: Level) -> Option<f64> {
        self.specs_only.mean_error(level)
    }

    /// Whether enough was measured to say how far predictions of whole models by their sizes are off.
    pub fn has_intervals(&self) -> bool {
        self.specs_only.around(Level::Model, Joules(1.0)).is_some()
    }

    /// What was learned of primitives by their sizes.
    pub fn leaves(&self) -> &SpecLeaves {
        &self.core.leaves
    }

    /// The glue that goes with leaves known by size.
    pub fn glue(&self) -> &Glue {
        &self.core.glue_of_sizes
    }
}
