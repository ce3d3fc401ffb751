//! What the file says, event by event, and the trace that follows from it.

use std::cmp::Reverse;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use jouletree_model::{Device, DeviceClass, Event, Lane, Marker, Nanos, OpId, Step, Trace, TraceSource, Warning};

use super::arguments::Arguments;
use super::operations::Key;
use super::processes::{Processes, Thread};
use crate::census::Counter;
use crate::chrome::{ChromeEvent, ChromeVisitor};
use crate::interner::Interner;
use crate::json::{integer, nanos_from_micros};
use crate::options::ReadOptions;
use crate::rejects::Rejects;
use crate::source::Source;
use crate::time_base::{absolute, find_time_base, wall_in_name};

/// Everything of interest in one file.
pub(super) struct ChromeContents {
    file: String,
    names: Interner,
    processes: Processes,
    threads: IndexSet<Thread, FxBuildHasher>,
    /// What ran from when to when.
    pub(super) runs: Vec<Run>,
    /// Beginnings and ends that have not found each other yet.
    halves: Vec<Half>,
    pub(super) events: u64,
    pub(super) warnings: Vec<Warning>,
    markers: Vec<Marker>,
    /// Complete events by process.
    counter: Counter<Box<[u8]>>,
    rejects: Rejects,
    /// Asynchronous events, which belong to no thread.
    asynchronous: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    start: Nanos,
    end: Nanos,
    thread: u32,
    key: Key,
    /// Whether it names an operation of a framework.
    is_named: bool,
}

/// One half of an event that is written as a beginning and an end.
#[derive(Debug, Clone, Copy)]
struct Half {
    at: Nanos,
    thread: u32,
    offset: u64,
    /// What begins; `None` for an end.
    begins: Option<(Key, bool)>,
}

impl ChromeContents {
    pub(super) fn new(file: &str, takes_census: bool) -> ChromeContents {
        ChromeContents {
            file: file.to_owned(),
            names: Interner::default(),
            processes: Processes::default(),
            threads: IndexSet::default(),
            runs: Vec::new(),
            halves: Vec::new(),
            events: 0,
            warnings: Vec::new(),
            markers: Vec::new(),
            counter: Counter::new(takes_census),
            rejects: Rejects::default(),
            asynchronous: 0,
        }
    }

    fn thread(&mut self, event: &ChromeEvent<'_>) -> u32 {
        self.threads.insert_full((event.pid.into(), event.tid.into())).0 as u32
    }

    fn metadata(&mut self, event: &ChromeEvent<'_>) {
        let arguments = Arguments::of(event.args_text);
        match event.name.bytes {
            b"process_name" => self.processes.name_process(event.pid, arguments.name.text()),
            b"process_labels" => self.processes.label_process(event.pid, arguments.labels.text()),
            b"thread_name" => self.processes.name_thread(event.pid, event.tid, arguments.name.text()),
            _ => {}
        }
    }

    fn complete(&mut self, event: &ChromeEvent<'_>, offset: u64) {
        // A complete event without a duration is one that takes no time.
        let dur = if event.dur.is_empty() { b"0" } else { event.dur };
        let extent = ChromeEvent { ts: event.ts, dur, ..ChromeEvent::default() };
        let Some((start, end)) = self.rejects.extent(&extent, offset) else {
            return self.counter.count(event.pid.into());
        };
        let arguments = Arguments::of(event.args_text);
        self.mark(event, &arguments, start);
        let run = Run {
            start,
            end,
            thread: self.thread(event),
            key: Key::of(event, &arguments, &mut self.names),
            is_named: arguments.name_operation(),
        };
        self.runs.push(run);
    }

    /// A marker carries the time of day in its name or in its argument `wall`.
    fn mark(&mut self, event: &ChromeEvent<'_>, arguments: &Arguments<'_>, at: Nanos) {
        let in_argument = || integer(arguments.wall.bytes).filter(|_| event.name.bytes == b"MARK").map(Nanos);
        if let Some(wall) = wall_in_name(&event.name.text()).or_else(in_argument) {
            self.markers.push(Marker { wall, at });
        }
    }

    fn half(&mut self, event: &ChromeEvent<'_>, offset: u64) {
        let Some(at) = nanos_from_micros(event.ts).map(Nanos) else {
            return self.rejects.note("without a readable time", offset);
        };
        let begins = (event.phase == b'B').then(|| {
            let arguments = Arguments::of(event.args_text);
            self.mark(event, &arguments, at);
            (Key::of(event, &arguments, &mut self.names), arguments.name_operation())
        });
        let thread = self.thread(event);
        self.halves.push(Half { at, thread, offset, begins });
    }

    /// Joins beginnings and ends: in a thread an end belongs to what began last.
    pub(super) fn finish_pairs(&mut self) {
        let mut halves = std::mem::take(&mut self.halves);
        // A stable order: at one instant they stay as they were written.
        halves.sort_by_key(|half| (half.thread, half.at));
        let mut open: Vec<(Half, Key, bool)> = Vec::new();
        for half in halves {
            while let Some((unended, ..)) = open.pop_if(|(begun, ..)| begun.thread != half.thread) {
                self.rejects.note("that begin and never end", unended.offset);
            }
            match (half.begins, half.begins.is_none().then(|| open.pop()).flatten()) {
                (Some((key, is_named)), _) => open.push((half, key, is_named)),
                (None, Some((begun, key, is_named))) => {
                    let thread = half.thread;
                    self.runs.push(Run { start: begun.at, end: half.at, thread, key, is_named });
                }
                (None, None) => self.rejects.note("that end and never begin", half.offset),
            }
        }
        for (unended, ..) in open {
            self.rejects.note("that begin and never end", unended.offset);
        }
    }

    /// Draws the conclusions and gives the trace.
    pub(super) fn into_trace(mut self, source: &Source, options: &ReadOptions) -> Trace {
        let first = self.runs.iter().map(|run| run.start).min();
        // What is beside the file is exact; the event of a marker begins a little late.
        if source.sidecar().is_some_and(|sidecar| sidecar.exists()) {
            self.markers.clear();
        }
        let own = first.and_then(absolute);
        let time_base = find_time_base(source, options, own, &mut self.markers, &mut self.warnings);
        let base = time_base.base();
        let names_operations = self.runs.iter().any(|run| run.is_named);
        let is_operation = |run: &Run| run.is_named || !names_operations;
        for run in &self.runs {
            if let Some((pid, _)) = self.threads.get_index(run.thread as usize) {
                self.counter.note(pid.clone(), run.start, run.end, is_operation(run));
            }
        }
        let devices_told = self.threads.iter().any(|(pid, _)| self.processes.device(pid).is_some());
        let left_out = self.runs.iter().filter(|run| !is_operation(run)).count();
        self.warnings.extend(self.rejects.warnings(&self.file));
        self.warn(names_operations, left_out, devices_told);
        let cpu = Device::new(DeviceClass::Cpu, 0);
        let processes = &self.processes;
        let counter = std::mem::replace(&mut self.counter, Counter::new(false));
        let (counts, census) = counter.finish(base, |pid| {
            Some((processes.device(pid).unwrap_or_else(|| cpu.clone()), processes.process(pid)))
        });
        let source = TraceSource {
            file: self.file.clone(),
            time_base,
            markers: std::mem::take(&mut self.markers),
            counts,
            ..TraceSource::default()
        };
        let mut trace = Trace { sources: vec![source], census, ..Trace::default() };
        let mut ops: FxHashMap<Key, OpId> = FxHashMap::default();
        let mut lanes: Vec<Vec<Event>> = vec![Vec::new(); self.threads.len()];
        self.runs.sort_by_key(|run| (run.start, Reverse(run.end)));
        for run in self.runs.iter().filter(|run| is_operation(run)) {
            let op = *ops.entry(run.key).or_insert_with(|| trace.ops.intern(run.key.op(&self.names)));
            if let Some(lane) = lanes.get_mut(run.thread as usize) {
                lane.push(Event { start: run.start + base, end: run.end + base, op, step: Step::NONE });
            }
        }
        for ((pid, tid), events) in self.threads.iter().zip(lanes) {
            if !events.is_empty() {
                let device = trace.device_index(self.processes.device(pid).as_ref().unwrap_or(&cpu));
                trace.lanes.push(Lane::new(device, self.processes.thread(pid, tid), events));
            }
        }
        trace.warnings = self.warnings;
        trace
    }

    /// Says what this file lacks.
    fn warn(&mut self, names_operations: bool, left_out: usize, devices_told: bool) {
        let mut warn = |message: String| self.warnings.push(Warning::new(&self.file, message));
        if names_operations {
            warn(format!(
                "this is what TensorFlow's or JAX's trace viewer shows; {left_out} events that are not operations are \
                 left out. The .xplane.pb beside it has the time of day, the compiled program and with it the layers: \
                 read that instead"
            ));
        } else {
            let device = if devices_told { "" } else { ", on which device (all is charged to cpu:0)" };
            warn(format!(
                "a Chrome trace of an unknown program: every event is taken for an operation known by its name alone. \
                 It does not say in which layer or pass anything ran{device}. If it comes from PyTorch, TensorFlow, \
                 JAX or ONNX Runtime, record with the framework's own profiler; else write a table with the header \
                 start_ns,end_ns,device,lane,op"
            ));
        }
        if self.asynchronous > 0 {
            let count = self.asynchronous;
            warn(format!("{count} asynchronous events (phases b, e, S, F) belong to no thread and are left out"));
        }
    }
}

impl ChromeVisitor for ChromeContents {
    fn header(&mut self, _key: &str, _value: &[u8]) {}

    fn event(&mut self, event: &ChromeEvent<'_>, offset: u64) -> bool {
        self.events += 1;
        match event.phase {
            b'X' => self.complete(event, offset),
            b'B' | b'E' => self.half(event, offset),
            b'M' => self.metadata(event),
            b'b' | b'e' | b'S' | b'F' => self.asynchronous += 1,
            _ => {}
        }
        true
    }
}
