//! Intervals from errors on models that were left out of a fit (cross-conformal), for each level by itself: a leaf and a
//! whole model err for different reasons.
//!
//! The promise holds for a model that resembles those measured as they resemble each other; with a handful of models
//! it is an estimate and no guarantee.

use jouletree_model::{Interval, Joules, PREDICTION_LEVEL, PredictionInterval};
use serde::{Deserialize, Serialize};

use super::tree::Level;

/// The share of nodes that an interval should hold.
pub(crate) const COVERAGE: f64 = PREDICTION_LEVEL as f64 / 100.0;

/// Relative half-widths per level; `None` where there was too little data.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct LevelQuantiles {
    leaf: Option<f64>,
    module: Option<f64>,
    model: Option<f64>,
    /// Mean errors of leaves, modules and models.
    #[serde(default)]
    means: [Option<f64>; 3],
}

/// Relative errors of nodes that were left out, by level.
#[derive(Debug, Clone, Default)]
pub(crate) struct LeftOutErrors {
    by_level: [Vec<f64>; 3],
}

impl LeftOutErrors {
    pub fn add(&mut self, level: Level, predicted: Joules, measured: Joules) {
        if measured.0 <= 0.0 {
            return;
        }
        let error = (measured - predicted).0.abs() / predicted.0.abs().max(f64::MIN_POSITIVE);
        self.by_level[level as usize].push(error);
    }

    pub fn quantiles(mut self) -> LevelQuantiles {
        let mean =
            |errors: &Vec<f64>| (!errors.is_empty()).then(|| errors.iter().sum::<f64>() / errors.len() as f64);
        let means = [0, 1, 2].map(|level| mean(&self.by_level[level]));
        let [leaf, module, model] = [0, 1, 2].map(|level| quantile(&mut self.by_level[level], COVERAGE));
        LevelQuantiles { leaf, module, model, means }
    }
}

impl LevelQuantiles {
    /// By which share of themselves predictions of what was left out were off, in the mean.
    pub fn mean_error(&self, level: Level) -> Option<f64> {
        self.means[level as usize]
    }

    /// The interval around a prediction.
    pub fn around(&self, level: Level, predicted: Joules) -> Option<PredictionInterval> {
        let half = match level {
            Level::Leaf => self.leaf,
            Level::Module => self.module,
            Level::Model => self.model,
        }?;
        let low = Joules((predicted.0 * (1.0 - half)).max(0.0));
        Some(Interval { low, high: Joules(predicted.0 * (1.0 + half)) })
    }
}

/// The smallest error that is at least as large as the wanted share of all, the coming one included.
fn quantile(errors: &mut [f64], coverage: f64) -> Option<f64> {
    let rank = ((errors.len() as f64 + 1.0) * coverage).ceil() as usize;
    if rank == 0 || rank > errors.len() {
        return None;
    }
    errors.sort_by(f64::total_cmp);
    Some(errors[rank - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_counts_the_coming_error_too() {
        let mut errors: Vec<f64> = (1..=9).map(f64::from).collect();
        assert_eq!(quantile(&mut errors, 0.9), Some(9.0));
        let mut errors: Vec<f64> = (1..=19).map(f64::from).collect();
        assert_eq!(quantile(&mut errors, 0.9), Some(18.0));
    }

    #[test]
    fn too_few_errors_give_no_interval() {
        assert_eq!(quantile(&mut [0.1; 8], 0.9), None);
        assert_eq!(LeftOutErrors::default().quantiles().around(Level::Model, Joules(1.0)), None);
    }

    #[test]
    fn an_interval_holds_its_prediction_and_nothing_negative() {
        let mut errors = LeftOutErrors::default();
        for _ in 0..20 {
            errors.add(Level::Module, Joules(1.0), Joules(3.0));
        }
        let interval = errors.quantiles().around(Level::Module, Joules(10.0)).unwrap();
        assert_eq!(interval, Interval { low: Joules(0.0), high: Joules(30.0) });
    }
}
