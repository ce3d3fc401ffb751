//! Power files, recordings and the run folder: what accounting reads and writes.
//!
//! Everything that comes from outside is checked here: a file that cannot be used is an error that names the file,
//! the place and the remedy, and no input makes this crate panic.

mod accounted;
mod accounting;
mod calls;
mod error;
mod events;
pub mod fecom;
mod files;
mod folder;
mod footprint;
mod input;
mod intervals;
pub mod journal;
mod manifest;
mod ops;
mod power_csv;
mod power_parquet;
mod program;
mod recording;
mod resources;
mod table;

pub use accounted::accounted;
pub use accounting::Accounting;
pub use error::RunError;
pub use files::{open_file, read_file, share};
pub use folder::{RunContents, RunFolder};
pub use input::{PowerInput, read_power};
pub use jouletree_model::{MeteredSeries, Scope};
pub use journal::{Exit, HostFacts, JournalWriter, RecordingHeader, SamplerRecord, SensorRecord};
pub use manifest::{FORMAT_VERSION, LaneHeader, Manifest, TraceHeader};
pub use power_csv::{PowerError, PowerFile, PowerProblem, read_power_csv};
pub use power_parquet::{read_power_parquet, write_power_parquet};
pub use recording::{Balance, Clocks, IncidentRecord, Parts, Recording, recover};
pub use resources::{GpuBusy, Resources};
