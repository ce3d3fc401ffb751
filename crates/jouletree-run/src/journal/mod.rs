//! The journal: what a recording writes while it goes on.
//!
//! A recording is a folder with `recording.json`, which says what is recorded, and `journal/`, where each kind of row
//! has a file of its own: an Arrow stream that only ever grows. Samples are kept raw, so that the same journal always
//! gives the same run. About once a second everything new is handed to the system: a recorder that is killed loses no
//! more than that. When a recording ends, or is found after its recorder died, its journal becomes tables
//! ([`recover`](crate::recover)). Only then does it have a `manifest.json`, and only then is the journal removed.

mod ending;
mod header;
mod incident;
mod machine;
mod read;
mod row;
mod samples;
mod sensor;
mod write;
mod writer;

pub use ending::{Exit, SamplerRecord};
pub use header::{HostFacts, Recorder, RecordingHeader};
pub use sensor::SensorRecord;
pub use writer::JournalWriter;

pub(crate) use ending::EndingRecord;
pub(crate) use header::{HEADER, lock};
pub(crate) use incident::{BatchRow, IncidentRow};
pub(crate) use machine::gpu_columns;
pub(crate) use read::StreamIn;
pub(crate) use row::{Row, column, optional};

/// The folder of the journal inside that of the run.
pub(crate) const JOURNAL: &str = "journal";
