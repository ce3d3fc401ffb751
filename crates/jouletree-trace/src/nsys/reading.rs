//! From an export of Nsight Systems to a trace.

use jouletree_model::Trace;

use super::database::Database;
use super::tables::Reader;
use crate::error::TraceError;
use crate::input::Progress;
use crate::kineto::contents::KinetoContents;
use crate::options::ReadOptions;
use crate::source::Source;
use crate::unrecognised;

pub(super) fn read(source: &Source, options: &ReadOptions, progress: &Progress) -> Result<Trace, TraceError> {
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
