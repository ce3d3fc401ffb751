//! Energy from readings of power.

use jouletree_model::Nanos;
use jouletree_model::sampling::Mono;

use crate::ReadError;

/// The energy since the first reading, by trapezoids between readings.
#[derive(Debug, Clone)]
pub(super) struct Integral {
    last: Option<(Mono, u64)>,
    /// In half attojoule: microwatts times nanoseconds, twice, so that the mean of two readings stays whole.
    doubled: u128,
    longest: Nanos,
}

impl Integral {
    /// An integral that joins readings up to `longest` apart.
    pub fn new(longest: Nanos) -> Integral {
        Integral { last: None, doubled: 0, longest }
    }

    /// Takes a reading of microwatts and returns the microjoules so far. What was used between readings too far apart is said to
    /// be not known, once; the next reading goes on from here.
    pub fn take(&mut self, at: Mono, microwatts: u64) -> Result<u64, ReadError> {
        if let Some((before, previous)) = self.last.replace((at, microwatts)) {
            let time = at - before;
            if time > self.longest {
                return Err(ReadError::Unwatched(time));
            }
            let both = u128::from(previous) + u128::from(microwatts);
            self.doubled = self.doubled.saturating_add(both * u128::from(time.0.max(0).unsigned_abs()));
        }
        Ok(u64::try_from(self.doubled / 2_000_000_000).unwrap_or(u64::MAX))
    }

    /// Forgets the last reading: a failed one says nothing about the time around it.
    pub fn lose(&mut self) {
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn a_ramp_is_exact_and_nothing_is_lost_to_rounding() {
        let mut ramp = Integral::new(Nanos(1000 * MS));
        let mut slow = Integral::new(Nanos(1000 * MS));
        for ms in 0..=1000 {
            // From 0 to 100 W in a second: 50 J.
            ramp.take(Mono(ms * MS), 100_000 * ms.unsigned_abs()).unwrap();
            // 100 µW, a tenth of a microjoule at each reading.
            slow.take(Mono(ms * MS), 100).unwrap();
        }
        assert_eq!(ramp.take(Mono(1000 * MS), 0).unwrap(), 50_000_000);
        assert_eq!(slow.take(Mono(1000 * MS), 0).unwrap(), 100);
    }

    #[test]
    fn time_that_nobody_watched_is_not_filled() {
        let mut integral = Integral::new(Nanos(100 * MS));
        integral.take(Mono(0), 5_000_000).unwrap();
        assert_eq!(integral.take(Mono(10 * MS), 5_000_000).unwrap(), 50_000);
        assert!(matches!(integral.take(Mono(200 * MS), 5_000_000), Err(ReadError::Unwatched(Nanos(190_000_000)))));
        assert_eq!(integral.take(Mono(210 * MS), 5_000_000).unwrap(), 100_000);
        integral.lose();
        assert_eq!(integral.take(Mono(250 * MS), 5_000_000).unwrap(), 100_000);
        // Time does not run backwards, and if it did nothing would be taken away.
        assert_eq!(integral.take(Mono(0), 5_000_000).unwrap(), 100_000);
        let mut large = Integral::new(Nanos::MAX);
        large.take(Mono(0), u64::MAX).unwrap();
        assert_eq!(large.take(Mono(i64::MAX), u64::MAX).unwrap(), u64::MAX);
    }
}
