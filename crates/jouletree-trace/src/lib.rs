//! Readers: the traces of deep-learning frameworks as events, lanes and named operations.
//!
//! A format is recognised from content, never from a file's name. Each format has one small module that offers a
//! [`Format`]; [`FORMATS`] lists them, and adding one there is all it takes. A file that was cut short yields
//! everything before the cut, with a warning.

mod census;
mod chrome;
mod chrome_other;
mod error;
mod flops;
mod folder;
mod generic;
mod head;
mod hlo;
mod input;
mod interner;
mod json;
mod kineto;
mod merge;
mod model_file;
mod nsys;
mod onnx;
mod options;
mod rejects;
mod sidecar;
mod source;
mod tensorflow;
mod time_base;
mod wire;
mod xplane;

use std::path::Path;
use std::time::Instant;

use jouletree_model::Trace;
use tracing::info;

pub use error::TraceError;
pub use folder::find_traces;
pub use input::Progress;
pub use merge::{merge_traces, merge_with_model};
pub use model_file::{read_model, read_model_bytes};
pub use options::ReadOptions;

use head::Head;
use source::Source;

/// A trace format: how to recognise it and how to read it.
struct Format {
    /// Its name, as it appears in results.
    name: &'static str,
    /// Whether a file that begins like this is of this format.
    recognises: fn(&Head) -> bool,
    /// Reads a file of this format.
    read: fn(&Source, &ReadOptions, &Progress) -> Result<Trace, TraceError>,
    /// Whether it is a guess: in a folder, files of other formats are preferred.
    is_fallback: bool,
}

/// Every format that can be read, the most specific first.
const FORMATS: &[Format] = &[
    onnx::FORMAT,
    kineto::FORMAT,
    tensorflow::TIMELINE,
    tensorflow::RUN_METADATA,
    tensorflow::EVENT_FILE,
    xplane::FORMAT,
    nsys::FORMAT,
    generic::PARQUET,
    generic::CSV,
    generic::JSONL,
    // Takes whatever JSON with trace events is left, so it stays the last.
    chrome_other::FORMAT,
];

/// Reads a trace file of any known format, plain or gzip.
pub fn read_trace(path: &Path, options: &ReadOptions, progress: &Progress) -> Result<Trace, TraceError> {
    read(&Source::file(path), options, progress)
}

/// Reads a trace that is in memory; `name` replaces the file's name in messages.
pub fn read_trace_bytes(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<Trace, TraceError> {
    read(&Source::memory(name, bytes), options, &Progress::default())
}

fn read(source: &Source, options: &ReadOptions, progress: &Progress) -> Result<Trace, TraceError> {
    let head = Head::of(source)?;
    let Some(format) = FORMATS.iter().find(|format| (format.recognises)(&head)) else {
        return Err(unrecognised(source, head.to_string()));
    };
    let began = Instant::now();
    let mut trace = (format.read)(source, options, progress)?;
    let (bytes, events, took) = (progress.bytes(), trace.event_count(), began.elapsed());
    info!(file = source.name(), format = format.name, bytes, events, ?took, "trace read");
    for source in &mut trace.sources {
        source.format = format.name.to_owned();
    }
    Ok(trace)
}

/// A file that is none of the formats there are; `found` says what it looks like.
fn unrecognised(source: &Source, found: String) -> TraceError {
    let known = FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ");
    TraceError::Unrecognised { file: source.name().to_owned(), found, known }
}
