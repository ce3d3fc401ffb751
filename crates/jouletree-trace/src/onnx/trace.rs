//! The trace that follows from a profile: operations at their places, lanes, steps.

use indexmap::IndexMap;

use jouletree_model::{
    Device, DeviceClass, Event, Facts, Lane, Nanos, Op, OpId, Pass, Step, Trace, TraceSource, Warning,
};

use crate::census::Counter;
use crate::kineto::short_kernel_name;
use crate::options::ReadOptions;
use crate::source::Source;
use crate::time_base::find_time_base;

use super::contents::{EventDevice, OnnxContents};
use super::graph::Graph;
use super::names::layer;
use super::place::{Executed, Places, places};
use super::runs::Runs;

/// The name under which kernels are gathered whose launching operation is unknown.
const UNLAUNCHED: &str = "unlaunched";

/// Draws the conclusions from a recording.
pub(super) fn trace_of(mut recording: OnnxContents, source: &Source, options: &ReadOptions) -> Trace {
    let mut warnings = std::mem::take(&mut recording.warnings);
    warnings.extend(recording.rejects.warnings(&recording.file));
    let time_base = find_time_base(source, options, None, &mut [], &mut warnings);
    let base = time_base.base();
    let counter = std::mem::replace(&mut recording.counter, Counter::new(false));
    let (counts, census) = counter
        .finish(base, |(place, category)| Some((device(*place), recording.names.get(*category).into_owned())));
    let source = TraceSource { file: recording.file.clone(), time_base, counts, ..TraceSource::default() };
    let mut trace = Trace { sources: vec![source], census, warnings, ..Trace::default() };

    let runs = Runs::new(std::mem::take(&mut recording.runs));
    recording.nodes.sort_by_key(|event| event.start);
    let ops = intern_ops(&recording, &runs, options, &mut trace);
    host_lanes(&recording, &runs, &ops, base, &mut trace);
    device_lanes(&recording, &runs, &ops, base, &mut trace);
    trace
}

fn device(place: EventDevice) -> Device {
    // A profile does not distinguish GPUs.
    match place {
        EventDevice::Host => Device::new(DeviceClass::Cpu, 0),
        EventDevice::Gpu => Device::new(DeviceClass::Gpu, 0),
    }
}

/// Puts the operations, at their places in the model, into `trace`; they come back by their number in the recording.
fn intern_ops(
    recording: &OnnxContents,
    runs: &Runs,
    options: &ReadOptions,
    trace: &mut Trace,
) -> Vec<Option<OpId>> {
    let order = execution_order(recording, runs);
    let name = |number: u32| recording.names.get(number).into_owned();
    let executed: Vec<Executed> = order
        .iter()
        .filter_map(|op| recording.ops.get_index(*op))
        .map(|((node, op_type), _)| Executed { name: name(*node), op_type: name(*op_type) })
        .collect();
    let graph = Graph::new(&options.model);
    let places = places(&executed, &graph);
    trace.warnings.extend(warning_about(&places, &executed, recording, options));

    let mut ids = vec![None; recording.ops.len()];
    let mut nodes = Vec::with_capacity(order.len());
    for ((op, ran), path) in order.iter().zip(&executed).zip(&places.paths) {
        let placed = Op::new(recording.rooted(path), ran.op_type.as_str(), ran.name.as_str(), Pass::Forward);
        let facts = recording.ops.get_index(*op).map(|(_, facts)| facts.clone()).unwrap_or_default();
        nodes.push(trace.model.insert(placed.clone(), facts));
        ids[*op] = Some(trace.ops.intern(placed));
    }
    for (op, facts) in known_by_model(&graph, &places.owners, &executed) {
        if let Some((op, _)) = nodes.get(op).and_then(|node| trace.model.get(*node)) {
            trace.model.insert(op.clone(), facts);
        }
    }
    for (from, to) in graph.flow(&places.owners) {
        trace.model.connect(nodes[from], nodes[to]);
    }
    ids
}

/// What the model knows about the nodes that each operation computes. Its parameters are those of all of them; the work
/// is known only if there is but one, of its own type.
fn known_by_model(graph: &Graph<'_>, owners: &[Option<usize>], executed: &[Executed]) -> IndexMap<usize, Facts> {
    let mut known: IndexMap<usize, Facts> = IndexMap::new();
    for (node, owner) in owners.iter().enumerate().filter_map(|(node, owner)| Some((node, (*owner)?))) {
        let facts = graph.nodes[node].facts;
        let is_same = executed.get(owner).is_some_and(|op| op.op_type.contains(graph.nodes[node].op_type));
        let flops = facts.flops.filter(|_| is_same);
        known
            .entry(owner)
            .and_modify(|sum| {
                sum.flops = None;
                sum.parameters = match (sum.parameters, facts.parameters) {
                    (Some(sum), Some(more)) => Some(sum.saturating_add(more)),
                    (sum, more) => sum.or(more),
                };
            })
            .or_insert(Facts { parameters: facts.parameters, flops, ..Facts::default() });
    }
    known
}

/// The distinct operations in the order in which a run goes through them. What only a later run does comes after what
/// it follows there.
fn execution_order(recording: &OnnxContents, runs: &Runs) -> Vec<usize> {
    const END: usize = usize::MAX;
    let mut after: Vec<Option<usize>> = vec![None; recording.ops.len()];
    let mut first = END;
    let mut last_in_run: IndexMap<Step, usize> = IndexMap::new();
    for event in &recording.nodes {
        let last = last_in_run.insert(runs.at(Some(event.thread), event.start), event.op);
        if after[event.op].is_none() {
            let next = match last {
                Some(last) => after[last].replace(event.op),
                None => Some(std::mem::replace(&mut first, event.op)),
            };
            after[event.op] = Some(next.unwrap_or(END));
        }
    }
    let following = |op: &usize| after[*op].filter(|next| *next != END);
    std::iter::successors((first != END).then_some(first), following).collect()
}

fn warning_about(
    places: &Places,
    executed: &[Executed],
    recording: &OnnxContents,
    options: &ReadOptions,
) -> Option<Warning> {
    let warn = |message: String| Some(Warning::new(&recording.file, message));
    let has_layers = places.paths.iter().any(|path| !layer(path).is_empty());
    if !options.model.is_empty() && places.owners.iter().all(Option::is_none) {
        return warn("none of the operations is in the model given; is it the model that ran?".to_owned());
    }
    let first = &executed.get(*places.guessed.first()?)?.name;
    let (count, all) = (places.guessed.len(), executed.len());
    if options.model.is_empty() {
        let done = if has_layers {
            "they are put with what ran before and after them"
        } else {
            "they are outside of all layers"
        };
        warn(format!(
            "{count} of {all} operations have names without a layer, such as `{first}`: {done}; the model would show \
             where they belong (--model model.onnx)"
        ))
    } else {
        warn(format!(
            "{count} of {all} operations are not in the model, such as `{first}`: they are put with what ran before \
             and after them"
        ))
    }
}

fn host_lanes(recording: &OnnxContents, runs: &Runs, ops: &[Option<OpId>], base: Nanos, trace: &mut Trace) {
    let mut lanes: IndexMap<u32, Vec<Event>> = IndexMap::new();
    for event in &recording.nodes {
        let Some(op) = ops.get(event.op).copied().flatten() else { continue };
        let step = runs.at(Some(event.thread), event.start);
        let (start, end) = (event.start + base, event.end + base);
        lanes.entry(event.thread).or_default().push(Event { start, end, op, step });
    }
    for (thread, events) in lanes {
        let device = trace.device_index(&device(EventDevice::Host));
        trace.lanes.push(Lane::new(device, recording.names.get(thread), events));
    }
}

/// Kernels are where the operation is that launched them.
fn device_lanes(recording: &OnnxContents, runs: &Runs, ops: &[Option<OpId>], base: Nanos, trace: &mut Trace) {
    let mut lanes: IndexMap<u32, Vec<Event>> = IndexMap::new();
    let mut lost = 0;
    for event in &recording.kernels {
        let launcher = event.launched_by.and_then(|op| ops.get(op).copied().flatten());
        let launcher = launcher.and_then(|op| trace.ops.get(op));
        lost += usize::from(launcher.is_none());
        let name = recording.names.get(event.name);
        let short = short_kernel_name(&name);
        let unknown = || recording.rooted(&format!("{UNLAUNCHED}/{short}"));
        let path = launcher.map_or_else(unknown, |op| op.path.to_string());
        let op = trace.ops.intern(Op::new(path, short, name.as_ref(), Pass::Forward));
        let (start, end) = (event.start + base, event.end + base);
        let step = runs.at(None, event.start);
        lanes.entry(event.stream).or_default().push(Event { start, end, op, step });
    }
    for (stream, events) in lanes {
        let device = trace.device_index(&device(EventDevice::Gpu));
        trace.lanes.push(Lane::new(device, format!("stream {}", recording.names.get(stream)), events));
    }
    if lost > 0 {
        let message = format!(
            "{lost} of {} kernels do not say what launched them and are gathered under `{UNLAUNCHED}`",
            recording.kernels.len()
        );
        trace.warnings.push(Warning::new(&recording.file, message));
    }
}
