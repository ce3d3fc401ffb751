//! Counters: an ever-growing count from one that wraps, stalls or is set back.
//!
//! Between two readings a counter has grown by a known amount, or what happened is a gap; it is never guessed. A wrap
//! is distinguished from a counter that was set back by what the device can have used in the time.

use jouletree_model::Nanos;
use jouletree_model::sampling::{Mono, SensorInfo};

/// How much longer than its period a counter may stay the same before it shows what it counted meanwhile: package
/// sleep and system management delay the updates of RAPL by up to ten milliseconds.
const STALL: Nanos = Nanos(20_000_000);

/// The energy since the first reading, in microjoules.
#[derive(Debug, Clone)]
pub struct Counter {
    range: Option<u64>,
    step: f64,
    most_watts: f64,
    slack: Nanos,
    last: Option<(Mono, u64)>,
    /// How much older than the last reading its count may be: after a stall the first count may be from before it.
    behind: Nanos,
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
        Counter {
            range: info.range,
            step: if info.step.0.is_finite() { info.step.0.max(0.0) } else { 0.0 },
            most_watts: info.most.0,
            slack: STALL.max(info.period + info.period),
            last: None,
            behind: Nanos(0),
            total: 0,
        }
    }

    /// The energy counted so far, in microjoules.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Takes a reading.
    pub fn take(&mut self, at: Mono, raw: u64) -> Advance {
        if self.range.is_some_and(|range| raw > range) {
            self.lose();
            return Advance::Gap(Implausible::OutOfRange);
        }
        let behind = std::mem::take(&mut self.behind);
        let Some((before, previous)) = self.last.replace((at, raw)) else { return Advance::Begins };
        let time = at - before;
        let with_stall = Nanos(time.0.saturating_add(behind.0));
        let between = self.between(time, previous, raw);
        // The energy of a stall may be in the second reading after it. Time that allows a wrap proves nothing.
        let between = between.or_else(|why| match why {
            Implausible::TooMuch | Implausible::Backwards if behind > Nanos(0) => {
                self.between(with_stall, previous, raw).map_err(|_| why)
            }
            _ => Err(why),
        });
        match between {
            Ok(energy) => {
                let is_stalled = time > self.slack || (behind > Nanos(0) && energy == 0);
                self.behind = match is_stalled {
                    true if energy == 0 => with_stall,
                    true => time,
                    false => Nanos(0),
                };
                self.total = self.total.saturating_add(energy);
                Advance::By(energy)
            }
            Err(why) => Advance::Gap(why),
        }
    }

    /// Forgets the last reading: what happens until the next one is not known.
    pub fn lose(&mut self) {
        self.last = None;
        self.behind = Nanos(0);
    }

    fn between(&self, time: Nanos, previous: u64, raw: u64) -> Result<u64, Implausible> {
        let most = self.most_watts * (time.max(Nanos(0)) + self.slack).seconds() * 1e6 + self.tolerance();
        let went_back = raw < previous;
        let energy = match self.range {
            // From its largest value to zero is one step, too.
            Some(range) if went_back => {
                (range - previous).saturating_add(raw).saturating_add(self.step.round() as u64)
            }
            None if went_back => return Err(Implausible::Backwards),
            _ => raw - previous,
        };
        if self.range.is_some_and(|range| most >= range as f64) {
            return Err(Implausible::ManyWraps);
        }
        if energy as f64 > most {
            return Err(if went_back { Implausible::Backwards } else { Implausible::TooMuch });
        }
        Ok(energy)
    }

    /// What two readings may differ by without any time between them: a coarse counter jumps.
    fn tolerance(&self) -> f64 {
        2.0 * self.step
    }
}

#[cfg(test)]
#[path = "counter_tests.rs"]
mod tests;
