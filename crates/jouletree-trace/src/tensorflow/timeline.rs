//! TensorFlow timelines: the Chrome traces that `ProfilerHook` and `tensorflow.python.client.timeline` write.

use jouletree_model::{Step, Trace, Warning};

use crate::Format;
use crate::chrome::{ChromeEvent, ChromeVisitor, read_chrome};
use crate::error::{TraceError, ending_warning};
use crate::head::Head;
use crate::input::Progress;
use crate::options::ReadOptions;
use crate::source::Source;

use super::contents::{OpEvent, StepContents, trace_of};
use super::device::{Listed, listed};

pub(crate) const FORMAT: Format = Format { name: "tensorflow-timeline", recognises, read, is_fallback: false };

const HOW_TO_RECORD: &str = "the timeline holds no operation on a device; record it with tf.estimator.ProfilerHook or \
                             timeline.Timeline(run_metadata.step_stats)";

fn recognises(head: &Head) -> bool {
    head.categories.contains("Op") && head.names_operations
}

fn read(source: &Source, options: &ReadOptions, progress: &Progress) -> Result<Trace, TraceError> {
    let mut input = source.open(progress)?;
    let recording = StepContents::new(source.name(), step_in_name(source.name()));
    let mut timeline = Timeline { recording, read: 0 };
    let ending = read_chrome(&mut input, &mut timeline);
    let mut warnings: Vec<Warning> = ending_warning(source.name(), &ending, timeline.read).into_iter().collect();
    warnings.extend(overlap(&timeline.recording));
    trace_of(vec![timeline.recording], warnings, source, options, HOW_TO_RECORD)
}

struct Timeline {
    recording: StepContents,
    read: u64,
}

impl Timeline {
    fn complete(&mut self, event: &ChromeEvent<'_>, offset: u64) {
        let recording = &mut self.recording;
        let Some((start, end)) = recording.rejects.extent(event, offset) else { return };
        if event.args.name.bytes.is_empty() {
            return recording.rejects.note("without the name of an operation", offset);
        }
        let name = recording.names.raw(event.args.name);
        let op_type = if event.args.op.bytes.is_empty() { event.name } else { event.args.op };
        if !event.args.inputs.is_empty() && !recording.inputs.contains_key(&name) {
            let inputs: Vec<String> = event.args.inputs.iter().map(|input| input.text()).collect();
            recording.set_inputs(name, inputs.iter().map(String::as_bytes));
        }
        recording.events.push(OpEvent {
            start,
            end,
            name,
            op_type: recording.names.raw(op_type),
            device: recording.ids.bytes(event.pid),
            lane: recording.ids.bytes(event.tid),
            offset,
        });
    }
}

impl ChromeVisitor for Timeline {
    fn header(&mut self, _key: &str, _value: &[u8]) {}

    fn event(&mut self, event: &ChromeEvent<'_>, offset: u64) -> bool {
        self.read += 1;
        match event.phase {
            b'X' => self.complete(event, offset),
            // The other processes of a device list its tensors.
            b'M' if event.name.bytes == b"process_name" => {
                if let Some(device) = event.args.name.text().strip_suffix(" Compute") {
                    let process = self.recording.ids.bytes(event.pid);
                    self.recording.device_names.insert(process, device.to_owned());
                }
            }
            _ => {}
        }
        true
    }
}

/// The writer gives each event of a lane its own time; where two overlap, the file is not what it seems.
fn overlap(recording: &StepContents) -> Option<Warning> {
    let listed = listed(&recording.device_names);
    let mut events: Vec<&OpEvent> = recording
        .events
        .iter()
        .filter(|event| matches!(listed.get(&event.device), Some(Listed::Operations(_))))
        .collect();
    events.sort_by_key(|event| (event.device, event.lane, event.start, event.end));
    let overlap = |pair: &&[&OpEvent]| {
        (pair[0].device, pair[0].lane) == (pair[1].device, pair[1].lane) && pair[1].start < pair[0].end
    };
    let overlaps: Vec<u64> = events.windows(2).filter(overlap).map(|pair| pair[1].offset).collect();
    let message = format!(
        "{} events overlap another in the same lane, which a lane does not allow; the one that began last counts as \
         active. The first is here",
        overlaps.len()
    );
    Some(Warning::new(&recording.file, message).at(format!("byte {}", overlaps.first()?)))
}

/// `ProfilerHook` names its files `timeline-<global step>.json`.
fn step_in_name(file: &str) -> Step {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let number = name.rsplit_once("timeline-").and_then(|(_, rest)| {
        let digits: &str = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
        digits.parse().ok()
    });
    number.map_or(Step::NONE, Step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_stands_in_the_file_name() {
        assert_eq!(step_in_name("runs/timeline-28.json.gz"), Step(28));
        assert_eq!(step_in_name("my_timeline-5.json"), Step(5));
        assert_eq!(step_in_name("trace.json"), Step::NONE);
    }
}
