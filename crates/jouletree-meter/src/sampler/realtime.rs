//! The place of the sampler's thread among the threads of the machine.

use std::num::NonZeroU64;

use jouletree_model::sampling::Class;
use rustix::thread::set_current_timer_slack;
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};

/// The scheduling class that a sampler would get that requests real-time scheduling: tried on a thread of its own.
pub fn realtime_class() -> Class {
    let tried = std::thread::Builder::new().name("realtime".to_owned()).spawn(|| prepare(true));
    tried.ok().and_then(|thread| thread.join().ok()).unwrap_or_default()
}

/// Requests real-time scheduling (SCHED_FIFO), if that is wanted, and timers without slack.
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
