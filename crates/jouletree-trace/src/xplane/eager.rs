//! Operations that ran one by one, without a graph: they are known by their types, and by the scopes around them.
//!
//! While such steps are recorded the program makes each scope an event, `scope::net/dense`. What a thread does in a scope
//! outside of operations is Python's time, unless it waits there for a function that has operations of its own.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use jouletree_model::{Event, Nanos, Op, Pass, Step};

use crate::tensorflow::names::changes_variable;

use super::contents::run;
use super::names::{OPTIMIZER, is_called_optimizer};
use super::ops::{Ops, Slot};

/// How the event of a scope is called.
pub(super) const SCOPE: &str = "scope::";

/// How the call of an operation is called.
pub(super) const CALL: &str = "EagerLocalExecute: ";

/// The scope of what a tape computes.
const TAPE: &str = "gradient_tape";

/// The last part of the path of time outside of operations.
const PYTHON: &str = "(python)";

/// Something that a thread did, by the number of its name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    pub(super) name: i64,
    pub(super) kind: Stretched,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stretched {
    Scope,
    Operation,
    /// The call of a function, whose operations other threads record.
    Function,
}

/// A scope that is open while the events of a thread are gone through.
struct Open {
    end: Nanos,
    /// Up to where its time is given away.
    emitted: Nanos,
    name: Option<i64>,
    python: Slot,
}

/// The runs of operations in a thread, and of Python between them. `text` knows the names.
pub(super) fn runs<'a>(
    mut stretches: Vec<Stretch>,
    ops: &mut Ops,
    text: impl Fn(i64) -> Option<&'a str>,
) -> Vec<Event> {
    stretches.sort_by_key(|stretch| (stretch.start, Reverse(stretch.end)));
    let mut events: Vec<Event> = Vec::with_capacity(stretches.len());
    let mut known: FxHashMap<(Option<i64>, i64), Slot> = FxHashMap::default();
    let mut open: Vec<Open> = Vec::new();
    for stretch in stretches {
        leave(&mut open, &mut events, stretch.start);
        let scope = open.last().and_then(|open| open.name);
        if let Some(around) = open.last_mut() {
            around.emit(&mut events, stretch.start);
            around.emitted = stretch.end.max(around.emitted);
        }
        let mut slot = |op: &dyn Fn(&str, &str) -> Op| {
            *known.entry((scope, stretch.name)).or_insert_with(|| {
                let scope = scope.and_then(&text).and_then(|name| name.strip_prefix(SCOPE)).unwrap_or_default();
                ops.add(op(scope, text(stretch.name).unwrap_or_default()))
            })
        };
        match stretch.kind {
            Stretched::Scope => {
                let python = slot(&|_, name| python_in(name));
                open.push(Open { end: stretch.end, emitted: stretch.start, name: Some(stretch.name), python });
            }
            Stretched::Operation => {
                let slot = slot(&|scope, name| operation_in(scope, name));
                events.push(run(stretch.start, stretch.end, slot, Step::NONE));
            }
            Stretched::Function => {}
        }
    }
    leave(&mut open, &mut events, Nanos::MAX);
    events
}

impl Open {
    /// Gives its time until `to` to Python.
    fn emit(&mut self, events: &mut Vec<Event>, to: Nanos) {
        let to = to.min(self.end);
        if to > self.emitted {
            events.push(run(self.emitted, to, self.python, Step::NONE));
            self.emitted = to;
        }
    }
}

/// Closes the scopes that have ended before `at`.
fn leave(open: &mut Vec<Open>, events: &mut Vec<Event>, at: Nanos) {
    while let Some(mut inner) = open.pop_if(|open| open.end <= at) {
        inner.emit(events, inner.end);
    }
}

fn operation_in(scope: &str, call: &str) -> Op {
    let op_type = call.strip_prefix(CALL).unwrap_or(call);
    let (scope, pass) = place(scope);
    // Without any scope nothing but an optimizer subtracts from variables.
    let is_update = scope.is_empty() && changes_variable(op_type) && op_type.contains("Sub");
    match pass {
        Pass::Forward if is_update => Op::new(format!("{OPTIMIZER}/{op_type}"), op_type, call, Pass::Optimizer),
        pass => Op::new(joined(&scope, op_type), op_type, call, pass),
    }
}

fn python_in(name: &str) -> Op {
    let (scope, pass) = place(name.strip_prefix(SCOPE).unwrap_or(name));
    Op::new(joined(&scope, PYTHON), "python", name, pass)
}

/// The path and the pass of what runs in a scope.
fn place(scope: &str) -> (String, Pass) {
    let top = scope.split('/').next().unwrap_or_default();
    if top == TAPE {
        (scope[TAPE.len()..].trim_start_matches('/').to_owned(), Pass::Backward)
    } else if is_called_optimizer(top) {
        (format!("{OPTIMIZER}/{scope}"), Pass::Optimizer)
    } else {
        (scope.to_owned(), Pass::Forward)
    }
}

fn joined(scope: &str, last: &str) -> String {
    if scope.is_empty() { last.to_owned() } else { format!("{scope}/{last}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_in_their_scopes() {
        let names = [
            "scope::net",
            "scope::net/dense",
            "EagerLocalExecute: MatMul",
            "scope::gradient_tape",
            "scope::Adam",
            "EagerLocalExecute: AssignSubVariableOp",
            "EagerLocalExecute: __inference_f_3",
        ];
        let stretch = |start, end, name: i64, kind| Stretch { start: Nanos(start), end: Nanos(end), name, kind };
        use Stretched::{Function, Operation, Scope};
        let stretches = vec![
            // An operation is noted when it ends, so before the scope around it.
            stretch(12, 18, 2, Operation),
            stretch(10, 20, 1, Scope),
            stretch(0, 40, 0, Scope),
            stretch(25, 35, 6, Function),
            stretch(50, 60, 3, Scope),
            stretch(50, 60, 2, Operation),
            stretch(60, 64, 4, Scope),
            stretch(61, 63, 5, Operation),
            stretch(70, 71, 5, Operation),
            stretch(72, 73, 2, Operation),
        ];
        let mut ops = Ops::default();
        let events = runs(stretches, &mut ops, |name| names.get(usize::try_from(name).ok()?).copied());
        let mut found: Vec<(i64, i64, String, Pass)> = events
            .iter()
            .filter_map(|event| {
                let op = ops.get(Slot(event.op.0))?;
                Some((event.start.0, event.end.0, op.path.to_string(), op.pass))
            })
            .collect();
        found.sort_by_key(|event| event.0);
        let wanted = [
            (0, 10, "net/(python)", Pass::Forward),
            (10, 12, "net/dense/(python)", Pass::Forward),
            (12, 18, "net/dense/MatMul", Pass::Forward),
            (18, 20, "net/dense/(python)", Pass::Forward),
            (20, 25, "net/(python)", Pass::Forward),
            // While the function runs the thread waits.
            (35, 40, "net/(python)", Pass::Forward),
            (50, 60, "MatMul", Pass::Backward),
            (60, 61, "optimizer/Adam/(python)", Pass::Optimizer),
            (61, 63, "optimizer/Adam/AssignSubVariableOp", Pass::Optimizer),
            (63, 64, "optimizer/Adam/(python)", Pass::Optimizer),
            (70, 71, "optimizer/AssignSubVariableOp", Pass::Optimizer),
            (72, 73, "MatMul", Pass::Forward),
        ];
        let wanted: Vec<_> = wanted.map(|(start, end, path, pass)| (start, end, path.to_owned(), pass)).to_vec();
        assert_eq!(found, wanted);
    }
}
