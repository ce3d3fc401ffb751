//! Lines for the user on standard error. A log on a full disk takes none, which must not end what goes on here.

use std::fmt::Arguments;
use std::io::Write;

/// Writes a line.
pub(crate) fn notice(text: Arguments<'_>) {
    let line = format!("{text}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}
