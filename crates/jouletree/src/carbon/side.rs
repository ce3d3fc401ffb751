//! The file beside `emissions.csv` that holds what its columns cannot: joules, kinds, intervals and sources.

use std::path::{Path, PathBuf};

use anyhow::Result;
use jouletree_carbon::formats::{Record, codecarbon};
use jouletree_host::whole;

use crate::json;

/// Writes it, named after the run; one that is there is of the same run, and is replaced.
pub fn write(csv: &Path, record: &Record) -> Result<PathBuf> {
    let path = csv.with_file_name(format!("{}.energy.json", record.run_id));
    whole::write(&path, json::written(&codecarbon::side_file(record))?.as_bytes())?;
    Ok(path)
}
