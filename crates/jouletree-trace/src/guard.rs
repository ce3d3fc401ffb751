//! A guard around the Parquet reader, which panics on some damaged pages where it should return an error (asserts and
//! slices on lengths taken from the file). This is the one place where such a panic becomes an error.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::errors::ParquetError;

thread_local! {
    /// Whether this thread is inside [`guarded`].
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Keeps panics that become errors anyway from being announced on standard error. A program calls this once; other
/// panics are announced as before.
pub fn silence_guarded_panics() {
    let announce = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !GUARDED.get() {
            announce(panic);
        }
    }));
}

/// Runs a piece of the Parquet reader.
pub(crate) fn guarded<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    GUARDED.set(true);
    let read = catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(ParquetError::General("a page contradicts itself".to_owned())));
    GUARDED.set(false);
    read
}
