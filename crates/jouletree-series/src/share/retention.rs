//! For how long shares are kept: until no energy can come any more that they split.

use jouletree_model::Nanos;
use jouletree_model::sampling::{Mono, SensorInfo};

/// Shares are kept for this many periods of the slowest sensor: points are final some readings after their instant.
const KEPT_PERIODS: i64 = 12;
/// Those of a stall are kept until it is over, but for no longer than this.
const KEPT_MOST: Nanos = Nanos(600_000_000_000);

/// How far back shares are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention(Nanos);

impl Retention {
    /// Shares are needed for at least this time, and for the slowest of the sensors that are read once in a period.
    pub fn new<'s>(least: Nanos, period: Nanos, sensors: impl IntoIterator<Item = &'s SensorInfo>) -> Retention {
        let (mut slowest, mut lag) = (period, Nanos(0));
        for info in sensors {
            slowest = slowest.max(info.period);
            lag = lag.max(info.quality.lag);
        }
        Retention(least + Nanos(slowest.0.saturating_mul(KEPT_PERIODS)) + lag)
    }

    /// The oldest instant of which shares are needed, where energy since `open` is not split yet.
    pub fn oldest(self, newest: Mono, open: Option<Mono>) -> Mono {
        let back = |time: Nanos| Mono(newest.0.saturating_sub(time.0));
        back(self.0).min(open.unwrap_or(newest)).max(back(KEPT_MOST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_keeps_shares_but_not_forever() {
        let seconds = |seconds: i64| Mono(seconds * 1_000_000_000);
        let retention = Retention::new(Nanos(10_000_000_000), Nanos(1_000_000_000), []);
        assert_eq!(retention.oldest(seconds(1000), None), seconds(1000 - 22));
        assert_eq!(retention.oldest(seconds(1000), Some(seconds(999))), seconds(1000 - 22));
        assert_eq!(retention.oldest(seconds(1000), Some(seconds(700))), seconds(700));
        assert_eq!(retention.oldest(seconds(1000), Some(seconds(100))), seconds(400));
    }
}
