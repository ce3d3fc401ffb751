//! What the events of the host are, determined once for every name and not for every event.

use std::str::from_utf8;

use super::eager::{CALL, SCOPE};
use super::layers::Layers;
use super::names::{Named, OpPlacement, data_op, iterator_op, places, preparing_op};
use super::ops::{Ops, Slot};
use super::space::{EventName, Plane};

/// What the events with one name are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    /// The operation they are runs of …
    pub(super) op: Slot,
    /// … and the one they are runs of in a thread of the input pipeline.
    pub(super) data_op: Slot,
    pub(super) sort: Sort,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// A run of an operation.
    Op,
    /// The same, when it is in a thread that runs operations; the name alone is not enough.
    PerhapsOp,
    /// A sum of gradients, whose place follows from what ran before it.
    Sum,
    /// What a thread pool notes about itself, without any duration.
    Listener,
    /// Says when the work of an operation of XLA was done.
    End,
    /// Something around operations or beside them.
    Other,
    /// Its statistics may show that it is an operation of XLA, or a step.
    Unknown,
    /// It carries the time of day.
    Marker,
    /// A scope of a program that runs operations one by one, the call of such an operation, or that of a function.
    Scope,
    Eager,
    Function,
    /// The call of an operation that ends in another thread; it may be a compiled function.
    Asynchronous,
}

/// The call of an operation that ends in another thread.
const ASYNCHRONOUS: &str = "ExecutorState::ProcessAsync::Start";

/// What is known about a file before its events are gone through.
pub(super) struct About<'a> {
    pub(super) layers: &'a Layers,
    /// Whether it holds compiled modules.
    pub(super) has_programs: bool,
}

/// Names of containers, of which there are as many as of operations.
const CONTAINERS: [&str; 8] = [
    "ExecutorState::",
    "ExecutorDoneCallback",
    "ThunkExecutor::",
    "MemoryAllocation",
    "MemoryDeallocation",
    "KernelAndDeviceFunc::",
    "Eager",
    "ParallelFor",
];

/// Iterators that wait for others.
const ITERATORS: [&str; 2] = ["Iterator::", "ReduceIterator::"];

/// The kind of every name of the plane, in the order of its table.
pub(super) fn kinds(plane: &Plane<'_>, about: &About<'_>, ops: &mut Ops) -> Vec<Kind> {
    let names: Vec<EventName<'_>> = plane.events.iter().map(|(_, name)| *name).collect();
    let displayed: Vec<Option<Named<'_>>> = names.iter().map(displayed_op).collect();
    let any_displayed = displayed.iter().any(Option::is_some);
    let is_compiled = plane.stat_id("hlo_op").is_some();
    // Without graphs there are no scopes. Operations that are there without one may be those of a function.
    let is_function = |name: &EventName<'_>| name.name.starts_with(b"EagerLocalExecute: __");
    let has_functions = any_displayed && names.iter().any(is_function);
    let is_eager = displayed.iter().flatten().all(|op| !op.name.contains('/'))
        && !has_functions
        && !is_compiled
        && !about.has_programs
        && !about.layers.is_eager;
    let is_untold = about.has_programs && !is_compiled;
    let found: Vec<Option<Named<'_>>> =
        if any_displayed { displayed } else { names.iter().map(undisplayed_op).collect() };
    let placed = places(&found.iter().flatten().copied().collect::<Vec<_>>(), about.layers);
    let mut placed = placed.into_iter();
    let mut kind = |(name, op): (&EventName<'_>, &Option<Named<'_>>)| {
        let Some(named) = op else {
            let text = String::from_utf8_lossy(name.name);
            let special = eager_sort(&text).filter(|_| about.layers.is_eager);
            let special = special.or((is_untold && text == ASYNCHRONOUS).then_some(Sort::Asynchronous));
            return special.map_or_else(|| other(&text, is_eager, ops), without_op);
        };
        let sort = if any_displayed { Sort::Op } else { Sort::PerhapsOp };
        let data_op = ops.add(data_op(*named));
        let Some(placed) = placed.next() else { return Kind { op: data_op, data_op, sort } };
        let (op, sort) = match placed.place {
            OpPlacement::At(op) => (ops.add(op), sort),
            OpPlacement::SumOfGradients(op) => (ops.add_sum(op), Sort::Sum),
        };
        Kind { op, data_op: if placed.is_of_model { op } else { data_op }, sort }
    };
    names.iter().zip(&found).map(&mut kind).collect()
}

/// An operation is an event whose name ends in its type, which is what the viewer shows.
fn displayed_op<'a>(event: &EventName<'a>) -> Option<Named<'a>> {
    let name = from_utf8(event.name).ok()?;
    let op_type = from_utf8(event.display).ok().filter(|op_type| !op_type.is_empty())?;
    let name = name.strip_suffix(op_type)?.strip_suffix(':')?;
    (!name.is_empty() && !name.ends_with(':') && !op_type.contains(':')).then_some(Named { name, op_type })
}

/// The same where the writer left out what the viewer shows: `name:Type`, the type an identifier in camel case.
fn undisplayed_op<'a>(event: &EventName<'a>) -> Option<Named<'a>> {
    let (name, op_type) = from_utf8(event.name).ok()?.rsplit_once(':')?;
    let is_type = op_type.starts_with(|first: char| first == '_' || first.is_ascii_uppercase())
        && op_type.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    let is_name = !name.is_empty() && !name.ends_with(':') && !name.contains([' ', '(']);
    (is_type && is_name).then_some(Named { name, op_type })
}

/// What an event of a program is that runs operations one by one.
fn eager_sort(name: &str) -> Option<Sort> {
    match name.strip_prefix(CALL) {
        Some("") => None,
        Some(called) => Some(if called.starts_with("__") { Sort::Function } else { Sort::Eager }),
        None => name.starts_with(SCOPE).then_some(Sort::Scope),
    }
}

fn without_op(sort: Sort) -> Kind {
    Kind { op: Slot::NONE, data_op: Slot::NONE, sort }
}

fn other(name: &str, is_eager: bool, ops: &mut Ops) -> Kind {
    let op = |slot| Kind { op: slot, data_op: slot, sort: Sort::Op };
    let sort = without_op;
    if name.starts_with("ThreadpoolListener") {
        return sort(Sort::Listener);
    }
    if name.starts_with("end: ") {
        return sort(Sort::End);
    }
    if name == "MARK" || name.contains("wall_ns=") {
        return sort(Sort::Marker);
    }
    if let Some(iterator) = iterator_op(name) {
        return op(ops.add(iterator));
    }
    // What a program prepares itself is no part of a step; what a function prepares is.
    if let Some(preparing) = preparing_op(name) {
        return Kind { sort: Sort::PerhapsOp, ..op(ops.add(preparing)) };
    }
    // Without graphs the calls of operations are all there is.
    if let (true, Some(called)) = (is_eager, name.strip_prefix(CALL))
        && !called.is_empty()
        && !called.starts_with("__")
    {
        return op(ops.add_eager(called, name));
    }
    let is_container = CONTAINERS.iter().chain(&ITERATORS).any(|container| name.starts_with(container));
    sort(if is_container { Sort::Other } else { Sort::Unknown })
}
