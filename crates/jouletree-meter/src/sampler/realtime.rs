//! The place of the sampler's thread among the threads of the machine.

use std::num::NonZeroU64;

use rustix::thread::set_current_timer_slack;
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};

/// How the system treats the sampler's thread.
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
    pub(super) const ALL: [Class; 4] = [Class::Unknown, Class::Normal, Class::Refused, Class::Fifo];
}

/// How the system would treat a sampler that asks for the first word on a processor: tried on a thread of its own.
pub fn realtime_class() -> Class {
    let tried = std::thread::Builder::new().name("realtime".to_owned()).spawn(|| prepare(true));
    tried.ok().and_then(|thread| thread.join().ok()).unwrap_or_default()
}

/// Asks for the first word on a processor, if that is wanted, and for timers that are not rounded.
pub(super) fn prepare(realtime: bool) -> Class {
    // Without it timers come up to 50 µs late, which is no reason not to sample.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    if !realtime {
        return Class::Normal;
    }
    let fifo = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    // The lowest of its class is enough: it comes before everything that is not real-time, and after all that is.
    match set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, fifo) {
        Ok(()) => Class::Fifo,
        Err(_) => Class::Refused,
    }
}
