//! Counters: an ever-growing count from one that wraps, stalls or is set back.

use jouletree_model::Nanos;

use crate::{Mono, SensorInfo};

/// The energy since the first reading, in microjoules.
#[derive(Debug, Clone)]
pub struct Counter {
    range: Option<u64>,
    most_watts: f64,
    last: Option<(Mono, u64)>,
    total: u64,
}

/// What a reading adds to a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advance {
    /// Nothing is known before it: the count begins here, or begins anew after a gap.
    Begins,
    /// So many microjoules since the last reading.
    By(u64),
    /// It cannot be: the count restarts here, and what happened since the last reading is not known.
    Gap(Implausible),
}

/// Why the energy between two readings is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Implausible {
    /// It went backwards although it does not wrap, or by more than a wrap explains.
    Backwards,
    /// The hardware cannot have used so much in the time.
    TooMuch,
    /// So much time has passed that it may have wrapped more than once.
    ManyWraps,
    /// It is larger than it can be.
    OutOfRange,
}

impl Counter {
    /// A counter for readings of a sensor.
    pub fn new(info: &SensorInfo) -> Counter {
        Counter { range: info.range, most_watts: info.most_watts, last: None, total: 0 }
    }

    /// The energy counted so far, in microjoules.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Takes a reading.
    pub fn take(&mut self, at: Mono, raw: u64) -> Advance {
        if self.range.is_some_and(|range| raw > range) {
            self.last = None;
            return Advance::Gap(Implausible::OutOfRange);
        }
        let Some((before, previous)) = self.last.replace((at, raw)) else { return Advance::Begins };
        match self.between(at - before, previous, raw) {
            Ok(energy) => {
                self.total = self.total.saturating_add(energy);
                Advance::By(energy)
            }
            Err(why) => Advance::Gap(why),
        }
    }

    /// Forgets the last reading: what happens until the next one is not known.
    pub fn lose(&mut self) {
        self.last = None;
    }

    fn between(&self, time: Nanos, previous: u64, raw: u64) -> Result<u64, Implausible> {
        // A little more than nothing, for two readings within one update.
        let most = self.most_watts * (time.seconds().max(0.0) + 0.02) * 1e6;
        let energy = match self.range {
            Some(range) if raw < previous => range - previous + raw,
            None if raw < previous => return Err(Implausible::Backwards),
            _ => raw - previous,
        };
        if self.range.is_some_and(|range| most >= range as f64) {
            return Err(Implausible::ManyWraps);
        }
        if energy as f64 > most {
            return Err(if raw < previous { Implausible::Backwards } else { Implausible::TooMuch });
        }
        Ok(energy)
    }
}
