//! A fake of the kernel's powercap tree, for tests. Nothing here measures anything.
//!
//! A [`Script`] says what power each zone draws over time and what goes wrong when. A [`Fake`] builds the tree of a
//! [`Layout`] below a folder and plays the script into its counters as hardware does: steps of 61.035 µJ (15.258 or
//! 15.3 where the hardware counts so), updates about every millisecond with jitter and stalls, zones not updated
//! together, a wrap after 2³² steps. It plays by the clock ([`Player`]) or by [`Fake::advance`], without waiting.
//! The [`Oracle`] knows the true energy of any stretch of time in closed form. Equal seeds play equally.
//!
//! What a fake of plain files cannot do:
//! - A descriptor that is kept open keeps working, whatever happens to the path. Where the kernel would answer such a
//!   reader with `ENODEV` or `EACCES`, this answers with an empty file. Who opens anew finds nothing (*vanish*), or a
//!   file that opens and gives `EIO` (*refuse*; it is a link to the memory of the reading process at address zero).
//! - Reading costs no register access, so times of readings say nothing about hardware.
//! - Writes are single, of fixed size, never by renaming or truncating; yet no rule of the system forbids that a reader
//!   sees half of one. None was torn in six million readings against a writer that never rested.

mod fault;
mod layout;
mod parse;
mod play;
mod power;
mod random;
mod script;
mod ticks;
mod tree;
mod zone;

pub use fault::{Fault, Mishap};
pub use layout::{Layout, ZoneSpec};
pub use parse::ScriptError;
pub use play::{Fake, FakeError, Oracle, Player, busy_clock};
pub use power::{Power, Segment, Shape, Step};
pub use script::{Script, Start};
pub use ticks::LONGEST_TICK;
