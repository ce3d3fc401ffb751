//! Energy from power that is shown anew every so often: only changes carry news, stamped when they are seen.
//!
//! Between two values the power is taken to be a straight line. A value that does not change was shown anew all the
//! same, once in each period, and the power was constant.

use jouletree_model::Nanos;
use jouletree_model::sampling::Mono;

use crate::ReadError;
use crate::slow::DEADLINE;

/// The energy under a power.
#[derive(Debug, Clone, Default)]
pub(super) struct PowerIntegral {
    /// The last value and when it was shown.
    last: Option<(Mono, u64)>,
    /// When it was seen to change; `None` until it was, since the first look begins nothing.
    changed: Option<Mono>,
    looked: Mono,
    /// Twice the energy in picojoules: milliwatts times nanoseconds, exactly.
    doubled: u128,
}

impl PowerIntegral {
    /// Takes a look at the power, which is shown anew every `period`; says the time between two changes when it has just
    /// changed. Fails when it was not read for so long that values may have been missed.
    pub(super) fn take(&mut self, at: Mono, milliwatts: u64, period: Nanos) -> Result<Option<Nanos>, ReadError> {
        let unwatched = at - std::mem::replace(&mut self.looked, at);
        let Some((shown, before)) = self.last else {
            self.last = Some((at, milliwatts));
            return Ok(None);
        };
        if unwatched > DEADLINE.max(period + period) {
            self.last = Some((at, milliwatts));
            self.changed = None;
            return Err(ReadError::Unwatched(unwatched));
        }
        if milliwatts == before {
            let mut shown = shown;
            while period > Nanos(0) && at - shown > period + Nanos(period.0 / 2) {
                self.add(before, before, period);
                shown = Mono(shown.0 + period.0);
            }
            self.last = Some((shown, before));
            return Ok(None);
        }
        // It was shown for the last time one period ago at most.
        let slope = (at - shown).min(period.max(Nanos(0)));
        self.add(before, before, (at - shown) - slope);
        self.add(before, milliwatts, slope);
        self.last = Some((at, milliwatts));
        Ok(self.changed.replace(at).map(|changed| at - changed))
    }

    /// The energy up to [`PowerIntegral::until`], in microjoules.
    pub(super) fn microjoules(&self) -> u64 {
        u64::try_from(self.doubled / 2_000_000).unwrap_or(u64::MAX)
    }

    /// Up to when the energy is known.
    pub(super) fn until(&self) -> Option<Mono> {
        self.last.map(|(shown, _)| shown)
    }

    fn add(&mut self, from: u64, to: u64, time: Nanos) {
        let time = u128::try_from(time.0).unwrap_or(0);
        self.doubled = self.doubled.saturating_add((u128::from(from) + u128::from(to)).saturating_mul(time));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Looks every `every` at what a GPU shows, and gives the energy and the time it is known up to.
    fn integrated(shown: impl Fn(f64) -> u64, period: i64, every: i64, time: i64) -> (f64, f64) {
        let mut integral = PowerIntegral::default();
        for look in 0..=time / every {
            let at = look * every;
            integral.take(Mono(at), shown(at as f64 * 1e-9), Nanos(period)).unwrap();
        }
        (integral.microjoules() as f64 * 1e-6, integral.until().unwrap().0 as f64 * 1e-9)
    }

    #[test]
    fn constant_power_counts_although_nothing_changes() {
        let (joules, until) = integrated(|_| 100_000, 100 * MS, 7 * MS, 2000 * MS);
        assert!((joules - 100.0 * until).abs() < 1e-6, "{joules} J until {until}");
        assert!(until > 1.8, "{until}");
    }

    #[test]
    fn a_ramp_is_exact_up_to_the_delay_of_looking() {
        // 100 W more each second, shown every 20 ms, looked at every 3 ms: no value is seen more than 3 ms late.
        let shown = |at: f64| ((at / 0.02 + 1e-6).floor() * 2000.0) as u64;
        let (joules, until) = integrated(shown, 20 * MS, 3 * MS, 1000 * MS);
        let (truth, late) = (50.0 * until * until, 100.0 * until * 0.003);
        assert!(joules <= truth + 1e-6 && joules >= truth - late, "{joules} J, not {truth} J");
    }

    #[test]
    fn a_square_wave_is_off_by_half_a_period_at_most_and_not_on_average() {
        // 300 ms of 200 W and 300 ms of 50 W, shown every 20 ms.
        let shown = |at: f64| if ((at + 1e-9) / 0.02).floor() as i64 % 30 < 15 { 200_000 } else { 50_000 };
        let (joules, until) = integrated(shown, 20 * MS, 2 * MS, 6000 * MS);
        let truth = 125.0 * until;
        // Half a period at the one edge that has no partner, and a look's delay at each of twenty.
        let bound = 150.0 * (0.01 + 0.02) + 20.0 * 150.0 * 0.002;
        assert!((joules - truth).abs() < bound, "{joules} J, not {truth} J within {bound} J");
    }

    #[test]
    fn time_that_nobody_watched_is_a_gap_and_adds_nothing() {
        let mut integral = PowerIntegral::default();
        integral.take(Mono(0), 100_000, Nanos(20 * MS)).unwrap();
        integral.take(Mono(20 * MS), 100_001, Nanos(20 * MS)).unwrap();
        let before = integral.microjoules();
        let error = integral.take(Mono(400 * MS), 300_000, Nanos(20 * MS)).unwrap_err();
        assert!(matches!(error, ReadError::Unwatched(Nanos(380_000_000))), "{error}");
        assert_eq!(integral.microjoules(), before);
        integral.take(Mono(420 * MS), 300_002, Nanos(20 * MS)).unwrap();
        assert_eq!(integral.microjoules() - before, 6_000_020);
    }
}
