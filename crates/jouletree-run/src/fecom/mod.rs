//! The published data of the FECoM study: records of calls with their raw samples, and tables of energies computed from
//! them.
//!
//! Three layouts are read, distinguished by their content: FECoM's own `experiment-N.json`; a CSV of raw samples with a JSON
//! of their times beside it; and tables with one row for each call and device. Any of them may be gzip.

mod error;
mod experiment;
mod files;
mod raw;
mod record;
mod rows;

pub use error::{FecomError, FecomProblem};
pub use experiment::read_experiment;
pub use files::{is_fecom, read_fecom};
pub use raw::read_raw_trace;
pub use record::{FecomKind, FecomRecord, FecomSettings, FecomSizes, FecomTimes};
pub use rows::{FecomRow, read_fecom_rows};

/// What was found in a file or a folder.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FecomData {
    /// Calls with their samples.
    pub records: Vec<FecomRecord>,
    /// Calls with energies that others computed.
    pub rows: Vec<FecomRow>,
}

/// The name under which FECoM records whole programs.
const PROJECT_LEVEL: &str = "project-level";
