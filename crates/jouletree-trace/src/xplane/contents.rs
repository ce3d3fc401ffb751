//! What was read from an XPlane file so far, and the trace made of it.

use indexmap::{IndexMap, IndexSet};
use rustc_hash::FxBuildHasher;

use jouletree_model::{
    Device, DeviceClass, Event, Lane, Marker, ModelTree, Nanos, NodeId, OpId, Step, Trace, TraceSource, Warning,
};

use crate::census::Counter;
use crate::error::TraceError;
use crate::options::ReadOptions;
use crate::rejects::Rejects;
use crate::source::Source;
use crate::time_base::{absolute, find_time_base};

use super::containers::Containers;
use super::layers::Layers;
use super::ops::{Ops, Slot};
use super::programs::Programs;
use super::space::{LineHead, Plane, Space, position};
use super::stats::RawEvent;
use super::steps::Steps;
use super::work::{Work, side_by_side};
use super::xla::Instructions;

/// Everything of interest in one file. Times are by the file's own clock.
pub(super) struct XPlaneContents<'a> {
    file: &'a [u8],
    /// How many events were met.
    pub(super) events: u64,
    /// Where the first damaged line is damaged.
    pub(super) damage: Option<usize>,
    pub(super) ops: Ops,
    pub(super) layers: Layers,
    pub(super) steps: Steps,
    pub(super) programs: Programs<'a>,
    pub(super) instructions: Instructions,
    pub(super) work: Work,
    pub(super) containers: Containers,
    pub(super) markers: Vec<Marker>,
    pub(super) rejects: Rejects,
    counter: Counter<usize>,
    categories: IndexSet<(Device, String), FxBuildHasher>,
    lanes: IndexMap<LaneKey, OpenLane, FxBuildHasher>,
    /// When the profile began, if the file says, or zero when its times are times of day.
    base: Option<Nanos>,
    host: Option<String>,
}

/// Lines of a plane with the same number and name are one.
type LaneKey = (usize, i64, String);

struct OpenLane {
    device: Device,
    label: String,
    events: Vec<Event>,
}

/// The lines of a plane with their headers.
pub(super) fn lines<'a>(plane: &Plane<'a>) -> Vec<(LineHead, &'a [u8])> {
    plane.lines.iter().map(|line| (LineHead::read(line), *line)).collect()
}

impl<'a> XPlaneContents<'a> {
    pub(super) fn new(file: &'a [u8], space: &Space<'a>, takes_census: bool) -> XPlaneContents<'a> {
        let starts = || space.planes.iter().flat_map(|plane| &plane.lines).map(|line| LineHead::read(line).start);
        XPlaneContents {
            file,
            events: 0,
            damage: None,
            ops: Ops::default(),
            layers: Layers::of(space),
            steps: Steps::default(),
            programs: Programs::of(space),
            instructions: Instructions::default(),
            work: Work::default(),
            containers: Containers::default(),
            markers: Vec::new(),
            rejects: Rejects::default(),
            counter: Counter::new(takes_census),
            categories: IndexSet::default(),
            lanes: IndexMap::default(),
            base: space.profile_start().or_else(|| starts().find_map(absolute)),
            host: space.host.clone(),
        }
    }

    /// Whether the extent of every event is wanted.
    pub(super) fn takes_census(&self) -> bool {
        self.counter.takes_census()
    }

    /// When a line began. It should be a time of day, but most are relative to the start of the profile.
    pub(super) fn line_start(&self, head: &LineHead) -> Nanos {
        match (absolute(head.start), self.base) {
            (Some(_), Some(base)) => head.start - base,
            _ => head.start,
        }
    }

    /// The number under which events of a category are counted.
    pub(super) fn category(&mut self, device: &Device, name: &str) -> usize {
        self.categories.insert_full((device.clone(), name.to_owned())).0
    }

    /// Counts events whose extents are not wanted.
    pub(super) fn count(&mut self, category: usize, events: u64) {
        self.counter.count_many(category, events);
    }

    /// Counts an event with its extent.
    pub(super) fn note(&mut self, category: usize, start: Nanos, end: Nanos, is_operation: bool) {
        self.counter.note(category, start, end, is_operation);
    }

    /// Notes damage at `at` in a line; the first is the one to report.
    pub(super) fn note_damage(&mut self, line: &[u8], at: Option<usize>) {
        let at = at.map(|at| position(self.file, line) + at);
        self.damage = [self.damage, at].into_iter().flatten().min();
    }

    /// Rejects an event that has no extent.
    #[cold]
    pub(super) fn reject(&mut self, event: &RawEvent<'_>, message: &[u8]) {
        let what = if event.damaged {
            "that are damaged"
        } else if event.is_sum {
            "that are sums over many runs, without a time,"
        } else {
            "with a negative duration"
        };
        self.rejects.note(what, position(self.file, message) as u64);
    }

    /// Notes an event whose name is not in the file.
    #[cold]
    pub(super) fn nameless(&mut self, message: &[u8]) {
        self.rejects.note("whose name is not in the file", position(self.file, message) as u64);
    }

    /// Adds the runs of operations in a line; their operations are still slots. Returns the number of their lane, and how many
    /// it had before.
    pub(super) fn add_lane(
        &mut self,
        plane: usize,
        head: &LineHead,
        device: &Device,
        label: String,
        events: Vec<Event>,
    ) -> Option<(usize, usize)> {
        if events.is_empty() {
            return None;
        }
        match self.lanes.entry((plane, head.id, head.name.clone())) {
            indexmap::map::Entry::Occupied(mut lane) => {
                let before = lane.get().events.len();
                lane.get_mut().events.extend(events);
                Some((lane.index(), before))
            }
            indexmap::map::Entry::Vacant(lane) => {
                let index = lane.index();
                lane.insert(OpenLane { device: device.clone(), label, events });
                Some((index, 0))
            }
        }
    }

    /// Gives operations that went on after their call lanes of their own.
    fn lay_out_work(&mut self) {
        let mut lanes: Vec<&mut Vec<Event>> = self.lanes.values_mut().map(|lane| &mut lane.events).collect();
        let outlasting = std::mem::take(&mut self.work).outlasting(&mut lanes);
        for (number, events) in outlasting.into_iter().enumerate() {
            let (device, label) = (Device::new(DeviceClass::Cpu, 0), format!("work of XLA {number}"));
            self.lanes.insert((usize::MAX, number as i64, label.clone()), OpenLane { device, label, events });
        }
        self.lay_out_containers();
        self.lanes.retain(|_, lane| !lane.events.is_empty());
    }

    /// Gives what is left of loops, branches and calls lanes of their own.
    fn lay_out_containers(&mut self) {
        let devices: IndexSet<Device> = self.lanes.values().map(|lane| lane.device.clone()).collect();
        for device in devices {
            let lanes = self.lanes.values_mut().filter(|lane| lane.device == device);
            let mut lanes: Vec<&mut Vec<Event>> = lanes.map(|lane| &mut lane.events).collect();
            let leftovers = self.containers.leftovers(&mut lanes);
            for (number, events) in side_by_side(leftovers).into_iter().enumerate() {
                let (device, label) = (device.clone(), format!("{device} loops of XLA {number}"));
                self.lanes.insert((usize::MAX, number as i64, label.clone()), OpenLane { device, label, events });
            }
        }
    }

    /// Draws the conclusions and gives the trace.
    pub(super) fn into_trace(
        mut self,
        source: &Source,
        options: &ReadOptions,
        mut warnings: Vec<Warning>,
    ) -> Result<Trace, TraceError> {
        warnings.extend(self.rejects.warnings(source.name()));
        self.lay_out_work();
        let time_base = find_time_base(source, options, self.base, &mut self.markers, &mut warnings);
        let base = time_base.base();
        let categories = self.categories;
        let (counts, census) = self.counter.finish(base, |category| categories.get_index(*category).cloned());
        let mut trace = Trace { census, ..Trace::default() };
        self.ops.place_sums();
        warnings.extend(name_warnings(source.name(), &self.ops, &self.programs));
        let finder = self.steps.finder();
        let numbers = numbers(&self.ops, &self.lanes, &mut trace);
        for lane in self.lanes.into_values() {
            let mut events = lane.events;
            let mut hint = 0;
            for event in &mut events {
                event.op = numbers.get(event.op.index()).copied().unwrap_or(event.op);
                if !finder.is_empty() {
                    event.step = finder.step(event.start, event.step, &mut hint);
                }
                event.start += base;
                event.end += base;
            }
            let device = trace.device_index(&lane.device);
            trace.lanes.push(Lane::new(device, lane.label, events));
        }
        self.programs.add_to(&mut trace.model);
        if !self.layers.is_empty() {
            trace.model = with_names_of_layers(&trace.model, &self.layers);
        }
        let source_name = source.name().to_owned();
        if trace.lanes.is_empty() {
            let what = "the profile holds no run of an operation; record some steps between \
                        tf.profiler.experimental.start and stop, or jax.profiler.start_trace and stop_trace";
            return Err(TraceError::empty(&source_name, what, &warnings));
        }
        let source = TraceSource {
            file: source_name,
            host: self.host,
            time_base,
            markers: self.markers,
            counts,
            ..TraceSource::default()
        };
        trace.sources.push(source);
        trace.warnings = warnings;
        Ok(trace)
    }
}

/// The numbers that slots have in the trace; operations that did not run get none.
fn numbers(ops: &Ops, lanes: &IndexMap<LaneKey, OpenLane, FxBuildHasher>, trace: &mut Trace) -> Vec<OpId> {
    let mut used = vec![false; ops.len()];
    for event in lanes.values().flat_map(|lane| &lane.events) {
        if let Some(used) = used.get_mut(event.op.index()) {
            *used = true;
        }
    }
    ops.numbers(&used, |op| trace.ops.intern(op))
}

/// The model with the names that the program gives its layers.
fn with_names_of_layers(model: &ModelTree, layers: &Layers) -> ModelTree {
    let mut renamed = ModelTree::default();
    let numbers: Vec<NodeId> =
        model.nodes().map(|(_, op, facts)| renamed.insert(layers.renamed(op.clone()), facts.clone())).collect();
    for edge in model.edges() {
        if let (Some(from), Some(to)) = (numbers.get(edge.from.index()), numbers.get(edge.to.index())) {
            renamed.connect(*from, *to);
        }
    }
    renamed
}

fn name_warnings(file: &str, ops: &Ops, programs: &Programs<'_>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if ops.eager > 0 {
        let message = "the program ran without graphs (eagerly), so its operations are known by their types alone; \
                       run it in a tf.function to see layers";
        warnings.push(Warning::new(file, message));
    }
    if programs.untold > 0 {
        let message = "this version of TensorFlow does not record what runs inside of functions that XLA compiled \
                       (jit_compile=True): their energy is split over layers by the operations they take; for \
                       measured layers use jit_compile=False or TensorFlow 2.16 and later";
        warnings.push(Warning::new(file, message));
    }
    if programs.unknown > 0 {
        let message = format!(
            "{} compiled instructions are known by their names alone: the file does not hold their modules; let \
             the profiler write HLO protos to see layers",
            programs.unknown
        );
        warnings.push(Warning::new(file, message));
    }
    warnings
}

/// A run of an operation that is still a slot.
#[inline]
pub(super) fn run(start: Nanos, end: Nanos, slot: Slot, step: Step) -> Event {
    Event { start, end, op: OpId(slot.0), step }
}
