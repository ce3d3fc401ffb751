//! How well a sampler keeps time and what it costs.

use crate::Nanos;

/// How well a sampler keeps time and what it costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// How often all sensors were read.
    pub wakes: u64,
    /// How many deadlines were skipped because the one before was so late.
    pub missed: u64,
    /// How many samples did not fit into the buffer because they were not drained in time.
    pub overruns: u64,
    /// How many incidents are left out because there were too many.
    pub incidents_left_out: u64,
    /// Half of the wakes came no later than this after their deadline, as exact as a fifth of it.
    pub late_p50: Nanos,
    /// 99 of 100 wakes came no later than this.
    pub late_p99: Nanos,
    /// The latest wake.
    pub late_most: Nanos,
    /// The processor time of the sampler's thread, as of the last second.
    pub cpu_time: Nanos,
    /// The scheduling class of the sampler's thread.
    pub class: Class,
}

/// The scheduling class of the sampler's thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Class {
    /// It has not begun yet.
    #[default]
    Unknown,
    /// Like any other, as was asked for.
    Normal,
    /// Like any other, although first-in-first-out was asked for: it takes `CAP_SYS_NICE`, or a limit `rtprio` of
    /// one at least.
    Refused,
    /// First-in-first-out with the lowest priority: before all that is not real-time.
    Fifo,
}

impl Class {
    /// All of them, in the order of their discriminants.
    pub const ALL: [Class; 4] = [Class::Unknown, Class::Normal, Class::Refused, Class::Fifo];
}
