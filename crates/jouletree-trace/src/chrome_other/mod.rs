//! Chrome traces of whatever program wrote them, when no other reader knows better.
//!
//! What every such file says is used: which thread did what from when to when. What only the program knows (layers,
//! passes, often the device and the time of day) is not guessed but reported as missing. The trace viewer's files of
//! TensorFlow and JAX come here: their operations are those that name one of XLA's or TensorFlow's.
//!
//! `contents` keeps what the file says, `arguments` finds the few arguments of use, `processes` finds devices by the
//! names of processes, `operations` names what ran.

mod arguments;
mod contents;
mod operations;
mod processes;

use jouletree_model::Trace;

use crate::Format;
use crate::chrome::read_chrome;
use crate::error::{TraceError, ending_warning};
use crate::head::Head;
use crate::input::Progress;
use crate::options::ReadOptions;
use crate::source::Source;

use contents::ChromeContents;

pub(crate) const FORMAT: Format = Format { name: "chrome-trace", recognises, read, is_fallback: true };

fn recognises(head: &Head) -> bool {
    head.timed_events > 0
}

fn read(source: &Source, options: &ReadOptions, progress: &Progress) -> Result<Trace, TraceError> {
    let mut input = source.open(progress)?;
    let mut recording = ChromeContents::new(source.name(), options.census);
    let ending = read_chrome(&mut input, &mut recording);
    recording.finish_pairs();
    recording.warnings.extend(ending_warning(source.name(), &ending, recording.events));
    let is_empty = recording.runs.is_empty();
    let trace = recording.into_trace(source, options);
    if is_empty {
        let what = "the trace holds no event with a beginning and an end (phases X, or B and E)";
        return Err(TraceError::empty(source.name(), what, &trace.warnings));
    }
    Ok(trace)
}
