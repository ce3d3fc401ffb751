//! The additive model: energy as a sum of work and traffic, with costs that are never negative.
//!
//! Costs are fitted on the relative error, in absolute value, so that a small layer counts as much as a large one and a
//! few that behave otherwise do not bend the rest. Intervals are conformal: each layer is predicted by a fit that has
//! not seen its fold, and how far these predictions miss says how far others will.

use std::collections::BTreeMap;

use jouletree_model::Joules;
use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

use super::columns::columns;
use super::split::{FOLDS, SplitSide, part_of};
use super::{Column, LayerKind, LayerTable, MeasuredLayer, Unit};
use crate::non_negative::NormalEquations;
use crate::operators::{Operator, Shape};

/// The share of layers that an interval is meant to hold.
const LEVEL: f64 = 0.9;
/// Errors below this count alike: they are the noise of the measurement.
const NOISE: f64 = 0.01;
/// Rounds in which least squares turn into least absolute errors.
const ROUNDS: usize = 10;
/// Fewer layers than this say nothing about intervals.
const FEWEST: usize = 20;

/// Predictors of all kinds of layers that were measured.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AdditiveModel {
    /// One for each kind.
    pub kinds: BTreeMap<LayerKind, KindModel>,
}

/// The predictor of one kind of layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KindModel {
    /// What each unit of work or traffic costs.
    pub coefficients: Vec<Coefficient>,
    /// The share of layers that intervals are meant to hold.
    pub level: f64,
    /// Intervals reach from the prediction divided by this to the prediction times this.
    pub interval_factor: f64,
    /// How many layers it was fitted on.
    pub layers: usize,
}

/// The cost of one column, and the amounts of it that were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Coefficient {
    /// What it counts.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// What one of it costs; never negative.
    pub joules: f64,
    /// The least amount among the layers of the fit.
    pub least: f64,
    /// The largest amount.
    pub most: f64,
}

/// A predicted energy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// The prediction.
    #[serde(rename = "energy_j")]
    pub energy: Joules,
    /// The lower end of the interval.
    #[serde(rename = "low_j")]
    pub low: Joules,
    /// The upper end of the interval.
    #[serde(rename = "high_j")]
    pub high: Joules,
    /// In what the layer lies outside of the measured ones; empty when it does not.
    pub outside: Vec<String>,
}

/// A table that no model can be fitted on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// Too few layers.
    #[error("{kind}: {layers} measured layers are too few to fit and to check a model; measure at least {FEWEST}")]
    TooFew {
        /// The kind.
        kind: LayerKind,
        /// How many there are.
        layers: usize,
    },
    /// Least squares have no solution.
    #[error("{0}: its measured layers are too alike to be fitted; measure layers of different sizes")]
    Alike(LayerKind),
}

impl AdditiveModel {
    /// Fits a predictor on each table, using the rows that `is_used` picks.
    pub fn fit(
        tables: &[LayerTable],
        is_used: impl Fn(&MeasuredLayer) -> bool,
    ) -> Result<AdditiveModel, FitError> {
        let mut model = AdditiveModel::default();
        for table in tables {
            let rows: Vec<&MeasuredLayer> = table.rows.iter().filter(|row| is_used(row)).collect();
            model.kinds.insert(table.kind, KindModel::fit(table.kind, &rows)?);
        }
        Ok(model)
    }

    /// The energy of an operator; `None` when no such layer was measured. A mere view of a tensor takes none.
    pub fn predict(&self, operator: &Operator) -> Option<Prediction> {
        if let Shape::View { .. } = operator.shape() {
            return Some(Prediction {
                energy: Joules(0.0),
                low: Joules(0.0),
                high: Joules(0.0),
                outside: Vec::new(),
            });
        }
        let (kind, columns) = columns(operator)?;
        let model = self.kinds.get(&kind)?;
        Some(model.predict(&columns))
    }
}

impl KindModel {
    fn fit(kind: LayerKind, rows: &[&MeasuredLayer]) -> Result<KindModel, FitError> {
        // Rows without columns do not occur: every row of a table is an operator of the table's kind.
        let rows: Vec<(Vec<Column>, &MeasuredLayer)> =
            rows.iter().filter_map(|row| columns(&row.operator).map(|(_, columns)| (columns, *row))).collect();
        if rows.len() < FEWEST {
            return Err(FitError::TooFew { kind, layers: rows.len() });
        }
        let amounts: Vec<Vec<f64>> =
            rows.iter().map(|(c, _)| c.iter().map(|column| column.amount).collect()).collect();
        let energies: Vec<f64> = rows.iter().map(|(_, row)| row.energy.0).collect();
        let folds: Vec<u64> = rows.iter().map(|(_, row)| fold_of(row)).collect();
        let all: Vec<usize> = (0..rows.len()).collect();
        let costs = costs(&amounts, &energies, &all).ok_or(FitError::Alike(kind))?;
        let mut misses = Vec::with_capacity(rows.len());
        for fold in 0..FOLDS {
            let (held, kept): (Vec<usize>, Vec<usize>) = all.iter().partition(|index| folds[**index] == fold);
            let Some(costs) = self::costs(&amounts, &energies, &kept) else { continue };
            misses
                .extend(held.iter().map(|index| (total(&costs, &amounts[*index]) / energies[*index]).ln().abs()));
        }
        let coefficients = rows[0].0.iter().enumerate().map(|(index, column)| {
            let values = amounts.iter().map(|row| row[index]);
            Coefficient {
                name: column.name.to_owned(),
                unit: column.unit,
                joules: costs[index],
                least: values.clone().fold(f64::INFINITY, f64::min),
                most: values.fold(0.0, f64::max),
            }
        });
        Ok(KindModel {
            coefficients: coefficients.collect(),
            level: LEVEL,
            interval_factor: quantile(misses, LEVEL).exp(),
            layers: rows.len(),
        })
    }

    fn predict(&self, columns: &[Column]) -> Prediction {
        // By name, not by place: a model may have been written by an earlier version.
        let amount = |coefficient: &Coefficient| {
            columns.iter().find(|column| column.name == coefficient.name).map_or(0.0, |column| column.amount)
        };
        let amounts: Vec<f64> = self.coefficients.iter().map(amount).collect();
        let pairs = || self.coefficients.iter().zip(&amounts);
        let energy: f64 = pairs().map(|(coefficient, amount)| coefficient.joules * amount).sum();
        // An amount of zero means that the column does not apply, which is nothing unusual.
        let is_outside = |(coefficient, amount): &(&Coefficient, &f64)| {
            **amount > coefficient.most || (**amount < coefficient.least && **amount > 0.0)
        };
        let outside = pairs().filter(is_outside).map(|(coefficient, amount)| {
            format!(
                "{} of {amount:.3e}, measured from {:.3e} to {:.3e}",
                coefficient.name, coefficient.least, coefficient.most
            )
        });
        Prediction {
            energy: Joules(energy),
            low: Joules(energy / self.interval_factor),
            high: Joules(energy * self.interval_factor),
            outside: outside.collect(),
        }
    }
}

/// The fold of a layer; held-out layers are split like the others, for fits that use all.
fn fold_of(row: &MeasuredLayer) -> u64 {
    match part_of(&row.layer.key()) {
        SplitSide::Train(fold) => fold,
        SplitSide::Test => row.layer.values.iter().sum::<u64>() % FOLDS,
    }
}

fn total(costs: &[f64], amounts: &[f64]) -> f64 {
    costs.iter().zip(amounts).map(|(cost, amount)| cost * amount).sum()
}

/// The costs with the least absolute relative error over some rows, by least squares that are weighted anew each round.
fn costs(amounts: &[Vec<f64>], energies: &[f64], chosen: &[usize]) -> Option<Vec<f64>> {
    let width = amounts.first()?.len();
    let mut weights = vec![1.0; chosen.len()];
    let mut costs = vec![0.0; width];
    for _ in 0..ROUNDS {
        let matrix = DMatrix::from_fn(chosen.len(), width, |row, column| {
            weights[row] * amounts[chosen[row]][column] / energies[chosen[row]]
        });
        costs = NormalEquations::of(&matrix, &DVector::from_column_slice(&weights)).solve_non_negative();
        for (weight, index) in weights.iter_mut().zip(chosen) {
            let error = (1.0 - total(&costs, &amounts[*index]) / energies[*index]).abs();
            *weight = 1.0 / error.max(NOISE).sqrt();
        }
    }
    costs.iter().any(|cost| *cost > 0.0).then_some(costs)
}

/// The conformal quantile: the value that a further one stays below with this probability.
fn quantile(mut values: Vec<f64>, level: f64) -> f64 {
    values.retain(|value| !value.is_nan());
    values.sort_by(f64::total_cmp);
    let rank = ((values.len() + 1) as f64 * level).ceil() as usize;
    values.get(rank.max(1) - 1).or(values.last()).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::Layer;

    /// Dense layers of a machine that follows the model, with an error of up to `spread`.
    fn table(spread: f64) -> LayerTable {
        let mut rows = Vec::new();
        for index in 0_u64..400 {
            let values = vec![1 + index * 7 % 97, 1 + index * 131 % 1999, 2 + index * 173 % 1499];
            let layer = Layer { kind: LayerKind::Linear, values };
            let operator = layer.operator().unwrap();
            let (_, columns) = columns(&operator).unwrap();
            let truth = 2e-9 * columns[0].amount + 3e-9 * columns[1].amount + 0.004;
            let error = 1.0 + spread * ((index * 61 % 101) as f64 / 50.0 - 1.0);
            rows.push(MeasuredLayer { layer, operator, energy: Joules(truth * error), session: String::new() });
        }
        LayerTable { kind: LayerKind::Linear, rows }
    }

    fn fitted(spread: f64) -> KindModel {
        AdditiveModel::fit(&[table(spread)], |_| true).unwrap().kinds.remove(&LayerKind::Linear).unwrap()
    }

    #[test]
    fn costs_of_a_machine_that_follows_the_model_are_found() {
        let model = fitted(0.0);
        let cost = |name: &str| model.coefficients.iter().find(|c| c.name == name).unwrap().joules;
        assert!((cost("MACs") / 2e-9 - 1.0).abs() < 1e-3, "{model:?}");
        assert!((cost("weights") / 3e-9 - 1.0).abs() < 1e-2, "{model:?}");
        assert!((cost("calls") / 0.004 - 1.0).abs() < 1e-2, "{model:?}");
        assert!(model.interval_factor < 1.001);
    }

    #[test]
    fn intervals_hold_as_many_as_they_promise() {
        let table = table(0.3);
        let is_train = |row: &MeasuredLayer| part_of(&row.layer.key()) != SplitSide::Test;
        let model = AdditiveModel::fit(std::slice::from_ref(&table), is_train).unwrap();
        let held: Vec<&MeasuredLayer> = table.rows.iter().filter(|row| !is_train(row)).collect();
        let hits = held.iter().filter(|row| {
            let prediction = model.predict(&row.operator).unwrap();
            prediction.low <= row.energy && row.energy <= prediction.high
        });
        let share = hits.count() as f64 / held.len() as f64;
        assert!((0.8..=1.0).contains(&share), "{share}");
    }

    #[test]
    fn what_lies_outside_is_said() {
        let model = AdditiveModel::fit(&[table(0.0)], |_| true).unwrap();
        let predict = |inputs| {
            let shape = Shape::Dense { rows: 10, inputs, outputs: 100, bias: true };
            model.predict(&Operator::new("x", shape).unwrap()).unwrap()
        };
        assert!(predict(500).outside.is_empty());
        assert!(predict(500_000_000).outside.iter().any(|what| what.starts_with("MACs")));
        let gelu = Operator::new("x", Shape::Gelu { elements: 4 }).unwrap();
        assert_eq!(model.predict(&gelu), None);
    }

    #[test]
    fn too_few_layers_are_refused() {
        let mut few = table(0.0);
        few.rows.truncate(5);
        let error = AdditiveModel::fit(&[few], |_| true).unwrap_err().to_string();
        assert!(error.contains("5 measured layers are too few"), "{error}");
    }

    #[test]
    fn the_quantile_is_conformal() {
        assert_eq!(quantile((1..=9).map(f64::from).collect(), 0.9), 9.0);
        assert_eq!(quantile((1..=99).map(f64::from).collect(), 0.9), 90.0);
        assert_eq!(quantile(Vec::new(), 0.9), 0.0);
    }
}
