//! A guard around libraries that panic on damaged files where they should return an error (the Parquet reader asserts
//! and slices on lengths taken from the file). Here, and nowhere else, such a panic becomes a value.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// Whether this thread is inside [`guarded`].
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Keeps panics that are caught by [`guarded`] from being announced on standard error. A program calls this once;
/// other panics are announced as before.
pub fn silence_guarded_panics() {
    let announce = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !GUARDED.get() {
            announce(panic);
        }
    }));
}

/// Runs a piece of this program that must not end all of it; `None` when it panicked, which is announced.
pub fn survived<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

/// Runs a piece of a library; `None` when it panicked.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    GUARDED.set(true);
    let done = catch_unwind(AssertUnwindSafe(work)).ok();
    GUARDED.set(false);
    done
}
