//! The share of a process tree in the CPU time of a socket.

use super::Mono;

/// What part of a socket's capacity went to whom, over a window. `ours + others + idle` is one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShareSample {
    /// When the window began.
    pub from: Mono,
    /// When it ended.
    pub at: Mono,
    /// The number of the socket.
    pub socket: u32,
    /// The tree's part.
    pub ours: f64,
    /// The part of all other processes and of interrupts, the monitor's included.
    pub others: f64,
    /// Idle energy.
    pub idle: f64,
    /// The monitor's part of the others': it is charged to itself.
    pub own: f64,
}
