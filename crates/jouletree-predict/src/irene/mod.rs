//! Trees of transformers whose every node was measured by itself, and predictors of such trees.
//!
//! Two families live here side by side. The published one, IrEne (ACL 2021), predicts each primitive by a regressor of
//! its own and each parent as a weighted sum of its children. Ours takes what is known of a node: its own latency and
//! device energy, the measured leaves below it, or nothing but sizes; it adds the work that no leaf covers, and says
//! of every figure which of the three it rests on. [`evaluate()`] compares all of them on data that neither has seen.

mod adam;
mod conformal;
mod error;
mod evaluate;
mod features;
mod folds;
mod glue;
mod law;
mod leaf_regressor;
mod linear;
mod ours;
mod random;
mod read;
mod read_csv;
mod read_jsonl;
mod score;
mod shapes;
mod spec_leaves;
mod tracker;
mod tree;
mod tree_regressor;

pub use adam::Adam;
pub use conformal::LevelQuantiles;
pub use error::IreneError;
pub use evaluate::{EvaluationOptions, EvaluationRow, Method, evaluate, evaluate_watched};
pub use features::FeatureSet;
pub use folds::{Fold, Protocol};
pub use glue::{GLUE_TERMS, Glue, RowWeight};
pub use law::PowerLaw;
pub use leaf_regressor::LeafRegressors;
pub use ours::{Basis, NodePrediction, TreePrediction, TreePredictor};
pub use random::SeededGenerator;
pub use read::read;
pub use score::LevelErrors;
pub use shapes::ProductShape;
pub use spec_leaves::SpecLeaves;
pub use tracker::SoftwareTracker;
pub use tree::{Dataset, Level, Node, Resources, Seconds, Specs, Tree};
pub use tree_regressor::{Strategy, TreeRegressor};
