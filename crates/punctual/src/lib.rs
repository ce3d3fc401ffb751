//! Tests whose subject is timing, on machines that others use, too.
//!
//! A bound of some milliseconds holds on a machine that wakes threads in time, and says nothing on one that does not.
//! [`punctually`] knows the difference: beside the test it watches how late a sleeping thread of each processor is woken.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// How long the machine may keep a thread waiting before the timing of others says nothing.
const LATE: Duration = Duration::from_millis(25);

/// How often a test is tried at most.
const TRIES: usize = 5;

/// How long the machine has to be punctual before a test is tried again, and how often that is looked for.
const QUIET: Duration = Duration::from_millis(500);
const LOOKS: usize = 40;

/// Runs a test, and again if it fails while the machine was seen to be late. A failure on a punctual machine counts.
pub fn punctually(test: impl Fn()) {
    for _ in 1..TRIES {
        let watch = Watch::begin();
        let outcome = catch_unwind(AssertUnwindSafe(&test));
        let lateness = watch.end();
        match outcome {
            Ok(()) => return,
            Err(panic) if lateness < LATE => resume_unwind(panic),
            Err(_) => println!("once more: this machine kept a thread waiting for {lateness:?}"),
        }
        wait_for_quiet();
    }
    test();
}

fn wait_for_quiet() {
    for _ in 0..LOOKS {
        let watch = Watch::begin();
        thread::sleep(QUIET);
        if watch.end() < LATE {
            return;
        }
    }
}

/// A thread on each processor that does nothing but wake up, and sees how late it does.
struct Watch {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Duration>>,
}

impl Watch {
    fn begin() -> Watch {
        let is_over = Arc::new(AtomicBool::new(false));
        let ours = sched_getaffinity(None).unwrap();
        let processors = (0..CpuSet::MAX_CPU).filter(|processor| ours.is_set(*processor));
        let threads = processors
            .map(|processor| {
                let is_over = Arc::clone(&is_over);
                thread::spawn(move || lateness_on(processor, &is_over))
            })
            .collect();
        Watch { is_over, threads }
    }

    /// The longest that any of them was kept waiting.
    fn end(self) -> Duration {
        self.is_over.store(true, Ordering::Relaxed);
        self.threads.into_iter().map(|thread| thread.join().unwrap()).max().unwrap_or_default()
    }
}

fn lateness_on(processor: usize, is_over: &AtomicBool) -> Duration {
    const NAP: Duration = Duration::from_millis(2);
    let mut only = CpuSet::new();
    only.set(processor);
    // Where it is not allowed, a thread that is anywhere still sees something.
    let _ = sched_setaffinity(None, &only);
    let mut latest = Duration::ZERO;
    while !is_over.load(Ordering::Relaxed) {
        let began = Instant::now();
        thread::sleep(NAP);
        latest = latest.max(began.elapsed().saturating_sub(NAP));
    }
    latest
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn what_always_fails_fails() {
        let tries = Cell::new(0);
        let failed = catch_unwind(AssertUnwindSafe(|| {
            punctually(|| {
                tries.set(tries.get() + 1);
                panic!("always");
            });
        }));
        assert!(failed.is_err() && (1..=TRIES).contains(&tries.get()), "{}", tries.get());
    }

    #[test]
    fn what_passes_is_run_once() {
        let tries = Cell::new(0);
        punctually(|| tries.set(tries.get() + 1));
        assert_eq!(tries.get(), 1);
    }
}
