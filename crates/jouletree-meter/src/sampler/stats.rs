//! What the sampler's thread and its owner share: how well it keeps time and what it costs, which it writes and anybody
//! reads, and what is wanted of it.

use std::array;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use jouletree_model::Nanos;
use jouletree_model::sampling::{Class, Stats};

use super::FinalSensorState;

/// Buckets of lateness: four to each doubling, up to some minutes.
const BUCKETS: usize = 4 * 40;

/// The [`Stats`] while they grow; one thread writes.
#[derive(Debug)]
pub(super) struct Shared {
    wakes: AtomicU64,
    missed: AtomicU64,
    overruns: AtomicU64,
    incidents_left_out: AtomicU64,
    late_most: AtomicU64,
    late: [AtomicU64; BUCKETS],
    cpu_time: AtomicU64,
    class: AtomicUsize,
    /// What its owner wants of it.
    period: AtomicI64,
    stop: AtomicBool,
    read_now: AtomicBool,
    wants_final_states: AtomicBool,
    final_states: Mutex<Option<Vec<FinalSensorState>>>,
}

impl Default for Shared {
    fn default() -> Shared {
        Shared {
            period: AtomicI64::new(0),
            stop: AtomicBool::new(false),
            read_now: AtomicBool::new(false),
            wants_final_states: AtomicBool::new(false),
            final_states: Mutex::new(None),
            wakes: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            overruns: AtomicU64::new(0),
            incidents_left_out: AtomicU64::new(0),
            late_most: AtomicU64::new(0),
            late: array::from_fn(|_| AtomicU64::new(0)),
            cpu_time: AtomicU64::new(0),
            class: AtomicUsize::new(0),
        }
    }
}

impl Shared {
    pub fn woke(&self, late: Nanos) {
        let late = u64::try_from(late.0).unwrap_or(0);
        add(&self.wakes, 1);
        self.late_most.store(self.late_most.load(Ordering::Relaxed).max(late), Ordering::Relaxed);
        if let Some(count) = self.late.get(bucket(late)) {
            add(count, 1);
        }
    }

    pub fn missed(&self, deadlines: u64) {
        add(&self.missed, deadlines);
    }

    pub fn overrun(&self) {
        add(&self.overruns, 1);
    }

    pub fn left_out(&self) {
        add(&self.incidents_left_out, 1);
    }

    pub fn set_cpu_time(&self, time: Nanos) {
        self.cpu_time.store(u64::try_from(time.0).unwrap_or(0), Ordering::Relaxed);
    }

    pub fn set_class(&self, class: Class) {
        self.class.store(class as usize, Ordering::Relaxed);
    }

    pub fn period(&self) -> Nanos {
        Nanos(self.period.load(Ordering::Relaxed))
    }

    pub fn set_period(&self, period: Nanos) {
        self.period.store(period.0, Ordering::Relaxed);
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// The sensors are to be read without waiting for the deadline.
    pub fn want_reading(&self) {
        self.read_now.store(true, Ordering::Release);
    }

    pub fn is_reading_wanted(&self) -> bool {
        self.read_now.load(Ordering::Relaxed) && self.read_now.swap(false, Ordering::Acquire)
    }

    /// The final states of the sensors are requested.
    pub fn want_final_states(&self) {
        *self.final_states.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.wants_final_states.store(true, Ordering::Release);
    }

    pub fn are_final_states_wanted(&self) -> bool {
        self.wants_final_states.load(Ordering::Relaxed) && self.wants_final_states.swap(false, Ordering::Acquire)
    }

    pub fn publish_final_states(&self, final_states: Vec<FinalSensorState>) {
        *self.final_states.lock().unwrap_or_else(PoisonError::into_inner) = Some(final_states);
    }

    pub fn take_final_states(&self) -> Option<Vec<FinalSensorState>> {
        self.final_states.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub fn stats(&self) -> Stats {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let nanos = |count: &AtomicU64| Nanos(i64::try_from(get(count)).unwrap_or(i64::MAX));
        let counts: Vec<u64> = self.late.iter().map(get).collect();
        Stats {
            wakes: get(&self.wakes),
            missed: get(&self.missed),
            overruns: get(&self.overruns),
            incidents_left_out: get(&self.incidents_left_out),
            late_p50: percentile(&counts, 0.50),
            late_p99: percentile(&counts, 0.99),
            late_most: nanos(&self.late_most),
            cpu_time: nanos(&self.cpu_time),
            class: Class::ALL.get(self.class.load(Ordering::Relaxed)).copied().unwrap_or_default(),
        }
    }
}

/// One thread adds; no other writes in between.
fn add(count: &AtomicU64, by: u64) {
    count.store(count.load(Ordering::Relaxed).saturating_add(by), Ordering::Relaxed);
}

fn bucket(late: u64) -> usize {
    let late = late.max(4);
    let octave = late.ilog2();
    let quarter = (late >> (octave - 2)) & 3;
    (octave as usize * 4 + quarter as usize).min(BUCKETS - 1)
}

/// The end of a bucket.
fn end(bucket: usize) -> Nanos {
    let (octave, quarter) = (bucket / 4, bucket % 4);
    let size = 1_i64 << octave.saturating_sub(2);
    Nanos(size * (4 + quarter as i64 + 1))
}

fn percentile(counts: &[u64], part: f64) -> Nanos {
    let all: u64 = counts.iter().sum();
    let wanted = (all as f64 * part).ceil() as u64;
    let mut below = 0;
    let is_enough = |count: &u64| {
        below += count;
        below >= wanted
    };
    counts.iter().position(is_enough).filter(|_| all > 0).map_or(Nanos(0), end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_what_is_put_into_it_within_a_quarter() {
        for late in [4, 5, 7, 8, 1000, 65_535, 65_536, 123_456_789, 60_000_000_000] {
            let end = end(bucket(late)).0 as f64;
            assert!(end > late as f64 && end <= late as f64 * 1.25, "{late} {end}");
        }
        assert_eq!(bucket(0), bucket(3));
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentiles_are_those_of_what_was_seen() {
        let shared = Shared::default();
        assert_eq!(shared.stats().late_p99, Nanos(0));
        for late in 1..=1000 {
            shared.woke(Nanos(late * 1000));
        }
        let stats = shared.stats();
        assert!((500_000..=625_000).contains(&stats.late_p50.0), "{stats:?}");
        assert!((990_000..=1_240_000).contains(&stats.late_p99.0), "{stats:?}");
        assert_eq!((stats.wakes, stats.late_most), (1000, Nanos(1_000_000)));
    }
}
