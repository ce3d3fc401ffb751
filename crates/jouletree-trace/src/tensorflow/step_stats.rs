//! The statistics of a step: `RunMetadata` or the `StepStats` in it, message by message.
//!
//! Where the file ends inside a message, what is whole in it is still used.

use crate::chrome::Ending;
use crate::wire::{Fields, Value};

use super::contents::{OpEvent, StepContents};
use super::definitions::Definitions;
use super::device::lists_kernels;
use super::labels;
use super::lanes::{Run, lanes};
use super::node_stats::NodeStats;
use super::tensors::Tensors;

/// The name of an operation of unknown type, in timelines too.
const UNKNOWN: &[u8] = b"unknown";
/// Its events have a label of their own.
const RECV_TENSOR: &[u8] = b"RecvTensor";

/// A message of a file, and the byte at which it begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: u64,
}

/// A message inside another.
struct SubMessage<'a> {
    field: u64,
    message: Message<'a>,
    /// Whether its end is there.
    is_whole: bool,
}

/// What a file of statistics is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    RunMetadata,
    StepStats,
}

impl Kind {
    /// What begins like this, if it does: the messages around the name of the first device.
    pub(super) fn of(start: &[u8]) -> Option<Kind> {
        const DEVICES: [&[u8]; 5] = [b"/job:", b"/device:", b"/host:", b"/cpu:", b"/gpu:"];
        let mut rest = start;
        for kind in [None, Some(Kind::StepStats), Some(Kind::RunMetadata)] {
            // Field 1, its length, and its content.
            rest = rest.strip_prefix(&[0x0a])?;
            let length = rest.iter().take(10).position(|byte| *byte < 0x80)? + 1;
            rest = rest.get(length..)?;
            if kind.is_some() && DEVICES.iter().any(|device| rest.starts_with(device)) {
                return kind;
            }
        }
        None
    }
}

/// Puts what a file or a record says into `recording`, and returns whether it ends as it should. `graph_def` is the
/// graph that runs, if it is known from elsewhere.
pub(super) fn read_statistics(
    kind: Kind,
    message: Message<'_>,
    graph_def: &Definitions,
    recording: &mut StepContents,
) -> Ending {
    let mut exact = Definitions::default();
    if kind == Kind::RunMetadata {
        let graphs = Fields::new(message.bytes).filter(|(field, _)| *field == 3);
        graphs.for_each(|(_, graph)| exact.add(graph.bytes()));
    }
    let mut reader = Reader { recording, threads: Vec::new(), exact, graph_def, damage: None };
    match kind {
        Kind::StepStats => reader.step_stats(message),
        Kind::RunMetadata => reader.each(message, |reader, part| {
            if part.field == 1 {
                reader.step_stats(part.message);
            }
        }),
    }
    reader.assign_lanes();
    let damage = reader.damage;
    let end = message.at + message.bytes.len() as u64;
    match damage {
        None => Ending::Complete,
        Some(Damage { until, .. }) if until == end => Ending::Cut { at: end, why: None },
        Some(Damage { at, .. }) => Ending::Wrong { at, expected: "a field of a protocol buffer" },
    }
}

/// A place where a message could not be read on.
#[derive(Debug, Clone, Copy)]
struct Damage {
    at: u64,
    /// Where the message ends.
    until: u64,
}

struct Reader<'r> {
    recording: &'r mut StepContents,
    /// The thread of each event.
    threads: Vec<u32>,
    /// The graphs that ran, after every rewrite.
    exact: Definitions,
    /// The graph as the program made it.
    graph_def: &'r Definitions,
    /// The first damage there is.
    damage: Option<Damage>,
}

impl Reader<'_> {
    /// Hands over every message in `message`, the last as far as it goes where the file ends inside.
    fn each<'a>(&mut self, message: Message<'a>, mut each: impl FnMut(&mut Self, SubMessage<'a>)) {
        let mut fields = Fields::new(message.bytes);
        while let Some((field, value)) = fields.next() {
            if let Value::Bytes(bytes) = value {
                let part = Message { bytes, at: message.at + (fields.offset() - bytes.len()) as u64 };
                each(self, SubMessage { field, message: part, is_whole: true });
            }
        }
        let until = message.at + message.bytes.len() as u64;
        if let Some((field, bytes)) = fields.cut() {
            let part = Message { bytes, at: until - bytes.len() as u64 };
            each(self, SubMessage { field, message: part, is_whole: false });
        }
        if let (Some(at), None) = (fields.damage(), self.damage) {
            self.damage = Some(Damage { at: message.at + at as u64, until });
        }
    }

    fn step_stats(&mut self, message: Message<'_>) {
        self.each(message, |reader, part| {
            if part.field == 1 {
                reader.device(part.message);
            }
        });
    }

    /// Reads a `DeviceStepStats`.
    fn device(&mut self, message: Message<'_>) {
        let name = Fields::new(message.bytes).find(|(field, _)| *field == 1);
        let name = name.map(|(_, name)| name.text()).unwrap_or_default();
        let lists_kernels = lists_kernels(&name);
        let device = self.recording.ids.bytes(name.as_bytes());
        self.recording.device_names.insert(device, name);
        self.each(message, |reader, part| {
            if part.field == 2 && part.is_whole {
                reader.node(device, lists_kernels, part.message);
            }
        });
    }

    /// Reads a `NodeExecStats`.
    fn node(&mut self, device: u32, is_kernel: bool, message: Message<'_>) {
        let Some(node) = NodeStats::of(message.bytes) else {
            return self.recording.rejects.note("that are damaged", message.at);
        };
        let Some((start, end)) = node.extent() else {
            return self.recording.rejects.note("without a start and a duration", message.at);
        };
        if node.name.is_empty() {
            return self.recording.rejects.note("without the name of an operation", message.at);
        }
        let (name, op_type) = self.named(&node, is_kernel);
        if !is_kernel && !self.recording.outputs.contains_key(&name) {
            let outputs = Fields::new(message.bytes).filter(|(field, _)| *field == 7);
            let tensors = Tensors::of(outputs.map(|(_, output)| output.message()));
            if !tensors.is_empty() {
                self.recording.outputs.insert(name, tensors);
            }
        }
        self.threads.push(node.thread);
        self.recording.events.push(OpEvent { start, end, name, op_type, device, lane: 0, offset: message.at });
    }

    /// The name and the type of an operation; its inputs are noted. The graph that ran knows best, the label knows
    /// what the program asked for, and so does the program's graph.
    fn named(&mut self, node: &NodeStats<'_>, is_kernel: bool) -> (u32, u32) {
        let recording = &mut *self.recording;
        if is_kernel {
            let (name, op_type) = labels::kernel(node.label, node.name);
            let name = if name.is_empty() { node.name } else { name };
            return (recording.names.bytes(name), recording.names.bytes(op_type.unwrap_or(UNKNOWN)));
        }
        let name = recording.names.bytes(node.name);
        if node.name == RECV_TENSOR {
            return (name, name);
        }
        let label = labels::operation(node.label);
        let defined = self.exact.get(node.name);
        let defined = if label.is_none() { defined.or_else(|| self.graph_def.get(node.name)) } else { defined };
        let op_type = match (defined, label) {
            (Some(definition), _) => {
                recording.set_inputs(name, definition.inputs());
                &*definition.op_type
            }
            (None, Some((op_type, inputs))) => {
                recording.set_inputs(name, inputs);
                op_type
            }
            (None, None) => UNKNOWN,
        };
        (name, recording.names.bytes(op_type))
    }

    fn assign_lanes(&mut self) {
        let events = &mut self.recording.events;
        let mut order: Vec<usize> = (0..events.len()).collect();
        order.sort_by_key(|index| events[*index].device);
        let device_of: Vec<u32> = events.iter().map(|event| event.device).collect();
        for of_device in order.chunk_by(|a, b| device_of[*a] == device_of[*b]) {
            let run = |index: &usize| Run {
                start: events[*index].start,
                end: events[*index].end,
                thread: self.threads.get(*index).copied().unwrap_or_default(),
            };
            let runs: Vec<Run> = of_device.iter().map(run).collect();
            for (index, lane) in of_device.iter().zip(lanes(&runs)) {
                events[*index].lane = self.recording.ids.bytes(lane.to_string().as_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_begin_with_the_name_of_a_device() {
        let metadata = b"\x0a\x82\x84\x02\x0a\xfe\x83\x02\x0a\x2c/job:localhost/replica:0/task:0/device:CPU:0";
        assert_eq!(Kind::of(metadata), Some(Kind::RunMetadata));
        assert_eq!(Kind::of(&metadata[4..]), Some(Kind::StepStats));
        assert_eq!(Kind::of(&metadata[8..]), None);
        // A profile (XSpace) and an HLO module begin alike.
        assert_eq!(Kind::of(b"\x0a\x20\x12\x09/host:CPU"), None);
        assert_eq!(Kind::of(b"\x0a\x20\x0a\x0bjit_train/x"), None);
        assert_eq!(Kind::of(b"\x0a\xff\xff"), None);
    }
}
