//! The file beside `emissions.csv` that holds what its columns cannot: joules, kinds, intervals and sources.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use jouletree_carbon::formats::{Record, codecarbon};

use crate::json;
use crate::partial::Partial;

/// Writes it, named after the run; one that is there is of the same run, and is replaced.
pub fn write(csv: &Path, record: &Record) -> Result<PathBuf> {
    let path = csv.with_file_name(format!("{}.energy.json", record.run_id));
    let partial = Partial::beside(&path)?;
    let text = json::written(&codecarbon::side_file(record))?;
    partial.file().write_all(text.as_bytes()).with_context(|| format!("{}: not written", path.display()))?;
    partial.become_whole(&path)?;
    Ok(path)
}
