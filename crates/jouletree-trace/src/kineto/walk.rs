//! The walk through the host's threads, in time order: module, pass and step of every event.
//!
//! A forward operation always begins before its backward one, so one pass over all threads together is enough: when
//! a backward node begins, the module of its forward operation is already known.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use jouletree_model::{Device, DeviceClass, Event, Lane, Nanos, OpTable, Pass, Step, Trace};

use super::contents::{HostEvent, HostSort, KinetoContents};
use super::scopes::{Detail, EVALUATE, Scope, Scopes, module_path, range_name};

/// Libraries of collective communication, as their annotations begin.
const COLLECTIVES: [&str; 4] = ["nccl", "gloo", "mpi", "ucc"];

/// What encloses an event in its thread.
#[derive(Debug, Clone, Copy)]
struct Frame {
    end: Nanos,
    scope: Scope,
    pass: Pass,
    /// The innermost operator, if any.
    operator: Option<u32>,
    /// Whether it is a node of the backward pass, or inside of one.
    is_node: bool,
}

impl Frame {
    /// Outside of everything.
    const NONE: Frame =
        Frame { end: Nanos::MAX, scope: Scope::NONE, pass: Pass::Forward, operator: None, is_node: false };
}

/// Where a kernel was launched from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Launch {
    pub(super) scope: Scope,
    pub(super) pass: Pass,
    /// The operator that launched it, if any.
    pub(super) operator: Option<u32>,
    pub(super) step: Step,
}

/// Puts the lanes and operations of a recording into `trace`.
pub(super) fn lanes_of(mut recording: KinetoContents, trace: &mut Trace) {
    recording.host.sort_by_key(|event| (event.start, Reverse(event.end), event.order));
    let mut walk = Walk::new(&recording);
    let mut lanes: Vec<Vec<Event>> = vec![Vec::new(); recording.threads.len()];
    for event in &recording.host {
        if let Some(active) = walk.event(event, &mut trace.ops) {
            lanes[event.thread as usize].push(active);
        }
    }
    let rank = recording.rank.map(|rank| format!("rank {rank} ")).unwrap_or_default();
    if lanes.iter().any(|lane| !lane.is_empty()) {
        let cpu = trace.device_index(&Device::new(DeviceClass::Cpu, 0));
        for (thread, events) in recording.threads.iter().zip(lanes) {
            if !events.is_empty() {
                trace.lanes.push(Lane::new(cpu, format!("{rank}{thread}"), events));
            }
        }
    }
    let Walk { launches, scopes, steps, .. } = walk;
    super::device::lanes_of(&recording, &launches, scopes, &steps, &rank, trace);
    trace.warnings.append(&mut recording.warnings);
}

struct Walk<'a> {
    recording: &'a KinetoContents,
    scopes: Scopes,
    stacks: Vec<Vec<Frame>>,
    /// The scope of the last forward operation of each thread with each sequence number.
    forward: FxHashMap<(u32, i64), Scope>,
    /// The same whatever the thread.
    forward_anywhere: FxHashMap<i64, Scope>,
    /// The thread behind each number by which the profiler names forward threads.
    forward_threads: FxHashMap<u16, u32>,
    launches: FxHashMap<i64, Launch>,
    steps: Steps,
    /// The pass of the last event that was no collective.
    latest: Pass,
    /// What each name means, found out once, for annotations and for operators.
    meanings: Vec<Option<Meaning>>,
}

/// What an event's name says about the events inside it.
#[derive(Debug, Clone, Copy)]
enum Meaning {
    /// Nothing.
    Plain,
    /// A module, at this absolute path.
    Module(Scope),
    /// A range inside whatever encloses it.
    Range,
    /// A part of the optimizer.
    Optimizer(Scope),
    /// Data loading: a module of its own that leaves the pass alone.
    Apart(Scope),
    /// Collective communication: a module of its own, in the pass that waits for it.
    Collective(Scope),
    /// A backward pass as a whole, or a range of a library inside of one.
    Gradients(Scope),
    /// What an optimizer calls to compute the loss again.
    Closure,
    /// A profiler step.
    Step(u32),
    /// The evaluation of a backward node.
    Backward,
}

impl<'a> Walk<'a> {
    fn new(recording: &'a KinetoContents) -> Walk<'a> {
        Walk {
            recording,
            scopes: Scopes::new(),
            stacks: vec![Vec::new(); recording.threads.len()],
            forward: FxHashMap::default(),
            forward_anywhere: FxHashMap::default(),
            forward_threads: forward_threads(recording),
            launches: FxHashMap::default(),
            steps: Steps::default(),
            latest: Pass::Forward,
            meanings: vec![None; 2 * recording.names.len()],
        }
    }

    /// Takes the next event in time order; what it gives is active in its lane.
    fn event(&mut self, event: &HostEvent, ops: &mut OpTable) -> Option<Event> {
        let stack = &mut self.stacks[event.thread as usize];
        while stack.last().is_some_and(|frame| frame.end <= event.start) {
            stack.pop();
        }
        let outer = stack.last().copied().unwrap_or(Frame::NONE);
        let meaning = self.meaning(event);
        if let Meaning::Step(number) = meaning {
            self.steps.enter(number, event.start, event.end);
            return None;
        }
        let frame = self.frame(event, meaning, outer);
        if !matches!(meaning, Meaning::Collective(_)) {
            self.latest = frame.pass;
        }
        let step = self.steps.at(event.start);
        if event.end > event.start {
            self.stacks[event.thread as usize].push(frame);
        }
        let detail = match event.sort {
            HostSort::Operator | HostSort::Runtime => Detail::Host,
            HostSort::Annotation | HostSort::Module => Detail::Python,
        };
        match event.sort {
            HostSort::Operator => {
                if let (Some(sequence), 0) = (event.sequence(), event.forward_thread) {
                    if !self.forward_threads.is_empty() {
                        self.forward.insert((event.thread, sequence), frame.scope);
                    }
                    self.forward_anywhere.insert(sequence, frame.scope);
                }
            }
            HostSort::Runtime => {
                if let Some(correlation) = event.correlation() {
                    let Frame { scope, pass, operator, .. } = outer;
                    self.launches.insert(correlation, Launch { scope, pass, operator, step });
                }
            }
            HostSort::Annotation | HostSort::Module => {}
        }
        let op = self.scopes.op((frame.scope, event.name, detail, frame.pass), &self.recording.names, ops);
        Some(Event { start: event.start, end: event.end, op, step })
    }

    /// What the event means for itself and for those inside it.
    fn frame(&mut self, event: &HostEvent, meaning: Meaning, outer: Frame) -> Frame {
        let operator = if event.sort == HostSort::Operator { Some(event.name) } else { outer.operator };
        let same = Frame { end: event.end, operator, ..outer };
        match meaning {
            // The node itself, where the profiler does not say that autograd evaluates it.
            Meaning::Plain if event.forward_thread > 0 && !outer.is_node => self.backward(event, same),
            Meaning::Plain | Meaning::Step(_) => same,
            // The forward pass is forward wherever it runs, also where an optimizer calls it.
            Meaning::Module(scope) if outer.pass == Pass::Optimizer => {
                Frame { scope, pass: Pass::Forward, ..same }
            }
            Meaning::Closure => Frame { scope: Scope::NONE, pass: Pass::Forward, ..same },
            Meaning::Module(scope) | Meaning::Apart(scope) => Frame { scope, ..same },
            Meaning::Collective(scope) => Frame { scope, pass: self.waiting_pass(event), ..same },
            Meaning::Gradients(scope) => Frame { scope, pass: Pass::Backward, ..same },
            Meaning::Optimizer(scope) => Frame { scope, pass: Pass::Optimizer, ..same },
            Meaning::Range if event.sort == HostSort::Module && outer.pass == Pass::Optimizer => {
                let name = self.recording.names.get(event.name);
                Frame { scope: self.scopes.named("", range_name(&name)), pass: Pass::Forward, ..same }
            }
            Meaning::Range => {
                Frame { scope: self.scopes.inside(outer.scope, event.name, &self.recording.names), ..same }
            }
            Meaning::Backward => self.backward(event, same),
        }
    }

    /// A backward node is where its forward operation is.
    fn backward(&mut self, event: &HostEvent, same: Frame) -> Frame {
        let known = event.sequence().and_then(|sequence| {
            let thread = self.forward_threads.get(&event.forward_thread);
            let in_thread = thread.and_then(|thread| self.forward.get(&(*thread, sequence)));
            in_thread.or_else(|| self.forward_anywhere.get(&sequence)).copied()
        });
        let scope = known.unwrap_or_else(|| self.scopes.at("gradients"));
        Frame { scope, pass: Pass::Backward, is_node: true, ..same }
    }

    /// The pass of whatever waits for a collective: of its own thread, else of what the other threads do, else of what they
    /// did last. All-reduce of gradients runs in a thread of its own while the backward pass waits.
    fn waiting_pass(&self, event: &HostEvent) -> Pass {
        if let Some(outer) = self.stacks[event.thread as usize].last() {
            return outer.pass;
        }
        let active =
            |stack: &Vec<Frame>| stack.iter().rev().find(|frame| frame.end > event.start).map(|frame| frame.pass);
        let passes: Vec<Pass> = self.stacks.iter().filter_map(active).collect();
        let likely = [Pass::Backward, Pass::Optimizer, Pass::Forward];
        likely.into_iter().find(|pass| passes.contains(pass)).unwrap_or(self.latest)
    }

    fn meaning(&mut self, event: &HostEvent) -> Meaning {
        if event.sort == HostSort::Runtime {
            return Meaning::Plain;
        }
        let slot = 2 * event.name as usize + usize::from(event.sort == HostSort::Operator);
        let known = self.meanings.get(slot).copied().flatten();
        known.unwrap_or_else(|| {
            let name = self.recording.names.get(event.name);
            let meaning = self.meaning_of(&name, event.sort);
            if let Some(slot) = self.meanings.get_mut(slot) {
                *slot = Some(meaning);
            }
            meaning
        })
    }

    fn meaning_of(&mut self, name: &str, sort: HostSort) -> Meaning {
        if sort == HostSort::Operator {
            return if name.starts_with(EVALUATE) { Meaning::Backward } else { Meaning::Plain };
        }
        if let Some(qualified) = name.strip_prefix("module::") {
            return Meaning::Module(self.scopes.at(&module_path(qualified)));
        }
        if let Some(number) = name.strip_prefix("ProfilerStep#").and_then(|number| number.parse().ok()) {
            return Meaning::Step(number);
        }
        if let Some(part) = name.strip_prefix("Optimizer.") {
            let part = part.split_once('#').map_or(part, |(_, part)| part);
            return Meaning::Optimizer(self.scopes.at(&format!("optimizer/{part}")));
        }
        if let Some((library, _)) = name.split_once(':')
            && COLLECTIVES.contains(&library)
        {
            return Meaning::Collective(self.scopes.named("collectives", name));
        }
        if name == "jouletree::backward" {
            return Meaning::Gradients(self.scopes.at("gradients"));
        }
        if name == "jouletree::closure" {
            return Meaning::Closure;
        }
        if name.starts_with("FSDP::") && name.contains("backward") {
            return Meaning::Gradients(self.scopes.named("gradients", name));
        }
        if let Some(loader) = name.strip_prefix("enumerate(DataLoader)#") {
            return Meaning::Apart(self.scopes.at(&format!("data/{loader}")));
        }
        Meaning::Range
    }
}

/// Which thread the profiler means by each forward thread's number, found by the flows from forward to backward
/// operations. Empty when there is but one candidate, for then sequence numbers are enough.
fn forward_threads(recording: &KinetoContents) -> FxHashMap<u16, u32> {
    let numbered = || recording.host.iter().filter(|event| event.sequence().is_some());
    let mut candidates = numbered().filter(|event| event.forward_thread == 0).map(|event| event.thread);
    let first = candidates.next();
    if candidates.all(|thread| Some(thread) == first) {
        return FxHashMap::default();
    }
    let from: FxHashMap<i64, u32> = recording.flows.from.iter().copied().collect();
    let to: FxHashMap<(u32, Nanos), i64> = recording.flows.to.iter().copied().collect();
    let mut threads = FxHashMap::default();
    for event in numbered().filter(|event| event.forward_thread > 0) {
        let flow = to.get(&(event.thread, event.start));
        if let Some(thread) = flow.and_then(|flow| from.get(flow)) {
            threads.entry(event.forward_thread).or_insert(*thread);
        }
    }
    threads
}

/// The profiler's steps, which hold for all threads.
#[derive(Debug, Default)]
pub(super) struct Steps {
    spans: Vec<(Nanos, Nanos, u32)>,
}

impl Steps {
    fn enter(&mut self, number: u32, start: Nanos, end: Nanos) {
        self.spans.push((start, end, number));
    }

    /// The step that an instant falls into; steps are known up to the instant the walk has reached.
    pub(super) fn at(&self, instant: Nanos) -> Step {
        let after = self.spans.partition_point(|(start, _, _)| *start <= instant);
        match self.spans[..after].last() {
            Some((_, end, number)) if instant < *end => Step(*number),
            _ => Step::NONE,
        }
    }
}
