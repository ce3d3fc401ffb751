//! Runs of the model: each is a step.

use rustc_hash::FxHashMap;

use jouletree_model::{Nanos, Step};

/// How many runs that began before an instant are looked at for the one that it falls into.
const SEARCH: usize = 64;

/// The runs of a profile.
#[derive(Debug, Default)]
pub(super) struct Runs {
    all: Vec<Run>,
    by_thread: FxHashMap<u32, Vec<Run>>,
}

#[derive(Debug, Clone, Copy)]
struct Run {
    start: Nanos,
    end: Nanos,
    step: Step,
}

impl Runs {
    /// Runs from their extents and threads; they are numbered in the order in which they began.
    pub(super) fn new(mut extents: Vec<(Nanos, Nanos, u32)>) -> Runs {
        extents.sort();
        let mut runs = Runs::default();
        for (number, (start, end, thread)) in extents.into_iter().enumerate() {
            let run = Run { start, end, step: Step(number as u32) };
            runs.all.push(run);
            runs.by_thread.entry(thread).or_default().push(run);
        }
        runs
    }

    /// The run that an instant of a thread falls into. Several may go on at once: then it is the one of the thread,
    /// and for a thread that only helps the one that began last.
    pub(super) fn at(&self, thread: Option<u32>, instant: Nanos) -> Step {
        let own = thread.and_then(|thread| self.by_thread.get(&thread)).and_then(|runs| last(runs, instant));
        own.or_else(|| last(&self.all, instant)).unwrap_or(Step::NONE)
    }
}

fn last(runs: &[Run], instant: Nanos) -> Option<Step> {
    let begun = runs.partition_point(|run| run.start <= instant);
    let mut recent = runs[..begun].iter().rev().take(SEARCH);
    recent.find(|run| instant < run.end).map(|run| run.step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_in_its_own_run() {
        let run = |start, end, thread| (Nanos(start), Nanos(end), thread);
        let runs = Runs::new(vec![run(50, 60, 1), run(0, 30, 1), run(10, 40, 2)]);
        assert_eq!(runs.at(Some(1), Nanos(20)), Step(0));
        assert_eq!(runs.at(Some(2), Nanos(20)), Step(1));
        assert_eq!(runs.at(Some(7), Nanos(35)), Step(1));
        assert_eq!(runs.at(None, Nanos(5)), Step(0));
        assert_eq!(runs.at(Some(1), Nanos(45)), Step::NONE);
        assert_eq!(runs.at(Some(1), Nanos(60)), Step::NONE);
        assert_eq!(runs.at(Some(1), Nanos(50)), Step(2));
    }
}
