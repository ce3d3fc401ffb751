//! The published regressors of primitives: one line of least squares per kind, on standardised features, in joules.

use std::collections::BTreeMap;

use jouletree_model::Joules;
use nalgebra::{DMatrix, DVector};

use super::error::IreneError;
use super::features::{FeatureSet, RootParameters, Standardiser};
use super::linear::least_squares;
use super::tree::{Level, Node, Tree};

/// Kinds that do the same work under another name, in the order in which one replaces another.
const KIN: [&[&str]; 2] =
    [&["linear", "conv1d"], &["layernorm", "softmax", "tanh", "gelu", "relu", "sigmoid", "dropout"]];

/// The kind whose fit serves `kind`: itself, the next of its kin, or none.
pub(crate) fn stand_in<'a, T>(fits: &'a BTreeMap<String, T>, kind: &str) -> Option<(&'a str, &'a T)> {
    let own = fits.get_key_value(kind);
    own.or_else(|| {
        let kin = KIN.iter().find(|kin| kin.contains(&kind))?;
        kin.iter().find_map(|other| fits.get_key_value(*other))
    })
    .map(|(name, fit)| (name.as_str(), fit))
}

/// What to predict for kinds that were never seen.
pub(crate) fn stand_in_note<T>(fits: &BTreeMap<String, T>, kind: &str) -> Option<String> {
    match stand_in(fits, kind) {
        Some((name, _)) if name == kind => None,
        Some((name, _)) => Some(format!("`{kind}` was never measured in training; it is predicted as `{name}`")),
        None => Some(format!(
            "`{kind}` was never measured in training and nothing like it was; it is predicted by the fit over all kinds"
        )),
    }
}

#[derive(Debug, Clone)]
struct Line {
    standardiser: Standardiser,
    slopes: DVector<f64>,
    constant: f64,
}

impl Line {
    fn fit(rows: &[Vec<f64>], energies: &[f64], kind: &str) -> Result<Line, IreneError> {
        let standardiser = Standardiser::fit(rows);
        let columns = rows.first().map_or(0, Vec::len);
        let mut matrix = DMatrix::zeros(rows.len(), columns);
        for (i, row) in rows.iter().enumerate() {
            for (j, value) in standardiser.apply(row).into_iter().enumerate() {
                matrix[(i, j)] = value;
            }
        }
        // Standardised columns have mean nought, so the constant is the mean and leaves the slopes alone.
        let constant = energies.iter().sum::<f64>() / energies.len() as f64;
        let targets = DVector::from_iterator(energies.len(), energies.iter().map(|energy| energy - constant));
        let slopes = least_squares(matrix, &targets, &format!("the kind `{kind}`"))?;
        Ok(Line { standardiser, slopes, constant })
    }

    fn predict(&self, row: &[f64]) -> f64 {
        let standard = self.standardiser.apply(row);
        self.constant + standard.iter().zip(self.slopes.iter()).map(|(value, slope)| value * slope).sum::<f64>()
    }
}

/// One regressor per kind of primitive.
#[derive(Debug, Clone)]
pub struct LeafRegressors {
    features: FeatureSet,
    lines: BTreeMap<String, Line>,
    pooled: Line,
}

impl LeafRegressors {
    /// Fits every kind on all its rows, repeated layers counting as often as they repeat, as published.
    pub fn fit<'a>(
        trees: impl IntoIterator<Item = &'a Tree>,
        features: FeatureSet,
    ) -> Result<LeafRegressors, IreneError> {
        let mut groups: BTreeMap<&str, (Vec<Vec<f64>>, Vec<f64>)> = BTreeMap::new();
        for tree in trees {
            for node in tree.nodes.iter().filter(|node| node.level == Level::Leaf) {
                let (rows, energies) = groups.entry(&node.kind).or_default();
                rows.push(features.of(tree, node, RootParameters::Counted)?);
                energies.push(node.measured.0);
            }
        }
        if groups.is_empty() {
            return Err(IreneError::NothingToFit { what: "the regressors of primitives", needed: "primitives" });
        }
        let mut lines = BTreeMap::new();
        let (mut all_rows, mut all_energies) = (Vec::new(), Vec::new());
        for (kind, (rows, energies)) in groups {
            lines.insert(kind.to_owned(), Line::fit(&rows, &energies, kind)?);
            all_rows.extend(rows);
            all_energies.extend(energies);
        }
        let pooled = Line::fit(&all_rows, &all_energies, "all kinds")?;
        Ok(LeafRegressors { features, lines, pooled })
    }

    /// The energy of a primitive.
    pub fn predict(&self, tree: &Tree, node: &Node) -> Result<Joules, IreneError> {
        let row = self.features.of(tree, node, RootParameters::Counted)?;
        let line = stand_in(&self.lines, &node.kind).map_or(&self.pooled, |(_, line)| line);
        Ok(Joules(line.predict(&row)))
    }

    /// What is done about a kind that no regressor was fitted for.
    pub fn note(&self, kind: &str) -> Option<String> {
        stand_in_note(&self.lines, kind)
    }
}
