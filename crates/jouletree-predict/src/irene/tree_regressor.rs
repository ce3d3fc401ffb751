//! The published regressor of inner nodes: the energy of a parent is the sum of its children's, each weighted by
//! `1 + tanh(w·x + b) / τ` with one shared `w` and `b` over the child's features (equations 3 and 4 of the paper).
//!
//! Layers repeat, and so do their features: a tree of 213 nodes has some twenty different rows of 680 terms. Weights and
//! gradients are computed once per different row, which is what makes the training take seconds.

use std::collections::{HashMap, HashSet};

use jouletree_model::Joules;
use serde::{Deserialize, Serialize};

use super::adam::Adam;
use super::error::IreneError;
use super::features::{FeatureSet, RootParameters, Standardiser, cubic};
use super::random::SeededGenerator;
use super::tree::{Level, Tree};

/// How far a weight may leave one: `1 ± 1/τ`.
const TAU: f64 = 10.0;
const EPOCHS: usize = 8;
const RATE: f64 = 1e-3;

/// How inner nodes are trained and predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Parents are trained on the predictions of their children.
    #[serde(rename = "end2end")]
    EndToEnd,
    /// Parents are trained on the measured energy of their children.
    Stepwise,
    /// Weights are one: nothing is trained.
    PredictedSum,
    /// No tree: a node is a linear function of its own features.
    Unstructured,
}

/// A tree as the regressor sees it.
#[derive(Debug, Clone)]
pub(crate) struct PreparedTree {
    /// The different rows of terms, one after another.
    rows: Vec<f64>,
    /// Which of them a node has.
    row_of: Vec<usize>,
    parents: Vec<Option<usize>>,
    inner: Vec<bool>,
    measured: Vec<f64>,
    /// Predictions of the leaves; zero elsewhere.
    leaves: Vec<f64>,
}

/// The standardisation of nodes, fitted once for all trees it is applied to.
#[derive(Debug, Clone)]
pub(crate) struct Preparation {
    features: FeatureSet,
    root: RootParameters,
    standardiser: Standardiser,
}

impl Preparation {
    /// Fitted on all nodes of the trees. Under the paper's rule, nodes of the same name in a tree count once.
    pub fn fit<'a>(
        trees: impl IntoIterator<Item = &'a Tree>,
        features: FeatureSet,
        root: RootParameters,
    ) -> Result<Preparation, IreneError> {
        let mut rows = Vec::new();
        for tree in trees {
            let mut seen = HashSet::new();
            for node in &tree.nodes {
                if root == RootParameters::Counted || seen.insert((&node.scope, &node.kind)) {
                    rows.push(features.of(tree, node, root)?);
                }
            }
        }
        if rows.is_empty() {
            return Err(IreneError::NothingToFit { what: "the tree regressor", needed: "nodes" });
        }
        Ok(Preparation { features, root, standardiser: Standardiser::fit(&rows) })
    }

    /// A tree with the energies of its leaves.
    pub fn apply(&self, tree: &Tree, leaves: &[Joules]) -> Result<PreparedTree, IreneError> {
        let mut rows = Vec::new();
        let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
        let mut row_of = Vec::with_capacity(tree.nodes.len());
        for node in &tree.nodes {
            let features = self.features.of(tree, node, self.root)?;
            let next = known.len();
            let row = *known.entry(features.iter().map(|value| value.to_bits()).collect()).or_insert(next);
            if row == next {
                rows.extend(cubic(&self.standardiser.apply(&features)));
            }
            row_of.push(row);
        }
        Ok(PreparedTree {
            rows,
            row_of,
            parents: tree.nodes.iter().map(|node| node.parent).collect(),
            inner: tree.nodes.iter().map(|node| node.level != Level::Leaf).collect(),
            measured: tree.nodes.iter().map(|node| node.measured.0).collect(),
            leaves: leaves.iter().map(|leaf| leaf.0).collect(),
        })
    }
}

/// The shared map from a child's features to its weight.
#[derive(Debug, Clone)]
pub struct TreeRegressor {
    strategy: Strategy,
    /// The slopes, and the constant at the end.
    unknowns: Vec<f64>,
}

/// Whose energy enters a parent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Children {
    Predicted,
    Measured,
}

impl TreeRegressor {
    /// Trains for eight rounds, one step per tree in the order given.
    pub(crate) fn train(
        trees: &[&PreparedTree],
        strategy: Strategy,
        mut random: SeededGenerator,
    ) -> Result<TreeRegressor, IreneError> {
        let terms = trees.first().map_or(0, |tree| tree.terms());
        if terms == 0 {
            return Err(IreneError::NothingToFit { what: "the tree regressor", needed: "nodes" });
        }
        let bound = 1.0 / (terms as f64).sqrt();
        let mut regressor =
            TreeRegressor { strategy, unknowns: (0..=terms).map(|_| random.uniform(bound)).collect() };
        if strategy == Strategy::PredictedSum {
            return Ok(regressor);
        }
        let mut adam = Adam::new(terms + 1, RATE);
        let mut gradient = vec![0.0; terms + 1];
        for _ in 0..EPOCHS {
            for tree in trees {
                regressor.loss_and_gradient(tree, &mut gradient);
                adam.step(&mut regressor.unknowns, &gradient);
            }
        }
        Ok(regressor)
    }

    /// The energy of every node, leaves as they were given.
    pub(crate) fn predict(&self, tree: &PreparedTree) -> Vec<Joules> {
        let scores = self.scores(tree);
        self.energies(tree, &scores, Children::Predicted).into_iter().map(Joules).collect()
    }

    fn scores(&self, tree: &PreparedTree) -> Vec<f64> {
        let terms = self.unknowns.len() - 1;
        let (slopes, constant) = (&self.unknowns[..terms], self.unknowns[terms]);
        tree.rows.chunks_exact(terms).map(|row| constant + dot(row, slopes)).collect()
    }

    fn weight(&self, score: f64) -> f64 {
        if self.strategy == Strategy::PredictedSum { 1.0 } else { 1.0 + score.tanh() / TAU }
    }

    fn energies(&self, tree: &PreparedTree, scores: &[f64], children: Children) -> Vec<f64> {
        let mut energies = tree.leaves.clone();
        if self.strategy == Strategy::Unstructured {
            for (place, energy) in energies.iter_mut().enumerate().filter(|(place, _)| tree.inner[*place]) {
                *energy = scores[tree.row_of[place]];
            }
            return energies;
        }
        let weights: Vec<f64> = scores.iter().map(|&score| self.weight(score)).collect();
        for place in 0..energies.len() {
            if let Some(parent) = tree.parents[place] {
                let own = if children == Children::Measured { tree.measured[place] } else { energies[place] };
                energies[parent] += weights[tree.row_of[place]] * own;
            }
        }
        energies
    }

    /// The sum of squared relative errors of the inner nodes; `gradient` is overwritten.
    fn loss_and_gradient(&self, tree: &PreparedTree, gradient: &mut [f64]) -> f64 {
        let terms = self.unknowns.len() - 1;
        let children = if self.strategy == Strategy::Stepwise { Children::Measured } else { Children::Predicted };
        let scores = self.scores(tree);
        let energies = self.energies(tree, &scores, children);
        let mut loss = 0.0;
        let mut by_energy = vec![0.0; energies.len()];
        let mut by_score = vec![0.0; scores.len()];
        for place in (0..energies.len()).rev() {
            let row = tree.row_of[place];
            if tree.inner[place] {
                let gold = tree.measured[place];
                let error = (energies[place] - gold) / gold;
                loss += error * error;
                by_energy[place] += 2.0 * error / gold;
            }
            if self.strategy == Strategy::Unstructured {
                if tree.inner[place] {
                    by_score[row] += by_energy[place];
                }
            } else if let Some(parent) = tree.parents[place] {
                let above = by_energy[parent];
                let tangent = scores[row].tanh();
                let own = if children == Children::Measured { tree.measured[place] } else { energies[place] };
                by_score[row] += above * own * (1.0 - tangent * tangent) / TAU;
                if children == Children::Predicted {
                    by_energy[place] += above * self.weight(scores[row]);
                }
            }
        }
        gradient.fill(0.0);
        for (row, slope) in tree.rows.chunks_exact(terms).zip(&by_score) {
            for (sum, term) in gradient[..terms].iter_mut().zip(row) {
                *sum += slope * term;
            }
            gradient[terms] += slope;
        }
        loss
    }
}

impl PreparedTree {
    fn terms(&self) -> usize {
        let different = self.row_of.iter().max().map_or(1, |last| last + 1);
        self.rows.len() / different
    }
}

/// Eight sums side by side, which the compiler turns into wide instructions.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a_wide, b_wide) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a_wide.remainder().iter().zip(b_wide.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a_wide.zip(b_wide) {
        for lane in 0..8 {
            sums[lane] += x[lane] * y[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two leaves below a module, the module and a third leaf below the root; five different rows of three terms.
    fn small() -> PreparedTree {
        PreparedTree {
            rows: vec![1.0, 0.2, -0.4, 1.0, -0.7, 0.3, 1.0, 0.5, 0.9, 1.0, -0.1, -0.8, 1.0, 1.1, 0.6],
            row_of: vec![0, 1, 2, 3, 4],
            parents: vec![Some(2), Some(2), Some(4), Some(4), None],
            inner: vec![false, false, true, false, true],
            measured: vec![1.0, 2.0, 3.6, 0.5, 4.4],
            leaves: vec![1.1, 1.9, 0.0, 0.52, 0.0],
        }
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        for strategy in [Strategy::EndToEnd, Strategy::Stepwise, Strategy::Unstructured] {
            let tree = small();
            let regressor = TreeRegressor { strategy, unknowns: vec![0.3, -0.5, 0.8, 0.1] };
            let mut gradient = vec![0.0; 4];
            regressor.loss_and_gradient(&tree, &mut gradient);
            for (place, slope) in gradient.iter().enumerate() {
                let at = |change: f64| {
                    let mut moved = regressor.clone();
                    moved.unknowns[place] += change;
                    moved.loss_and_gradient(&tree, &mut [0.0; 4])
                };
                let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
                let scale = slope.abs().max(1e-3);
                assert!((slope - difference).abs() / scale < 1e-6, "{strategy:?} {place}");
            }
        }
    }

    #[test]
    fn weights_of_one_add_the_leaves_up() {
        let regressor = TreeRegressor { strategy: Strategy::PredictedSum, unknowns: vec![0.3, -0.5, 0.8, 0.1] };
        let energies = regressor.predict(&small());
        assert!((energies[2].0 - 3.0).abs() < 1e-12 && (energies[4].0 - 3.52).abs() < 1e-12);
    }

    #[test]
    fn a_weight_never_leaves_its_bounds() {
        let regressor = TreeRegressor { strategy: Strategy::EndToEnd, unknowns: vec![90.0, -500.0, 80.0, 10.0] };
        let energies = regressor.predict(&small());
        assert!(energies[2].0 >= 0.9 * 3.0 - 1e-12 && energies[2].0 <= 1.1 * 3.0 + 1e-12);
    }

    #[test]
    fn training_lowers_the_loss() {
        let tree = small();
        let trees = vec![&tree; 60];
        let trained = TreeRegressor::train(&trees, Strategy::EndToEnd, SeededGenerator::new(1, 0)).unwrap();
        let mut random = SeededGenerator::new(1, 0);
        let fresh = TreeRegressor {
            strategy: Strategy::EndToEnd,
            unknowns: (0..4).map(|_| random.uniform(1.0 / 3f64.sqrt())).collect(),
        };
        let mut unused = vec![0.0; 4];
        assert!(trained.loss_and_gradient(&tree, &mut unused) < fresh.loss_and_gradient(&tree, &mut unused));
    }
}
