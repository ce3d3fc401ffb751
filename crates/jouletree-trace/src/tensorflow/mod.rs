//! TensorFlow timelines, as `ProfilerHook` and `tf.python.client.timeline` write them.
//!
//! `record` keeps what the file says; `graph` tells forward, backward and optimizer operations apart by the data flow
//! in the trace; `names` undoes what TensorFlow did to names; `place` finds every operation's path in the model.

mod graph;
pub(crate) mod names;
mod place;
mod record;

use jouletree_model::Trace;

use crate::Format;
use crate::chrome::read_chrome;
use crate::error::{TraceError, ending_warning};
use crate::head::Head;
use crate::input::Progress;
use crate::options::ReadOptions;
use crate::source::Source;

pub(crate) use place::{layer, shared_layer};
use record::Recording;

pub(crate) const FORMAT: Format = Format { name: "tensorflow-timeline", recognises, read };

fn recognises(head: &Head) -> bool {
    head.categories.contains("Op") && head.names_operations
}

fn read(source: &Source, options: &ReadOptions, progress: &Progress) -> Result<Trace, TraceError> {
    let mut input = source.open(progress)?;
    let mut recording = Recording::new(source.name());
    let ending = read_chrome(&mut input, &mut recording);
    recording.warnings.extend(ending_warning(source.name(), &ending, recording.read));
    recording.into_trace(source, options)
}
