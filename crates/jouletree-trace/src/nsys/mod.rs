//! Databases of Nsight Systems, as `nsys export --type sqlite` writes them.
//!
//! They hold what a Kineto trace holds in another form: ranges (NVTX) and calls of the CUDA runtime on the host's
//! threads, kernels and copies on GPUs, joined by correlation. `database` hands out rows whatever state the file is
//! in, `names` reads the names of ranges; `tables`, with `gpu` and `host`, puts everything into the recording that the
//! Kineto reader draws its conclusions from.
//!
//! Written from NVIDIA's description of the schema and tested with databases made after it.

mod database;
mod gpu;
mod host;
mod names;
mod tables;

use jouletree_model::Trace;

use crate::error::TraceError;
use crate::head::Head;
use crate::input::Progress;
use crate::kineto::contents::KinetoContents;
use crate::options::ReadOptions;
use crate::source::Source;
use crate::{Format, unrecognised};

use database::Database;
use tables::Reader;

pub(crate) const FORMAT: Format = Format { name: "nsys-sqlite", recognises, read, is_fallback: false };

fn recognises(head: &Head) -> bool {
    head.start.starts_with(b"SQLite format 3\0")
}

fn read(source: &Source, options: &ReadOptions, progress: &Progress) -> Result<Trace, TraceError> {
    let (database, cut) = Database::open(source, progress)?;
    if !database.has("StringIds") {
        let tables = database.tables().take(8).collect::<Vec<_>>().join(", ");
        let found =
            format!("it is an SQLite database with the tables [{tables}], not an export of Nsight Systems");
        return Err(unrecognised(source, found));
    }
    let mut recording = KinetoContents::new(source.name(), options.census);
    recording.warnings.extend(cut);
    Reader::new(&database, &mut recording).read();
    let is_empty = recording.host.is_empty() && recording.gpu.is_empty();
    let trace = recording.into_trace(source, options);
    if is_empty {
        let what =
            "the export holds no kernel, no CUDA call and no range; record with nsys profile --trace=cuda,nvtx";
        return Err(TraceError::empty(source.name(), what, &trace.warnings));
    }
    Ok(trace)
}
