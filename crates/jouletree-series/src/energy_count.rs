//! One sensor's energy count: what each sample says about the energy since the sample before.
//!
//! This is the only place that interprets the flags of samples and decides that a count is stuck. Recordings, windows, the
//! live view and the protocol of the daemon all take their samples through it; they differ only in the two rules that an
//! [`EnergyCount`] is made with.

use jouletree_model::sampling::{Flags, Mono, Sample, SensorInfo};
use jouletree_model::{Kind, Nanos};

use crate::{Advance, Counter, Implausible, Stillness};

/// Power that was not read for so many periods cannot be integrated.
const STALE_PERIODS: i64 = 10;
/// A busy machine delays a sampler by this much without harm.
const STALE_LEAST: Nanos = Nanos(100_000_000);

/// Why nothing is known about a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// A reading failed.
    Failed,
    /// The count moved as it cannot have.
    Implausible(Implausible),
    /// The energy is computed from readings of power, and there were none.
    Stale,
    /// The machine was suspended, or a failure was lost because the samples were not taken.
    Apart,
    /// An always-on counter did not change.
    Still,
}

/// The energy of one sensor since its first sample, gaps left out.
#[derive(Debug, Clone)]
pub struct EnergyCount {
    counter: Counter,
    still: Stillness,
    /// Whether the count may stay the same on a working sensor.
    may_rest: bool,
    /// The sensor's own period, if its energy is computed from readings of power.
    derived_period: Option<Nanos>,
    /// Late readings further apart than this leave the energy between them unknown.
    stale: Option<Nanos>,
    /// The last reading with a count, unless something was lost after it.
    last: Option<Mono>,
    /// The count at which an always-on counter did not change.
    frozen: Option<u64>,
}

/// What a sample says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Why nothing is known of the time between the sample before and this one; `None` where the sample follows on it.
    pub lost: Option<Why>,
    /// The time since the sample before, unless something was lost in between.
    pub since: Option<Nanos>,
    /// What its count says; `None` where the sample has none, repeats an earlier one, or shows a stuck counter.
    pub step: Option<CountStep>,
}

/// What the count of a sample says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountStep {
    /// Energy is counted from here: it is the first count, or the first after a gap.
    Begins,
    /// Energy is counted from here, because the count cannot have come from the one before.
    Restarts,
    /// The count is the same.
    Same,
    /// It grew by so many microjoules.
    Grew(u64),
}

impl EnergyCount {
    /// For the samples of a sensor. A stuck counter is a gap; energy computed from power is known however late it was read.
    pub fn new(info: &SensorInfo) -> EnergyCount {
        EnergyCount {
            counter: Counter::new(info),
            still: Stillness::new(info),
            may_rest: info.may_rest(),
            derived_period: (info.kind == Kind::Derived).then_some(info.period),
            stale: None,
            last: None,
            frozen: None,
        }
    }

    /// The sensor is read once in a period: where late readings of power are many periods apart, there is a gap.
    pub fn read_every(self, period: Nanos) -> EnergyCount {
        let stale_after = |own: Nanos| Nanos(period.max(own).0.saturating_mul(STALE_PERIODS)).max(STALE_LEAST);
        EnergyCount { stale: self.derived_period.map(stale_after), ..self }
    }

    /// A count that stays the same is never taken as stuck: what it grows by afterwards counts.
    pub fn never_stuck(self) -> EnergyCount {
        EnergyCount { may_rest: true, ..self }
    }

    /// Takes a sample of the sensor, later than those before.
    pub fn take(&mut self, sample: &Sample) -> Progress {
        if sample.flags.has(Flags::GAP) {
            return self.lose(Why::Failed);
        }
        let mut lost = None;
        if sample.flags.has(Flags::APART) {
            lost = self.lose(Why::Apart).lost;
        }
        if self.is_stale(sample) {
            lost = self.lose(Why::Stale).lost;
        }
        if self.last.is_some_and(|last| sample.at <= last) || self.frozen == Some(sample.count) {
            return Progress { lost: None, since: None, step: None };
        }
        self.frozen = None;
        let since = self.last.map(|last| sample.at - last);
        let step = match self.counter.take(sample.at, sample.count) {
            Advance::By(0) => {
                self.still.stays(sample.at);
                if !self.may_rest && self.still.is_still() {
                    let stuck = self.lose(Why::Still);
                    self.frozen = Some(sample.count);
                    return stuck;
                }
                CountStep::Same
            }
            Advance::By(microjoules) => CountStep::Grew(microjoules),
            Advance::Begins => CountStep::Begins,
            Advance::Gap(why) => {
                lost = lost.or(Some(Why::Implausible(why)));
                if why == Implausible::OutOfRange {
                    return Progress { lost, since, step: None };
                }
                CountStep::Restarts
            }
        };
        if step != CountStep::Same {
            self.still.moved(sample.at);
        }
        self.last = Some(sample.at);
        Progress { lost, since, step: Some(step) }
    }

    /// The energy counted so far, in microjoules.
    pub fn total(&self) -> u64 {
        self.counter.total()
    }

    /// Whether the count was seen unchanged for longer than readings and ticks explain: the device used nothing.
    pub fn is_still(&self) -> bool {
        self.still.is_still()
    }

    /// The rest up to an instant is accounted for: [`is_still`](Self::is_still) starts anew there.
    pub fn rest_is_counted(&mut self, at: Mono) {
        self.still.moved(at);
    }

    /// Whether the energy since the sample before was computed from too few readings of power.
    fn is_stale(&self, sample: &Sample) -> bool {
        let Some(stale) = self.stale.filter(|_| sample.flags.has(Flags::LATE)) else { return false };
        self.last.is_some_and(|last| sample.at - last > stale)
    }

    /// Nothing is known until the next sample.
    fn lose(&mut self, why: Why) -> Progress {
        self.counter.lose();
        (self.last, self.frozen) = (None, None);
        Progress { lost: Some(why), since: None, step: None }
    }
}

#[cfg(test)]
#[path = "energy_count_tests.rs"]
mod tests;
