//! What a process tree and its machine use at an instant.

use super::Mono;

/// What a tree and its machine use at an instant. Amounts of memory are in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResourceSample {
    /// When.
    pub at: Mono,
    /// The CPUs that the tree kept busy since the sample before: 2.5 is two and a half.
    pub cpus: f64,
    /// The part of all CPUs that was busy since the sample before, from 0 to 1; `None` where the system does not report it.
    pub machine_busy: Option<f64>,
    /// Memory in use by the tree's processes; what several of them share is counted for each.
    pub resident: u64,
    /// The same with shared memory counted once, as of the last second or, in very large processes, of the last seconds;
    /// `None` where the system does not report it or does not permit it.
    pub proportional: Option<u64>,
    /// All memory of the machine.
    pub memory_total: Option<u64>,
    /// What of it could be used without swapping.
    pub memory_available: Option<u64>,
    /// The tree's processes.
    pub processes: usize,
    /// Its threads.
    pub threads: usize,
}
