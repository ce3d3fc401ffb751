//! A gauge: what one sensor counted, what it shows now, and its last minute.
//!
//! Every microjoule that the counter gained is in exactly one [`Increment`]. What lies in a gap is in none, and the time
//! of the gap is not known.

use std::collections::VecDeque;

use jouletree_model::sampling::{Flags, Mono, Sample, SensorInfo};
use jouletree_model::{Joules, Nanos, Watts};
use jouletree_series::share::Increment;
use jouletree_series::{Advance, Counter, Stillness};

use super::history::History;

/// What is shown as power now is the mean over this time.
pub const NOW: Nanos = Nanos(1_000_000_000);
/// Without news for so long, there is no power to show.
const OUTDATED: Nanos = Nanos(2_000_000_000);

/// One sensor over time.
#[derive(Debug)]
pub struct Gauge {
    info: SensorInfo,
    counter: Counter,
    read: Option<Mono>,
    /// Since when the count has not changed.
    unchanged_since: Option<Mono>,
    still: Stillness,
    /// The count at which a counter that never rests stood still.
    frozen: Option<u64>,
    known: Nanos,
    recent: VecDeque<Increment>,
    history: History,
}

impl Gauge {
    /// A gauge that has shown nothing yet.
    pub fn new(info: SensorInfo) -> Gauge {
        Gauge {
            counter: Counter::new(&info),
            still: Stillness::new(&info),
            info,
            read: None,
            unchanged_since: None,
            frozen: None,
            known: Nanos(0),
            recent: VecDeque::new(),
            history: History::default(),
        }
    }

    /// What is known about the sensor.
    pub fn info(&self) -> &SensorInfo {
        &self.info
    }

    /// Takes what a sensor learned about itself.
    pub fn learn(&mut self, info: &SensorInfo) {
        self.info.quality = info.quality;
        self.info.kind = info.kind;
    }

    /// Takes a sample; an increment when the count has moved, or has rested for so long that it means to.
    pub fn take(&mut self, sample: Sample) -> Option<Increment> {
        if sample.flags.has(Flags::GAP) || sample.flags.has(Flags::APART) {
            self.lose();
        }
        let is_old = self.read.is_some_and(|read| sample.at <= read);
        if sample.flags.has(Flags::GAP) || is_old || self.frozen == Some(sample.count) {
            return None;
        }
        (self.read, self.frozen) = (Some(sample.at), None);
        let increment = match self.counter.take(sample.at, sample.count) {
            Advance::By(0) => return self.rest(sample),
            Advance::By(microjoules) => {
                let energy = Joules(microjoules as f64 * 1e-6);
                self.unchanged_since.map(|from| Increment { from, to: sample.at, energy })
            }
            Advance::Begins | Advance::Gap(_) => None,
        };
        self.unchanged_since = Some(sample.at);
        self.still.moved(sample.at);
        increment.inspect(|increment| self.add(*increment))
    }

    /// The energy since the first reading, gaps left out.
    pub fn energy(&self) -> Joules {
        Joules(self.counter.total() as f64 * 1e-6)
    }

    /// For how long it is known what was used.
    pub fn known(&self) -> Nanos {
        self.known
    }

    /// The power over the last second; `None` when nothing is known of it.
    pub fn power(&self, now: Mono) -> Option<Watts> {
        let last = self.recent.back()?.to;
        if now - last > OUTDATED.max(Nanos(self.info.period.0.saturating_mul(4))) {
            return None;
        }
        let since = Mono(last.0 - NOW.0);
        let (mut energy, mut time) = (0.0, Nanos(0));
        for increment in &self.recent {
            let inside = increment.to - increment.from.max(since);
            energy += increment.energy.0 * inside.seconds() / (increment.to - increment.from).seconds();
            time += inside;
        }
        (time > Nanos(0)).then(|| Joules(energy) / time)
    }

    /// The last minute.
    pub fn history(&self) -> &History {
        &self.history
    }

    fn add(&mut self, increment: Increment) {
        self.known += increment.to - increment.from;
        self.history.add(increment);
        self.recent.push_back(increment);
        while self.recent.front().is_some_and(|first| increment.to - first.to >= NOW) {
            self.recent.pop_front();
        }
    }

    /// The count did not move. What may rest used nothing; what never rests is frozen, and nothing is known.
    fn rest(&mut self, sample: Sample) -> Option<Increment> {
        let from = self.unchanged_since?;
        self.still.stays(sample.at);
        if !self.still.is_still() {
            return None;
        }
        if !self.info.may_rest() {
            self.lose();
            self.frozen = Some(sample.count);
            return None;
        }
        self.unchanged_since = Some(sample.at);
        self.still.moved(sample.at);
        let increment = Increment { from, to: sample.at, energy: Joules::ZERO };
        self.add(increment);
        Some(increment)
    }

    fn lose(&mut self) {
        self.counter.lose();
        (self.unchanged_since, self.frozen) = (None, None);
    }
}

#[cfg(test)]
#[path = "gauge_tests.rs"]
mod tests;
