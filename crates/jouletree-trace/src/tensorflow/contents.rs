//! What is recorded of a step, however it is written, and the trace made of it.
//!
//! A timeline and run metadata hold the same in two forms. Both readers fill a [`StepContents`]; everything that is
//! concluded (devices, passes, places in the model, data flow) is concluded here, so that both say the same.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use jouletree_model::{
    Census, Device, Event, Facts, Lane, Nanos, NodeId, Op, OpId, ReadCount, Step, Trace, TraceSource, Warning,
};

use crate::census::Counter;
use crate::error::TraceError;
use crate::flops::flops;
use crate::interner::Interner;
use crate::options::ReadOptions;
use crate::rejects::Rejects;
use crate::source::Source;
use crate::time_base::{absolute, find_time_base};

use super::device::{Listed, listed};
use super::graph::Graph;
use super::place::places;
use super::tensors::Tensors;

/// One step as a file records it.
pub(super) struct StepContents {
    pub(super) file: String,
    pub(super) step: Step,
    /// Names and types of operations.
    pub(super) names: Interner,
    /// Devices and lanes as the file writes them.
    pub(super) ids: Interner,
    pub(super) events: Vec<OpEvent>,
    /// The tensors that each named operation takes.
    pub(super) inputs: FxHashMap<u32, Vec<Input>>,
    /// The tensors that each named operation makes, where the file has them.
    pub(super) outputs: FxHashMap<u32, Tensors>,
    pub(super) device_names: FxHashMap<u32, String>,
    pub(super) rejects: Rejects,
}

/// One run of an operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpEvent {
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    pub(super) name: u32,
    pub(super) op_type: u32,
    pub(super) device: u32,
    pub(super) lane: u32,
    /// Its offset in the file.
    pub(super) offset: u64,
}

/// A tensor that an operation takes: one of the outputs of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Input {
    pub(super) from: u32,
    pub(super) port: u32,
}

/// Neither an operation of the program nor a use of time: it spans whatever comes before the first operation.
const SOURCE: &str = "_SOURCE";

impl StepContents {
    pub(super) fn new(file: &str, step: Step) -> StepContents {
        StepContents {
            file: file.to_owned(),
            step,
            names: Interner::default(),
            ids: Interner::default(),
            events: Vec::new(),
            inputs: FxHashMap::default(),
            outputs: FxHashMap::default(),
            device_names: FxHashMap::default(),
            rejects: Rejects::default(),
        }
    }

    /// Notes what an operation takes, unless that is known already. Inputs are written as in a graph: `name`,
    /// `name:port`, or `^name` for one that passes no data.
    pub(super) fn set_inputs<'a>(&mut self, name: u32, inputs: impl Iterator<Item = &'a [u8]>) {
        let mut inputs = inputs.peekable();
        if inputs.peek().is_none() || self.inputs.contains_key(&name) {
            return;
        }
        let names = &mut self.names;
        let data = inputs.filter(|input| !input.starts_with(b"^"));
        let inputs = data.map(|input| {
            let (from, port) = split_port(input);
            Input { from: names.bytes(from), port }
        });
        self.inputs.insert(name, inputs.collect());
    }

    /// The trace of the step, its times moved by `base`.
    fn trace(self, base: Nanos, takes_census: bool) -> Trace {
        let mut trace = Trace { warnings: self.rejects.warnings(&self.file), ..Trace::default() };
        let listed = listed(&self.device_names);
        trace.warnings.extend(self.unknown_devices(&listed));
        let (counts, census) = self.counts(&listed, base, takes_census);
        trace.sources.push(TraceSource { counts, ..TraceSource::default() });
        trace.census = census;
        let ops = self.intern_ops(&mut trace);
        let source = self.names.find(SOURCE);
        let mut lanes: IndexMap<(u32, u32), Vec<Event>> = IndexMap::new();
        for event in self.events.iter().filter(|event| Some(event.name) != source) {
            let (Some(Listed::Operations(_)), Some(op)) = (listed.get(&event.device), ops.get(&event.name)) else {
                continue;
            };
            let active = Event { start: event.start + base, end: event.end + base, op: *op, step: self.step };
            lanes.entry((event.device, event.lane)).or_default().push(active);
        }
        for ((device, lane), events) in lanes {
            if let Some(Listed::Operations(placed)) = listed.get(&device) {
                let index = trace.device_index(placed);
                let device = self.device_names.get(&device).map(String::as_str).unwrap_or_default();
                trace.lanes.push(Lane::new(index, format!("{device} lane {}", self.ids.get(lane)), events));
            }
        }
        trace
    }

    /// Puts the operations, at their places in the model, and the data flow between them into `trace`.
    fn intern_ops(&self, trace: &mut Trace) -> FxHashMap<u32, OpId> {
        let mut types: IndexMap<u32, u32> = IndexMap::new();
        for event in &self.events {
            types.entry(event.name).or_insert(event.op_type);
        }
        if let Some(source) = self.names.find(SOURCE) {
            types.shift_remove(&source);
        }
        let graph = Graph::new(&types, &self.inputs, &self.names);
        let placed = places(&graph);
        let insert = |(op, name): (&Op, &u32)| trace.model.insert(op.clone(), self.facts(*name, &op.op_type));
        let nodes: Vec<NodeId> = placed.iter().zip(types.keys()).map(insert).collect();
        for (from, to) in graph.edges() {
            trace.model.connect(nodes[from], nodes[to]);
        }
        placed.into_iter().zip(types.keys()).map(|(op, name)| (*name, trace.ops.intern(op))).collect()
    }

    /// What is known about the tensors of an operation. Inputs are all known or none is: a place in the list has a
    /// meaning.
    fn facts(&self, name: u32, op_type: &str) -> Facts {
        if self.outputs.is_empty() {
            return Facts::default();
        }
        let made = self.outputs.get(&name);
        let shape = |input: &Input| self.outputs.get(&input.from)?.shape(input.port).cloned();
        let taken: Option<Vec<_>> = self.inputs.get(&name).into_iter().flatten().map(shape).collect();
        let inputs = taken.unwrap_or_default();
        let outputs = made.map(Tensors::shapes).unwrap_or_default();
        Facts {
            flops: flops(op_type, &inputs, &outputs),
            output_bytes: made.map(Tensors::bytes),
            inputs,
            outputs,
            ..Facts::default()
        }
    }

    fn counts(
        &self,
        listed: &FxHashMap<u32, Listed>,
        base: Nanos,
        takes_census: bool,
    ) -> (Vec<ReadCount>, Census) {
        let mut counter = Counter::new(takes_census);
        for event in &self.events {
            let is_operation = matches!(listed.get(&event.device), Some(Listed::Operations(_)));
            counter.note(event.device, event.start, event.end, is_operation);
        }
        counter.finish(base, |device| match listed.get(device)? {
            Listed::Operations(device) => Some((device.clone(), "Op".to_owned())),
            Listed::Repeated(device) => Some((device.clone(), "Op repeated by stream".to_owned())),
        })
    }

    fn unknown_devices(&self, listed: &FxHashMap<u32, Listed>) -> Option<Warning> {
        let mut unknown = self.events.iter().filter(|event| !listed.contains_key(&event.device));
        let first = unknown.next()?;
        let message = format!(
            "{} events of processes that are no device are left out; the first is here",
            1 + unknown.count()
        );
        Some(Warning::new(&self.file, message).at(format!("byte {}", first.offset)))
    }
}

/// The trace of a file that records these steps. `warnings` are what reading them gave; `how_to_record` is for those
/// whose file holds nothing.
pub(super) fn trace_of(
    recordings: Vec<StepContents>,
    mut warnings: Vec<Warning>,
    source: &Source,
    options: &ReadOptions,
    how_to_record: &str,
) -> Result<Trace, TraceError> {
    let starts = recordings.iter().flat_map(|recording| &recording.events).map(|event| event.start);
    let own = starts.min().and_then(absolute);
    let time_base = find_time_base(source, options, own, &mut [], &mut warnings);
    let mut trace = Trace { warnings, ..Trace::default() };
    for recording in recordings {
        trace.merge(recording.trace(time_base.base(), options.census));
    }
    let mut counts: BTreeMap<(Device, String), u64> = BTreeMap::new();
    for count in trace.sources.drain(..).flat_map(|source| source.counts) {
        *counts.entry((count.device, count.category)).or_default() += count.events;
    }
    let count = |((device, category), events)| ReadCount { device, category, events };
    trace.sources.push(TraceSource {
        file: source.name().to_owned(),
        time_base,
        counts: counts.into_iter().map(count).collect(),
        ..TraceSource::default()
    });
    if trace.lanes.is_empty() {
        return Err(TraceError::empty(source.name(), how_to_record, &trace.warnings));
    }
    Ok(trace)
}

/// The name of an input, and the number of the output it is.
fn split_port(input: &[u8]) -> (&[u8], u32) {
    let digits = input.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let Some((name, port)) = input.split_at_checked(input.len() - digits) else { return (input, 0) };
    match name.strip_suffix(b":") {
        Some(name) if digits > 0 => {
            (name, str::from_utf8(port).ok().and_then(|port| port.parse().ok()).unwrap_or(u32::MAX))
        }
        _ => (input, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_no_part_of_a_name() {
        for (input, name, port) in
            [("bert/Split:2", "bert/Split", 2), ("a:b", "a:b", 0), ("a:", "a:", 0), ("a1", "a1", 0), ("7", "7", 0)]
        {
            assert_eq!(split_port(input.as_bytes()), (name.as_bytes(), port), "{input}");
        }
        assert_eq!(split_port(b"a:99999999999"), (&b"a"[..], u32::MAX));
    }
}
