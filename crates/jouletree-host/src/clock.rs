//! The clocks of this machine, as instants of the model.

use jouletree_model::Nanos;
use jouletree_model::sampling::{Anchor, Mono};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Types that hold the current time of this machine's clocks.
pub trait Now: Sized {
    /// The current time.
    fn now() -> Self;
}

impl Now for Mono {
    #[inline]
    fn now() -> Mono {
        Mono(nanos(clock_gettime(ClockId::Monotonic)))
    }
}

impl Now for Anchor {
    /// The time of day and the boot time are read between two readings of the monotonic clock.
    fn now() -> Anchor {
        let before = Mono::now();
        let wall = Nanos(nanos(clock_gettime(ClockId::Realtime)));
        let boot = Nanos(nanos(clock_gettime(ClockId::Boottime)));
        let after = Mono::now();
        Anchor { mono: Mono(before.0 + (after.0 - before.0) / 2), wall, boot }
    }
}

/// The CPU time of this process, all its threads included.
pub fn process_time() -> Nanos {
    Nanos(nanos(clock_gettime(ClockId::ProcessCPUTime)))
}

fn nanos(time: Timespec) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}
