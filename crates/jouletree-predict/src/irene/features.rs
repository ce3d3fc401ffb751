//! The numbers a node is described by, their standardisation, and their products up to the third degree.

use serde::{Deserialize, Serialize};

use super::error::IreneError;
use super::tree::{Level, Node, Tree};

/// Which groups of features a predictor may look at. Parameters and tokens belong to every group, as published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FeatureSet {
    /// Sizes and measured resources: 14 features.
    Full,
    /// Sizes only: 6 features.
    Specs,
    /// Measured resources only: 10 features.
    Resources,
}

/// How the published root's parameters are counted: its first code gave the root none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RootParameters {
    /// As the paper's figures were made.
    Zero,
    /// As they are.
    Counted,
}

impl FeatureSet {
    /// All of them.
    pub const ALL: [FeatureSet; 3] = [FeatureSet::Full, FeatureSet::Specs, FeatureSet::Resources];

    /// How it is called in output.
    pub fn name(self) -> &'static str {
        match self {
            FeatureSet::Full => "full",
            FeatureSet::Specs => "specs",
            FeatureSet::Resources => "resources",
        }
    }

    /// The features of a node in the published order.
    pub(crate) fn of(self, tree: &Tree, node: &Node, root: RootParameters) -> Result<Vec<f64>, IreneError> {
        let parameters =
            if node.level == Level::Model && root == RootParameters::Zero { 0.0 } else { node.specs.parameters };
        let mut features = vec![parameters, tree.tokens()];
        if self != FeatureSet::Resources {
            features.extend([tree.batch_size, tree.seq_len, node.specs.megaflops, node.specs.mebibytes]);
        }
        if self != FeatureSet::Specs {
            let seen = node
                .resources
                .ok_or_else(|| IreneError::NoResources { model: tree.model.clone(), scope: node.scope.clone() })?;
            features.extend([seen.cpu, seen.mem, seen.gpu, seen.gpu_mem, seen.gpu_clk, seen.gpu_mem_clk]);
            features.extend([seen.time.0, seen.device_energy.0]);
        }
        Ok(features)
    }
}

/// Mean and spread of each feature.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Standardiser {
    means: Vec<f64>,
    spreads: Vec<f64>,
}

impl Standardiser {
    /// Fitted on all rows; a feature that never changes keeps its scale.
    pub fn fit(rows: &[Vec<f64>]) -> Standardiser {
        let columns = rows.first().map_or(0, Vec::len);
        let count = rows.len() as f64;
        let mut means = vec![0.0; columns];
        for row in rows {
            for (mean, value) in means.iter_mut().zip(row) {
                *mean += value / count;
            }
        }
        let mut spreads = vec![0.0; columns];
        for row in rows {
            for ((spread, mean), value) in spreads.iter_mut().zip(&means).zip(row) {
                *spread += (value - mean) * (value - mean) / count;
            }
        }
        for (spread, mean) in spreads.iter_mut().zip(&means) {
            let root = spread.sqrt();
            // Below this the spread is what rounding leaves of a constant.
            *spread = if root <= 1e-12 * mean.abs() { 1.0 } else { root };
        }
        Standardiser { means, spreads }
    }

    pub fn apply(&self, row: &[f64]) -> Vec<f64> {
        row.iter()
            .zip(&self.means)
            .zip(&self.spreads)
            .map(|((value, mean), spread)| (value - mean) / spread)
            .collect()
    }
}

/// The constant, the values, and all products of two and of three of them.
pub(crate) fn cubic(values: &[f64]) -> Vec<f64> {
    let count = values.len();
    let mut terms = Vec::with_capacity((count + 1) * (count + 2) * (count + 3) / 6);
    terms.push(1.0);
    for i in 0..count {
        terms.push(values[i]);
        for j in i..count {
            let pair = values[i] * values[j];
            terms.push(pair);
            terms.extend(values[j..].iter().map(|third| pair * third));
        }
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_terms_as_published() {
        for (features, terms) in [(14, 680), (10, 286), (6, 84)] {
            assert_eq!(cubic(&vec![1.0; features]).len(), terms);
        }
    }

    #[test]
    fn terms_of_two_values_are_all_monomials() {
        let mut terms = cubic(&[2.0, 3.0]);
        terms.sort_by(f64::total_cmp);
        assert_eq!(terms, [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 9.0, 12.0, 18.0, 27.0]);
    }

    #[test]
    fn standardised_columns_have_mean_nought_and_spread_one() {
        let rows = vec![vec![1.0, 3802.0], vec![2.0, 3802.0], vec![6.0, 3802.0]];
        let fitted = Standardiser::fit(&rows);
        let new: Vec<Vec<f64>> = rows.iter().map(|row| fitted.apply(row)).collect();
        assert!(new.iter().map(|row| row[0]).sum::<f64>().abs() < 1e-12);
        assert!((new.iter().map(|row| row[0] * row[0]).sum::<f64>() / 3.0 - 1.0).abs() < 1e-12);
        assert!(new.iter().all(|row| row[1].abs() < 1e-9));
    }
}
