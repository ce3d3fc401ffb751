//! The predictors of Getzner et al. (2023), as published: ordinary least squares, one for each kind of layer.
//!
//! They are kept with their fault. A fit on joules over seven powers of ten has an intercept that is small beside the
//! largest layers and far larger than whole networks; a sum over a network's layers adds it once for each.

use std::collections::BTreeMap;

use jouletree_model::Joules;

use super::split::shuffled;
use super::squares::Linear;
use super::{Layer, LayerKind, LayerTable, MeasuredLayer, linear_r2};

/// The seed of the published split.
const SEED: u32 = 1234;
/// Folds of the published cross-validation.
const FOLDS: usize = 10;

/// Published predictors of all kinds of layers that were measured.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PublishedModel {
    /// One for each kind.
    pub kinds: BTreeMap<LayerKind, PublishedPredictor>,
}

/// The published predictor of one kind, with its published scores.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedPredictor {
    line: Linear,
    /// The rows that it was tested on: measured and predicted joules.
    pub tested: Vec<(f64, f64)>,
    /// The mean squared error on them, where training energies are scaled to reach from 0 to 1.
    pub scaled_mse: f64,
    /// The mean share of explained variance over ten folds of the rows it was fitted on.
    pub cross_validated_r2: f64,
}

impl PublishedModel {
    /// Fits each table on 70 % of its rows, after one shuffle, and tests on the last 10 %; what is between was only looked at.
    pub fn fit(tables: &[LayerTable]) -> PublishedModel {
        let fits = tables.iter().filter_map(|table| Some((table.kind, PublishedPredictor::fit(table)?)));
        PublishedModel { kinds: fits.collect() }
    }

    /// The energy of a layer, negative ones not excluded; `None` when no such layer was measured.
    pub fn predict(&self, layer: &Layer) -> Option<Joules> {
        self.kinds.get(&layer.kind)?.predict(layer)
    }
}

impl PublishedPredictor {
    fn fit(table: &LayerTable) -> Option<PublishedPredictor> {
        let order = shuffled(table.rows.len(), SEED);
        // As published, with what floating point makes of it: 0.7 times 90 is less than 63.
        let part = |share: f64| (share * order.len() as f64) as usize;
        let rows: Vec<&MeasuredLayer> = order.iter().map(|index| &table.rows[*index]).collect();
        let (train, test) = (rows.get(..part(0.7))?, rows.get(part(0.9)..)?);
        let line = fit(train)?;
        let tested = predicted(&line, test);
        let energies = || train.iter().map(|row| row.energy.0);
        let range = energies().fold(f64::NEG_INFINITY, f64::max) - energies().fold(f64::INFINITY, f64::min);
        let squares: f64 = tested.iter().map(|(truth, guess)| ((truth - guess) / range).powi(2)).sum();
        let scaled_mse = squares / tested.len() as f64;
        let cross_validated_r2 = cross_validated(train)?;
        Some(PublishedPredictor { line, tested, scaled_mse, cross_validated_r2 })
    }

    /// The energy of a layer of its kind.
    fn predict(&self, layer: &Layer) -> Option<Joules> {
        Some(Joules(self.line.at(&features(layer)?)))
    }

    /// What it adds for a layer without any work: the fault.
    pub fn intercept(&self) -> Joules {
        Joules(self.line.intercept())
    }
}

fn fit(rows: &[&MeasuredLayer]) -> Option<Linear> {
    let table: Option<Vec<Vec<f64>>> = rows.iter().map(|row| features(&row.layer)).collect();
    let energies: Vec<f64> = rows.iter().map(|row| row.energy.0).collect();
    Linear::fit(&table?, &energies)
}

fn predicted(line: &Linear, rows: &[&MeasuredLayer]) -> Vec<(f64, f64)> {
    rows.iter().filter_map(|row| Some((row.energy.0, line.at(&features(&row.layer)?)))).collect()
}

fn cross_validated(train: &[&MeasuredLayer]) -> Option<f64> {
    let mut scores = Vec::new();
    let (each, more) = (train.len() / FOLDS, train.len() % FOLDS);
    for fold in 0..FOLDS {
        // The first folds have one row more, where rows cannot be split evenly.
        let [start, end] = [fold, fold + 1].map(|fold| fold * each + fold.min(more));
        let kept: Vec<&MeasuredLayer> = [train.get(..start)?, train.get(end..)?].concat();
        let held = predicted(&fit(&kept)?, train.get(start..end)?);
        // A fold of one row has no variance to explain.
        if held.len() > 1 {
            scores.push(linear_r2(&held));
        }
    }
    (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64)
}

/// The published features of a layer.
fn features(layer: &Layer) -> Option<Vec<f64>> {
    let values: Vec<f64> = layer.values.iter().map(|value| *value as f64).collect();
    Some(match layer.kind {
        LayerKind::Conv2d | LayerKind::Linear | LayerKind::Relu => vec![macs(layer)?],
        LayerKind::MaxPool2d => {
            let logs = values.iter().map(|value| value.ln_1p());
            let single: Vec<f64> = values.iter().copied().chain(logs).chain([macs(layer)?]).collect();
            with_products(&single, false)
        }
        LayerKind::Sigmoid | LayerKind::Softmax => with_products(&values, false),
        LayerKind::Tanh => with_products(&values, true),
    })
}

/// The published count of multiply-accumulates: one more for each biased output, and half of a pooling window's taps.
fn macs(layer: &Layer) -> Option<f64> {
    let operator = layer.operator().ok()?;
    let count = operator.count();
    Some(match layer.kind {
        LayerKind::MaxPool2d => count.sum as f64 / 2.0,
        _ => count.sum as f64,
    })
}

/// Features, and products of any two; squares only when asked for.
fn with_products(single: &[f64], has_squares: bool) -> Vec<f64> {
    let mut all = single.to_vec();
    for (index, first) in single.iter().enumerate() {
        let others = if has_squares { single.get(index..) } else { single.get(index + 1..) };
        all.extend(others.unwrap_or_default().iter().map(|second| first * second));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(kind: LayerKind, values: &[u64]) -> Layer {
        Layer { kind, values: values.to_vec() }
    }

    #[test]
    fn macs_are_counted_as_published() {
        let counted = |kind, values: &[u64]| macs(&layer(kind, values)).unwrap();
        assert_eq!(counted(LayerKind::Conv2d, &[123, 127, 7, 80, 29, 1, 2]), 218_534_484_375.0);
        assert_eq!(counted(LayerKind::Linear, &[472, 4645, 1920]), 4_210_391_040.0);
        assert_eq!(counted(LayerKind::Relu, &[511, 4_964_807]), 2_537_016_377.0);
        assert_eq!(counted(LayerKind::MaxPool2d, &[110, 152, 6, 493, 5, 3]), 938_070_540.0);
    }

    #[test]
    fn features_are_the_published_ones() {
        assert_eq!(features(&layer(LayerKind::Sigmoid, &[2, 3])).unwrap(), [2.0, 3.0, 6.0]);
        assert_eq!(features(&layer(LayerKind::Tanh, &[2, 3])).unwrap(), [2.0, 3.0, 4.0, 6.0, 9.0]);
        let pool = features(&layer(LayerKind::MaxPool2d, &[1, 8, 2, 3, 2, 0])).unwrap();
        assert_eq!(pool.len(), 13 + 78);
    }
}
