//! TensorBoard event files in which `ProfilerHook` or `FileWriter.add_run_metadata` left run metadata: one step each.
//!
//! Everything else in the file (summaries, sessions) is passed over. The graph, which comes before, helps where run
//! metadata says less than it should.

use jouletree_model::{Step, Trace, Warning};

use crate::Format;
use crate::error::{TraceError, ending_warning};
use crate::head::Head;
use crate::input::Progress;
use crate::options::ReadOptions;
use crate::source::Source;
use crate::wire::Fields;

use super::contents::{StepContents, trace_of};
use super::definitions::Definitions;
use super::step_stats::{Kind, Message, read_statistics};
use super::tfrecord::{read_records, record_length};

pub(crate) const FORMAT: Format = Format { name: "tensorflow-events", recognises, read, is_fallback: false };

const HOW_TO_RECORD: &str = "no run metadata with operations on a device is among the events of this file; \
                             tf.estimator.ProfilerHook records it, or session.run(…, \
                             options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata) and \
                             FileWriter.add_run_metadata(metadata, 'step_N')";

/// A record, and the version of the format as the content of its event.
fn recognises(head: &Head) -> bool {
    const VERSION: &[u8] = b"brain.Event:";
    record_length(&head.start).is_some() && head.start.windows(VERSION.len()).any(|window| window == VERSION)
}

fn read(source: &Source, options: &ReadOptions, progress: &Progress) -> Result<Trace, TraceError> {
    let mut input = source.open(progress)?;
    let mut events =
        Events { file: source.name(), graph_def: Definitions::default(), steps: Vec::new(), warnings: Vec::new() };
    let ending = read_records(&mut input, |event, at| events.event(event, at));
    let read = events.steps.iter().map(|step| step.events.len() as u64).sum();
    events.warnings.extend(ending_warning(source.name(), &ending, read));
    trace_of(events.steps, events.warnings, source, options, HOW_TO_RECORD)
}

/// What has been read of a file.
struct Events<'s> {
    file: &'s str,
    /// The graph that the next steps run.
    graph_def: Definitions,
    steps: Vec<StepContents>,
    warnings: Vec<Warning>,
}

impl Events<'_> {
    /// Takes an `Event`.
    fn event(&mut self, event: &[u8], at: u64) {
        let (mut number, mut tagged) = (0, None);
        let mut fields = Fields::new(event);
        while let Some((field, value)) = fields.next() {
            match field {
                2 => number = value.signed(),
                4 => self.graph_def = Definitions::of(value.bytes()),
                8 => {
                    let bytes = value.bytes();
                    tagged = Some(Message { bytes, at: at + (fields.offset() - bytes.len()) as u64 });
                }
                _ => {}
            }
        }
        if let Some(tagged) = tagged {
            self.step(number, tagged);
        }
    }

    /// Takes a `TaggedRunMetadata`. `ProfilerHook` leaves the number of the event's step at zero.
    fn step(&mut self, number: i64, tagged: Message<'_>) {
        let (mut tag, mut metadata) = (String::new(), None);
        let mut fields = Fields::new(tagged.bytes);
        while let Some((field, value)) = fields.next() {
            match field {
                1 => tag = value.text(),
                2 => {
                    let bytes = value.bytes();
                    metadata = Some(Message { bytes, at: tagged.at + (fields.offset() - bytes.len()) as u64 });
                }
                _ => {}
            }
        }
        let Some(metadata) = metadata else { return };
        let number = u32::try_from(number).ok().filter(|number| *number > 0).or_else(|| last_number(&tag));
        let mut recording = StepContents::new(self.file, number.map_or(Step::NONE, Step));
        let ending = read_statistics(Kind::RunMetadata, metadata, &self.graph_def, &mut recording);
        self.warnings.extend(ending_warning(self.file, &ending, recording.events.len() as u64));
        self.steps.push(recording);
    }
}

/// The last number in a tag such as `step_28`.
fn last_number(tag: &str) -> Option<u32> {
    tag.rsplit(|letter: char| !letter.is_ascii_digit()).find(|digits| !digits.is_empty())?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_end_in_the_number_of_the_step() {
        assert_eq!(last_number("step_28"), Some(28));
        assert_eq!(last_number("run2/step00000012 (train)"), Some(12));
        assert_eq!(last_number("warm-up"), None);
        assert_eq!(last_number("99999999999"), None);
    }
}
