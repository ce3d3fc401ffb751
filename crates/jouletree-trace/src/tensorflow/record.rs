//! What a TensorFlow timeline says, event by event, and the trace made of it.

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use jouletree_model::{
    Census, Device, DeviceClass, Event, Facts, Lane, Nanos, NodeId, Op, OpId, ReadCount, Step, Trace, TraceSource,
    Warning,
};

use crate::census::Counter;
use crate::chrome::{ChromeEvent, ChromeVisitor};
use crate::error::TraceError;
use crate::interner::Interner;
use crate::options::ReadOptions;
use crate::rejects::Rejects;
use crate::source::Source;
use crate::time_base::{absolute, find_time_base};

use super::graph::Graph;
use super::place::places;

/// Everything of interest in one file.
pub(super) struct Recording {
    file: String,
    /// Names and types of operations.
    names: Interner,
    /// Processes and lanes as the file writes them.
    ids: Interner,
    events: Vec<TimelineEvent>,
    /// The operations that each named operation takes its input from.
    inputs: FxHashMap<u32, Vec<u32>>,
    process_names: FxHashMap<u32, String>,
    rejects: Rejects,
    pub(super) read: u64,
    pub(super) warnings: Vec<Warning>,
}

#[derive(Debug, Clone, Copy)]
struct TimelineEvent {
    start: Nanos,
    end: Nanos,
    name: u32,
    op_type: u32,
    process: u32,
    lane: u32,
    offset: u64,
}

/// What the events of a process are.
enum Process {
    /// Operations on a device.
    Device(Device),
    /// What the device `stream:all` shows as well.
    Repeated(Device),
}

/// Neither an operation of the program nor a use of time: it spans whatever comes before the first operation.
const SOURCE: &str = "_SOURCE";

impl Recording {
    pub(super) fn new(file: &str) -> Recording {
        Recording {
            file: file.to_owned(),
            names: Interner::default(),
            ids: Interner::default(),
            events: Vec::new(),
            inputs: FxHashMap::default(),
            process_names: FxHashMap::default(),
            rejects: Rejects::default(),
            read: 0,
            warnings: Vec::new(),
        }
    }

    fn complete(&mut self, event: &ChromeEvent<'_>, offset: u64) {
        let Some((start, end)) = self.rejects.extent(event, offset) else { return };
        if event.args.name.bytes.is_empty() {
            return self.rejects.note("without the name of an operation", offset);
        }
        let name = self.names.raw(event.args.name);
        let op_type = if event.args.op.bytes.is_empty() { event.name } else { event.args.op };
        if !event.args.inputs.is_empty() && !self.inputs.contains_key(&name) {
            let names = &mut self.names;
            let data = event.args.inputs.iter().filter(|input| !input.bytes.starts_with(b"^"));
            let inputs = data.map(|input| names.bytes(without_port(&input.text()).as_bytes())).collect();
            self.inputs.insert(name, inputs);
        }
        self.events.push(TimelineEvent {
            start,
            end,
            name,
            op_type: self.names.raw(op_type),
            process: self.ids.bytes(event.pid),
            lane: self.ids.bytes(event.tid),
            offset,
        });
    }

    fn warn_at(&mut self, offset: u64, message: String) {
        self.warnings.push(Warning::new(&self.file, message).at(format!("byte {offset}")));
    }

    /// Draws the conclusions and gives the trace.
    pub(super) fn into_trace(mut self, source: &Source, options: &ReadOptions) -> Result<Trace, TraceError> {
        self.warnings.extend(self.rejects.warnings(&self.file));
        let processes = self.processes();
        self.warn_about_unknown(&processes);
        let own = self.events.iter().map(|event| event.start).min().and_then(absolute);
        let time_base = find_time_base(source, options, own, &mut [], &mut self.warnings);
        let base = time_base.base();
        let (counts, census) = self.counts(&processes, base, options.census);
        let step = step_in_name(&self.file);
        let source_name = self.names.find(SOURCE);
        let source = TraceSource { file: self.file.clone(), time_base, counts, ..TraceSource::default() };
        let mut trace = Trace { sources: vec![source], census, ..Trace::default() };
        let ops = self.intern_ops(&mut trace);
        let mut lanes: IndexMap<(u32, u32), Vec<Event>> = IndexMap::new();
        for event in self.events.iter().filter(|event| Some(event.name) != source_name) {
            let (Some(Process::Device(_)), Some(op)) = (processes.get(&event.process), ops.get(&event.name))
            else {
                continue;
            };
            let active = Event { start: event.start + base, end: event.end + base, op: *op, step };
            lanes.entry((event.process, event.lane)).or_default().push(active);
        }
        for ((process, lane), events) in lanes {
            if let Some(Process::Device(device)) = processes.get(&process) {
                let device = trace.device_index(device);
                let process = self.process_names.get(&process).map(String::as_str).unwrap_or_default();
                trace.lanes.push(Lane::new(device, format!("{process} lane {}", self.ids.get(lane)), events));
            }
        }
        self.warn_about_overlap(&processes);
        trace.warnings = self.warnings;
        if trace.lanes.is_empty() {
            let what = "the timeline holds no operation on a device; record it with tf.estimator.ProfilerHook or \
                        timeline.Timeline(run_metadata.step_stats)";
            return Err(TraceError::empty(&self.file, what, &trace.warnings));
        }
        Ok(trace)
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
        let insert = |op: &Op| trace.model.insert(op.clone(), Facts::default());
        let nodes: Vec<NodeId> = placed.iter().map(insert).collect();
        for (from, to) in graph.edges() {
            trace.model.connect(nodes[from], nodes[to]);
        }
        placed.into_iter().zip(types.keys()).map(|(op, name)| (*name, trace.ops.intern(op))).collect()
    }

    /// What each process with a known name stands for.
    fn processes(&self) -> FxHashMap<u32, Process> {
        let devices = self.process_names.iter().filter_map(|(id, name)| Some((*id, Placement::of(name)?)));
        let devices: Vec<(u32, Placement)> = devices.collect();
        let all_streams: Vec<Device> = devices
            .iter()
            .filter(|(_, placement)| placement.all_streams)
            .map(|(_, placement)| placement.device.clone())
            .collect();
        let process = |placement: Placement| {
            if placement.one_stream && all_streams.contains(&placement.device) {
                Process::Repeated(placement.device)
            } else {
                Process::Device(placement.device)
            }
        };
        devices.into_iter().map(|(id, placement)| (id, process(placement))).collect()
    }

    fn counts(
        &self,
        processes: &FxHashMap<u32, Process>,
        base: Nanos,
        takes_census: bool,
    ) -> (Vec<ReadCount>, Census) {
        let mut counter = Counter::new(takes_census);
        for event in &self.events {
            let is_operation = matches!(processes.get(&event.process), Some(Process::Device(_)));
            counter.note(event.process, event.start, event.end, is_operation);
        }
        counter.finish(base, |process| match processes.get(process)? {
            Process::Device(device) => Some((device.clone(), "Op".to_owned())),
            Process::Repeated(device) => Some((device.clone(), "Op repeated by stream".to_owned())),
        })
    }

    fn warn_about_unknown(&mut self, processes: &FxHashMap<u32, Process>) {
        let unknown: Vec<u64> = self
            .events
            .iter()
            .filter(|event| !processes.contains_key(&event.process))
            .map(|event| event.offset)
            .collect();
        if let Some(first) = unknown.first() {
            let message = format!(
                "{} events of processes that are no device are left out; the first stands here",
                unknown.len()
            );
            self.warn_at(*first, message);
        }
    }

    /// The writer gives each event of a lane its own time; where two overlap, the file is not what it seems.
    fn warn_about_overlap(&mut self, processes: &FxHashMap<u32, Process>) {
        let mut events: Vec<&TimelineEvent> = self
            .events
            .iter()
            .filter(|event| matches!(processes.get(&event.process), Some(Process::Device(_))))
            .collect();
        events.sort_by_key(|event| (event.process, event.lane, event.start, event.end));
        let overlap = |pair: &&[&TimelineEvent]| {
            (pair[0].process, pair[0].lane) == (pair[1].process, pair[1].lane) && pair[1].start < pair[0].end
        };
        let overlaps: Vec<u64> = events.windows(2).filter(overlap).map(|pair| pair[1].offset).collect();
        if let Some(first) = overlaps.first() {
            let message = format!(
                "{} events overlap another in the same lane, which a lane does not allow; the one that began last counts as active. The first stands here",
                overlaps.len()
            );
            self.warn_at(*first, message);
        }
    }
}

impl ChromeVisitor for Recording {
    fn header(&mut self, _key: &str, _value: &[u8]) {}

    fn event(&mut self, event: &ChromeEvent<'_>, offset: u64) -> bool {
        self.read += 1;
        match event.phase {
            b'X' => self.complete(event, offset),
            b'M' if event.name.bytes == b"process_name" => {
                let process = self.ids.bytes(event.pid);
                self.process_names.insert(process, event.args.name.text());
            }
            _ => {}
        }
        true
    }
}

/// Where the events of a process happened.
struct Placement {
    device: Device,
    all_streams: bool,
    one_stream: bool,
}

impl Placement {
    /// Understands `/job:localhost/replica:0/task:0/device:CPU:0 Compute`, `/device:GPU:0/stream:all Compute`,
    /// `/gpu:0/memcpy Compute`. What a job schedules on a GPU happens on the host.
    fn of(process: &str) -> Option<Placement> {
        let name = process.strip_suffix(" Compute")?.to_ascii_lowercase();
        let part = |key: &str| name.split('/').find_map(|part| part.strip_prefix(key));
        let index = |text: &str| text.parse::<u32>().ok();
        let gpu = name.find("gpu:").and_then(|at| index(name[at + 4..].split(['/', ' ']).next()?));
        let stream = part("stream:");
        let on_gpu = stream.is_some() || name.contains("memcpy") || part("job:").is_none();
        let device = match gpu {
            Some(index) if on_gpu => Device::new(DeviceClass::Gpu, index),
            Some(_) => Device::new(DeviceClass::Cpu, 0),
            None => {
                let at = name.find("cpu")?;
                let number = name[at + 3..].trim_start_matches(':').split('/').next().and_then(index);
                Device::new(DeviceClass::Cpu, number.unwrap_or(0))
            }
        };
        let device = match part("job:") {
            None | Some("localhost") => device,
            Some(job) => device.on(&format!("{job}-{}", part("task:").unwrap_or("0"))),
        };
        Some(Placement {
            device,
            all_streams: stream == Some("all"),
            one_stream: stream.is_some_and(|stream| stream != "all"),
        })
    }
}

/// An input without the number of the output it comes from.
fn without_port(input: &str) -> &str {
    match input.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => input,
    }
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
    fn processes_name_their_devices() {
        for (process, device) in [
            ("/job:localhost/replica:0/task:0/device:CPU:0 Compute", Some("host/cpu:0")),
            ("/job:localhost/replica:0/task:0/device:GPU:1 Compute", Some("host/cpu:0")),
            ("/device:GPU:1/stream:all Compute", Some("host/gpu:1")),
            ("/device:GPU:0/memcpy Compute", Some("host/gpu:0")),
            ("/gpu:0 Compute", Some("host/gpu:0")),
            ("/host:CPU Compute", Some("host/cpu:0")),
            ("/job:worker/replica:0/task:3/device:CPU:0 Compute", Some("worker-3/cpu:0")),
            ("/job:localhost/replica:0/task:0/device:CPU:0 Tensors", None),
            ("Allocators", None),
        ] {
            let placed = Placement::of(process).map(|placement| placement.device.to_string());
            assert_eq!(placed.as_deref(), device, "{process}");
        }
    }

    #[test]
    fn the_step_stands_in_the_file_name() {
        assert_eq!(step_in_name("runs/timeline-28.json.gz"), Step(28));
        assert_eq!(step_in_name("my_timeline-5.json"), Step(5));
        assert_eq!(step_in_name("trace.json"), Step::NONE);
    }

    #[test]
    fn ports_are_no_part_of_a_name() {
        assert_eq!(without_port("bert/Split:2"), "bert/Split");
        assert_eq!(without_port("a:b"), "a:b");
    }
}
