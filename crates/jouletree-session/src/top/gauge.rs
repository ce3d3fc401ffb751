//! A gauge: what one sensor counted, what it shows now, and its last minute.
//!
//! Every microjoule that the counter gained is in exactly one [`Increment`]. What lies in a gap is in none, and the time
//! of the gap is not known.

use std::collections::VecDeque;

use jouletree_model::sampling::{Mono, Sample, SensorInfo};
use jouletree_model::{Joules, Nanos, Watts};
use jouletree_series::share::Increment;
use jouletree_series::{CountStep, EnergyCount, Progress};

use super::history::History;

/// What is shown as power now is the mean over this time.
pub const NOW: Nanos = Nanos(1_000_000_000);
/// Without news for so long, there is no power to show.
const OUTDATED: Nanos = Nanos(2_000_000_000);

/// One sensor over time.
#[derive(Debug)]
pub struct Gauge {
    info: SensorInfo,
    count: EnergyCount,
    /// Since when the count has not changed; `None` when that is not known.
    unchanged_since: Option<Mono>,
    known: Nanos,
    recent: VecDeque<Increment>,
    history: History,
}

impl Gauge {
    /// A gauge that has shown nothing yet.
    pub fn new(info: SensorInfo) -> Gauge {
        Gauge {
            count: EnergyCount::new(&info),
            info,
            unchanged_since: None,
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
        let Progress { lost, step, .. } = self.count.take(&sample);
        if lost.is_some() {
            self.unchanged_since = None;
        }
        let energy = match step? {
            CountStep::Begins | CountStep::Restarts => None,
            CountStep::Grew(microjoules) => Some(Joules(microjoules as f64 * 1e-6)),
            CountStep::Same if !self.count.is_still() => return None,
            CountStep::Same => {
                self.count.rest_is_counted(sample.at);
                Some(Joules::ZERO)
            }
        };
        let from = self.unchanged_since.replace(sample.at);
        let increment = from.zip(energy).map(|(from, energy)| Increment { from, to: sample.at, energy });
        increment.inspect(|increment| self.add(*increment))
    }

    /// The energy since the first reading, gaps left out.
    pub fn energy(&self) -> Joules {
        Joules(self.count.total() as f64 * 1e-6)
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
}

#[cfg(test)]
#[path = "gauge_tests.rs"]
mod tests;
