//! Runs as trackers of carbon see them, and what they cost.

mod cost;
pub mod emissions;
pub mod of_run;

pub use cost::cost;

use jouletree_carbon::settings::SettingsError;
use jouletree_run::RunError;

/// Why a run cannot be seen as trackers see it.
#[derive(Debug, thiserror::Error)]
pub enum CarbonError {
    /// It cannot be read.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A setting is wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
}
