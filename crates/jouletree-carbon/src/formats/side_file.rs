//! The file beside `emissions.csv` that holds what its columns cannot: joules, kinds, intervals and sources.

use std::io;
use std::path::{Path, PathBuf};

use jouletree_host::whole;

use super::{Record, codecarbon};

/// Writes it, named after the run; one that is there is of the same run, and is replaced.
pub fn write_side_file(csv: &Path, record: &Record) -> io::Result<PathBuf> {
    let path = csv.with_file_name(format!("{}.energy.json", record.run_id));
    let mut text = serde_json::to_string_pretty(&codecarbon::side_file(record)).map_err(io::Error::other)?;
    text.push('\n');
    whole::write(&path, text.as_bytes())?;
    Ok(path)
}
