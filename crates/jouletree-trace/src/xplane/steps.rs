//! Steps: which part of a training an event belongs to.
//!
//! Programs mark their steps with an annotation that carries `step_num`. Where none does, the calls of the function
//! that takes most of the time are counted: of a `tf.function` by its call on the host, of a program compiled by XLA by
//! the run that its operations name.

use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap};

use jouletree_model::{Nanos, Step};

/// Everything that identifies steps.
#[derive(Debug, Default)]
pub(super) struct Steps {
    marked: Vec<Span>,
    /// The calls of functions, by the number of the name of a function in its plane.
    calls: FxHashMap<(usize, i64), Vec<Span>>,
    /// The runs of compiled programs: when each began and how long its operations took.
    runs: IndexMap<Run, (Nanos, Nanos), FxBuildHasher>,
    /// The run of the operation noted last.
    latest: usize,
}

/// A stretch of time that is one step.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: Nanos,
    end: Nanos,
    step: Step,
}

/// A run of a compiled program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Run {
    pub(super) program: i64,
    /// The number of the program's name.
    pub(super) module: u32,
    pub(super) run: i64,
}

/// How the step of an event is found, once everything has been read.
#[derive(Debug, Default)]
pub(super) struct StepFinder {
    /// Steps in time, apart from each other.
    spans: Vec<Span>,
    /// The step of each run.
    runs: Vec<Step>,
}

impl Steps {
    /// Notes an annotation with `step_num`.
    pub(super) fn mark(&mut self, start: Nanos, end: Nanos, number: i64) {
        if let Some(step) = u32::try_from(number).ok().map(Step).filter(|step| *step != Step::NONE) {
            self.marked.push(Span { start, end, step });
        }
    }

    /// Notes the call of a function.
    pub(super) fn call(&mut self, function: (usize, i64), start: Nanos, end: Nanos) {
        self.calls.entry(function).or_default().push(Span { start, end, step: Step::NONE });
    }

    /// Notes an operation of a run; the number returned represents its step until [`Steps::finder`] resolves it.
    pub(super) fn run(&mut self, run: Run, start: Nanos, end: Nanos) -> Step {
        // A thread stays with a run for a while.
        let index = match self.runs.get_index(self.latest) {
            Some((latest, _)) if *latest == run => self.latest,
            _ => {
                let entry = self.runs.entry(run);
                let index = entry.index();
                entry.or_insert((start, Nanos(0)));
                index
            }
        };
        self.latest = index;
        if let Some((_, (first, busy))) = self.runs.get_index_mut(index) {
            *first = start.min(*first);
            *busy += end - start;
        }
        Step(index as u32)
    }

    /// Draws the conclusions.
    pub(super) fn finder(self) -> StepFinder {
        if !self.marked.is_empty() {
            return StepFinder { spans: apart(self.marked), runs: Vec::new() };
        }
        let time = |calls: &Vec<Span>| calls.iter().fold(Nanos(0), |sum, call| sum + (call.end - call.start));
        let runs = numbered_runs(&self.runs);
        let calls = if runs.is_empty() { self.calls.into_values().max_by_key(time) } else { None };
        let mut calls = calls.unwrap_or_default();
        calls.sort_by_key(|call| call.start);
        for (number, call) in calls.iter_mut().enumerate() {
            call.step = Step(number as u32);
        }
        StepFinder { spans: apart(calls), runs }
    }
}

/// The step of every run: those of the program that takes most of the time are counted from zero.
fn numbered_runs(runs: &IndexMap<Run, (Nanos, Nanos), FxBuildHasher>) -> Vec<Step> {
    let mut programs: IndexMap<(i64, u32), Nanos, FxBuildHasher> = IndexMap::default();
    for (run, (_, busy)) in runs {
        *programs.entry((run.program, run.module)).or_default() += *busy;
    }
    let Some((main, _)) = programs.into_iter().max_by_key(|(_, busy)| *busy) else { return Vec::new() };
    let mut order: Vec<(Nanos, usize)> = runs
        .iter()
        .enumerate()
        .filter(|(_, (run, _))| (run.program, run.module) == main)
        .map(|(index, (_, (first, _)))| (*first, index))
        .collect();
    order.sort_unstable();
    let mut steps = vec![Step::NONE; runs.len()];
    for (number, (_, index)) in order.into_iter().enumerate() {
        steps[index] = Step(number as u32);
    }
    steps
}

/// Spans in the order of time; where two overlap, the later begins when the earlier ends.
fn apart(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| (span.start, span.end));
    let mut reached = Nanos::MIN;
    for span in &mut spans {
        span.start = span.start.max(reached);
        span.end = span.end.max(span.start);
        reached = span.end;
    }
    spans.retain(|span| span.end > span.start);
    spans
}

impl StepFinder {
    /// Whether no step is known.
    pub(super) fn is_empty(&self) -> bool {
        self.spans.is_empty() && self.runs.is_empty()
    }

    /// The step of an event that begins at `start`, in the run with the number `run` if it names one.
    #[inline]
    pub(super) fn step(&self, start: Nanos, run: Step, hint: &mut usize) -> Step {
        if let Some(step) = run.number().and_then(|number| self.runs.get(number as usize)) {
            return *step;
        }
        let inside = |span: &&Span| span.start <= start && start < span.end;
        if let Some(span) = self.spans.get(*hint).filter(inside) {
            return span.step;
        }
        *hint = self.spans.partition_point(|span| span.end <= start);
        self.spans.get(*hint).filter(inside).map_or(Step::NONE, |span| span.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_steps_hold_what_begins_inside() {
        let mut steps = Steps::default();
        steps.mark(Nanos(10), Nanos(20), 7);
        steps.mark(Nanos(30), Nanos(40), 8);
        steps.mark(Nanos(50), Nanos(60), -1);
        steps.call((0, 1), Nanos(0), Nanos(100));
        let (finder, mut hint) = (steps.finder(), 0);
        let found = [9, 10, 19, 20, 35, 40, 55].map(|at| finder.step(Nanos(at), Step::NONE, &mut hint).number());
        assert_eq!(found, [None, Some(7), Some(7), None, Some(8), None, None]);
    }

    #[test]
    fn without_marks_the_longest_function_counts() {
        let mut steps = Steps::default();
        steps.call((0, 1), Nanos(30), Nanos(50));
        steps.call((0, 1), Nanos(0), Nanos(20));
        steps.call((0, 2), Nanos(0), Nanos(2));
        let (finder, mut hint) = (steps.finder(), 0);
        let found = [5, 25, 30].map(|at| finder.step(Nanos(at), Step::NONE, &mut hint).number());
        assert_eq!(found, [Some(0), None, Some(1)]);
    }

    #[test]
    fn runs_of_the_main_program_are_steps() {
        let mut steps = Steps::default();
        let run = |program, run| Run { program, module: 0, run };
        let second = steps.run(run(42, 900), Nanos(100), Nanos(190));
        let other = steps.run(run(7, 901), Nanos(0), Nanos(10));
        let first = steps.run(run(42, 950), Nanos(20), Nanos(90));
        assert_eq!(steps.run(run(42, 900), Nanos(190), Nanos(195)), second);
        let (finder, mut hint) = (steps.finder(), 0);
        let found = [first, second, other].map(|run| finder.step(Nanos(150), run, &mut hint).number());
        assert_eq!(found, [Some(0), Some(1), None]);
    }
}
