//! What the processes of a run left behind becomes one trace, with a progress bar.

use std::path::Path;

use anyhow::Result;
use jouletree_model::Trace;

use crate::progress::ReadingBar;

pub use jouletree_session::gather::redact_commands;

/// Gathers what all processes left below `folder`.
pub fn gather(folder: &Path) -> Result<Trace> {
    jouletree_session::gather::gather(folder, |files, progress| ReadingBar::over(files.iter().copied(), progress))
}
