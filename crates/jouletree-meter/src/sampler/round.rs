//! The rounds of the sampler's thread: sleep until the deadline, look at the clocks, read every sensor once.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use jouletree_host::Now;
use jouletree_model::Nanos;
use jouletree_model::sampling::{Anchor, Flags, Incident, Mono, Sample, What};
use rtrb::Producer;
use rustix::io::Errno;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::FinalSensorState;
use super::clocks::Clocks;
use super::realtime;
use super::stats::Shared;
use super::watched::Watched;

/// Periods from here on use a wakeable sleep.
const WAKEABLE: Nanos = Nanos(20_000_000);
/// Interval for publishing aggregated statistics.
const BETWEEN_SUMS: Nanos = Nanos(1_000_000_000);

pub(super) struct Rounds {
    sensors: Vec<Watched>,
    period: Nanos,
    deadline: Mono,
    clocks: Clocks,
    samples: Producer<Sample>,
    anchors: Producer<Anchor>,
    incidents: Producer<Incident>,
    shared: Arc<Shared>,
    /// Deadlines that were missed since they were last reported, and the longest delay.
    late: (u64, Nanos),
    reported: Mono,
}

impl Rounds {
    pub fn new(
        sensors: Vec<Watched>,
        samples: Producer<Sample>,
        anchors: Producer<Anchor>,
        incidents: Producer<Incident>,
        shared: Arc<Shared>,
    ) -> Rounds {
        let (clocks, deadline) = (Clocks::default(), Mono::now());
        let (late, period) = ((0, Nanos(0)), shared.period());
        Rounds { sensors, period, deadline, clocks, samples, anchors, incidents, shared, late, reported: deadline }
    }

    /// Makes the thread that calls it the sampler's.
    pub fn prepare(&mut self, realtime: bool) {
        self.shared.set_class(realtime::prepare(realtime));
        self.deadline = Mono::now();
        self.reported = self.deadline;
    }

    /// Reads all sensors at every deadline, until it is stopped; says what became of the sensors.
    pub fn run(&mut self) -> Vec<FinalSensorState> {
        while !self.shared.is_stopped() {
            self.next();
        }
        // What is left to report.
        self.tell_sums(Mono::now());
        self.final_states()
    }

    fn next(&mut self) {
        self.wait();
        let woke = Mono::now();
        let late = woke - self.deadline;
        self.shared.woke(late);
        self.look_at_clocks(woke);
        let flags = if late > self.period { Flags::LATE } else { Flags::default() };
        let now = self.read_all(flags);
        self.move_on(now, late);
        if now - self.reported >= BETWEEN_SUMS {
            self.tell_sums(now);
        }
        if self.shared.are_final_states_wanted() {
            self.shared.publish_final_states(self.final_states());
        }
    }

    /// Sleeps until the deadline or an early wake-up.
    fn wait(&mut self) {
        loop {
            let period = self.shared.period();
            if period != self.period || self.shared.is_reading_wanted() {
                (self.period, self.deadline) = (period, Mono::now());
            }
            if self.period < WAKEABLE {
                return sleep_until(self.deadline);
            }
            let left = self.deadline - Mono::now();
            if left <= Nanos(0) || self.shared.is_stopped() {
                return;
            }
            thread::park_timeout(Duration::from_nanos(left.0.unsigned_abs()));
        }
    }

    fn final_states(&self) -> Vec<FinalSensorState> {
        self.sensors.iter().map(Watched::final_state).collect()
    }

    fn look_at_clocks(&mut self, now: Mono) {
        let look = self.clocks.look();
        if let Some(anchor) = look.anchor {
            // If no anchor was taken for an hour, the last one will do.
            let _ = self.anchors.push(anchor);
        }
        if let Some(time) = look.suspend {
            self.report(now, None, What::Suspend(time));
            self.sensors.iter_mut().for_each(|sensor| sensor.mark(Flags::APART));
        }
        if let Some(by) = look.step {
            self.report(now, None, What::ClockStep(by));
        }
    }

    /// Reads every sensor once; returns the time afterwards.
    fn read_all(&mut self, flags: Flags) -> Mono {
        let mut now = Mono::now();
        for place in 0..self.sensors.len() {
            let Some(sensor) = self.sensors.get_mut(place) else { break };
            let (id, before) = (sensor.id(), now);
            let Some((sample, what)) = sensor.read(before, flags) else { continue };
            if self.samples.push(sample).is_err() {
                // A count that is lost is made up for by the next one, a gap is not.
                if sample.flags.has(Flags::GAP) || sample.flags.has(Flags::APART) {
                    sensor.mark(Flags::APART);
                }
                self.shared.overrun();
            }
            if let Some(what) = what {
                self.report(before, Some(id), what);
            }
            now = Mono::now();
        }
        now
    }

    /// Sets the next deadline. Those that have passed are skipped: readings that follow each other at once say nothing.
    fn move_on(&mut self, now: Mono, late: Nanos) {
        let period = self.period.0;
        self.deadline.0 += period;
        let behind = now - self.deadline;
        if behind >= Nanos(0) {
            let missed = behind.0 / period + 1;
            self.deadline.0 += missed * period;
            self.shared.missed(missed.unsigned_abs());
            self.late = (self.late.0 + missed.unsigned_abs(), self.late.1.max(behind).max(late));
        }
    }

    fn tell_sums(&mut self, now: Mono) {
        self.reported = now;
        self.shared.set_cpu_time(cpu_time());
        let (missed, worst) = std::mem::take(&mut self.late);
        if missed > 0 {
            self.report(now, None, What::Late { missed, worst });
        }
    }

    fn report(&mut self, at: Mono, sensor: Option<u16>, what: What) {
        if self.incidents.push(Incident { at, sensor, what }).is_err() {
            self.shared.left_out();
        }
    }
}

fn sleep_until(deadline: Mono) {
    let until = Timespec { tv_sec: deadline.0 / 1_000_000_000, tv_nsec: deadline.0 % 1_000_000_000 };
    while clock_nanosleep_absolute(ClockId::Monotonic, &until) == Err(Errno::INTR) {}
}

/// The processor time of this thread.
fn cpu_time() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Nanos(time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec))
}
