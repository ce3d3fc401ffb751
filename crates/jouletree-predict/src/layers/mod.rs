//! Predictors of layers, fitted on measured ones: the published way, and an additive way that does not fail on networks.
//!
//! [`PublishedModel`] repeats the predictors of Getzner et al. (2023), with the intercept that spoils their sums over
//! networks. [`AdditiveModel`] is ours: a sum of work and traffic with costs that are never negative, fitted
//! on relative error, with intervals, and a note where a layer lies outside of what was measured.

mod additive;
mod columns;
mod evaluate;
mod kind;
mod mersenne;
mod networks;
mod published;
mod score;
mod split;
mod squares;
mod table;

pub use additive::{AdditiveModel, Coefficient, FitError, KindModel, Prediction};
pub use columns::{Column, Unit};
pub use evaluate::{BothScores, Evaluation, EvaluationError, KindEvaluation, evaluate};
pub use kind::{Layer, LayerKind};
pub use networks::{MeasuredNetwork, NetworkPrediction, read_networks};
pub use published::{PublishedModel, PublishedPredictor};
pub use score::{RelativeScore, linear_r2};
pub use split::{SplitSide, part_of};
pub use table::{
    LayerTable, MeasuredLayer, TableError, Tables, read_network_layers, read_real_layers, read_tables,
};
