//! Why a run cannot be written for another program.

use std::io;

use jouletree_model::Joules;
use parquet::errors::ParquetError;

/// Why a run cannot be written for another program.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A run in which nothing ran and nothing was metered.
    #[error(
        "there is nothing to export: the run has neither operations nor energy; record it again with a trace, or see \
         what it holds with: jouletree show RUN"
    )]
    Nothing,
    /// Events and footprint are not of one accounting.
    #[error(
        "the events of `{op}` are charged {events}, its footprint says {footprint}: the tables of the run do not belong \
         together; account it again with: jouletree account RUN -o NEW"
    )]
    Unequal {
        /// The path of an operation.
        op: String,
        /// What its events are charged with.
        events: Joules,
        /// What the footprint says.
        footprint: Joules,
    },
    /// The output took no more: most often a full disk.
    #[error("cannot write the output")]
    Io(#[from] io::Error),
    /// A table that cannot be written.
    #[error("cannot write the table")]
    Table(#[from] ParquetError),
}

impl From<serde_json::Error> for ExportError {
    fn from(error: serde_json::Error) -> ExportError {
        ExportError::Io(error.into())
    }
}

impl From<csv::Error> for ExportError {
    fn from(error: csv::Error) -> ExportError {
        ExportError::Io(error.into())
    }
}
