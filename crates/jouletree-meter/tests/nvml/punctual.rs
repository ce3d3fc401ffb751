//! Tests whose subject is timing, on machines that others use, too.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long the machine may keep a thread waiting before the timing of others tells nothing.
const LATE: Duration = Duration::from_millis(25);

/// How often a test is tried at most.
const TRIES: usize = 5;

/// Runs a test, and again if it fails while the machine was seen to be late. A failure on a punctual machine stands.
pub(crate) fn punctually(test: impl Fn()) {
    for _ in 1..TRIES {
        let watch = Watch::begin();
        let Err(panic) = catch_unwind(AssertUnwindSafe(&test)) else { return };
        let lateness = watch.end();
        if lateness < LATE {
            resume_unwind(panic);
        }
        println!("once more: this machine kept a thread waiting for {lateness:?}");
    }
    test();
}

/// A thread that does nothing but wake up, and sees how late it does.
struct Watch {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Duration>,
}

impl Watch {
    fn begin() -> Watch {
        const NAP: Duration = Duration::from_millis(2);
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            let mut latest = Duration::ZERO;
            while !seen.load(Ordering::Relaxed) {
                let began = Instant::now();
                std::thread::sleep(NAP);
                latest = latest.max(began.elapsed().saturating_sub(NAP));
            }
            latest
        });
        Watch { is_over, thread }
    }

    fn end(self) -> Duration {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

#[test]
fn what_always_fails_fails() {
    let tries = std::cell::Cell::new(0);
    let failed = catch_unwind(AssertUnwindSafe(|| {
        punctually(|| {
            tries.set(tries.get() + 1);
            panic!("always");
        });
    }));
    assert!(failed.is_err() && (1..=TRIES).contains(&tries.get()), "{}", tries.get());
}
