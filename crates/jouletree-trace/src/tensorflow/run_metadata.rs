//! Run metadata in a file of its own: what `Session.run(…, run_metadata=…)` returned, as `SerializeToString` gives it.

use jouletree_model::{Step, Trace};

use crate::Format;
use crate::chrome::Ending;
use crate::error::{TraceError, ending_warning};
use crate::head::Head;
use crate::input::Progress;
use crate::options::ReadOptions;
use crate::source::Source;

use super::contents::{StepContents, trace_of};
use super::definitions::Definitions;
use super::step_stats::{Kind, Message, read_statistics};

pub(crate) const FORMAT: Format = Format { name: "tensorflow-run-metadata", recognises, read, is_fallback: false };

const HOW_TO_RECORD: &str = "the run metadata holds no operation on a device; record it with session.run(…, \
                             options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=…)";

fn recognises(head: &Head) -> bool {
    Kind::of(&head.start).is_some()
}

fn read(source: &Source, options: &ReadOptions, progress: &Progress) -> Result<Trace, TraceError> {
    let (bytes, failure) = source.read_all(progress)?;
    let mut recording = StepContents::new(source.name(), Step::NONE);
    let kind = Kind::of(&bytes).unwrap_or(Kind::RunMetadata);
    let mut ending =
        read_statistics(kind, Message { bytes: &bytes, at: 0 }, &Definitions::default(), &mut recording);
    if failure.is_some() {
        ending = Ending::Cut { at: bytes.len() as u64, why: failure };
    }
    let warnings = ending_warning(source.name(), &ending, recording.events.len() as u64);
    trace_of(vec![recording], warnings.into_iter().collect(), source, options, HOW_TO_RECORD)
}
