//! Power from wherever the user has it: what a file is, is seen from its content and never from its name.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use crate::{MeteredSeries, PowerFile, RunError, RunFolder, read_power_csv, read_power_parquet};

/// How a Parquet file begins.
const PARQUET: [u8; 4] = *b"PAR1";

/// Power, as readings or as energy already.
#[derive(Debug, Clone, PartialEq)]
pub enum PowerInput {
    /// Readings of meters, from a CSV.
    Records(PowerFile),
    /// Energy over time, from a run.
    Series(Vec<MeteredSeries>),
}

/// Reads power from a CSV, a `power.parquet` or a run folder.
pub fn read_power(path: &Path) -> Result<PowerInput, RunError> {
    if path.is_dir() {
        return Ok(PowerInput::Series(RunFolder::open(path)?.read_power()?));
    }
    let failed = || RunError::io(path, "read the file");
    let mut head = Vec::new();
    File::open(path).and_then(|file| file.take(4).read_to_end(&mut head)).map_err(failed())?;
    if head == PARQUET {
        return Ok(PowerInput::Series(read_power_parquet(path)?));
    }
    let bytes = fs::read(path).map_err(failed())?;
    Ok(PowerInput::Records(read_power_csv(&path.display().to_string(), &bytes)?))
}
