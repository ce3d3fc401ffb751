//! The rounds of the sampler, recognised in its samples: sensors are read one after the other, always in the same order.

use jouletree_model::sampling::{Flags, Mono, Sample};

/// Finds the instant of the round that a sample belongs to.
#[derive(Debug, Default)]
pub(super) struct RoundClock {
    /// The sensor of the sample before.
    last: Option<u16>,
    /// When the first sensor of this round was read.
    at: Option<Mono>,
}

impl RoundClock {
    /// The same instant for all sensors of a round, to be asked once for each sample in their order. A sample that its
    /// sensor stamped is not tied to the instant of its reading and has its own.
    pub fn instant(&mut self, sample: &Sample) -> Mono {
        if self.last.is_none_or(|last| sample.sensor <= last) {
            self.at = None;
        }
        self.last = Some(sample.sensor);
        match sample.flags.has(Flags::STAMPED) {
            true => sample.at,
            false => *self.at.get_or_insert(sample.at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instant(clock: &mut RoundClock, sensor: u16, at: i64, flags: Flags) -> i64 {
        clock.instant(&Sample { sensor, flags, at: Mono(at), count: 0 }).0
    }

    #[test]
    fn a_round_has_one_instant() {
        let (mut clock, well) = (RoundClock::default(), Flags::default());
        assert_eq!([(0, 9), (1, 11), (3, 12)].map(|(id, at)| instant(&mut clock, id, at, well)), [9; 3]);
        // A sensor is missing from the next round, and one stamps its reading.
        assert_eq!(instant(&mut clock, 1, 21, well), 21);
        assert_eq!(instant(&mut clock, 2, 5, Flags::STAMPED), 5);
        assert_eq!(instant(&mut clock, 3, 23, well), 21);
        assert_eq!(instant(&mut clock, 3, 33, Flags::GAP), 33);
    }
}
