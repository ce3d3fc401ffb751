//! What part of a machine's activity is ours.
//!
//! [`Tree`] follows a process and all its descendants. [`TreeTime`] measures their CPU time by the best source that works:
//! performance events, else the scheduler's account of threads, else ticks. [`Machine`] measures what all CPUs do, by
//! socket. [`ShareMeter`] brings them together, window by window: ours + others + idle is one, always. By these
//! shares `jouletree-series` splits energy.
//!
//! What this cannot know: two hardware threads of one core count as two CPUs, frequency is not looked at, and on
//! machines with several sockets the place of a thread between two looks is where it was last.

mod census;
mod discover;
pub(crate) mod kept;
pub(crate) mod machine;
#[cfg(test)]
mod machine_tests;
mod member;
mod meter;
mod perf;
mod places;
mod reconcile;
#[cfg(test)]
mod reconcile_tests;
mod schedstat;
mod source;
mod tree;
#[cfg(test)]
mod tree_tests;

pub use census::{Census, Listed, ProcScan};
pub use machine::{CpuTicks, Machine, SocketTicks};
pub use meter::ShareMeter;
pub use source::{Source, TreeTime};
pub use tree::{Discovery, Tree, WatchError};
