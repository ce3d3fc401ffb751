//! The report card of a model, from the runs that trained and tried it.

mod arguments;
mod disclosed;
mod gather;
mod layers;
mod summary;

pub use gather::{Carbon, Card, Emissions, Hardware, LayerRow, RunRow, Sensitivity, Software, StageSum, gather};
pub use summary::Summary;

use jouletree_run::RunError;

use crate::StudyError;
use crate::carbon::CarbonError;

/// Why there is no card.
#[derive(Debug, thiserror::Error)]
pub enum CardError {
    /// A run cannot be seen as trackers see it.
    #[error(transparent)]
    Carbon(#[from] CarbonError),
    /// A run cannot be read.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The runs do not make a study.
    #[error(transparent)]
    Study(#[from] StudyError),
}
