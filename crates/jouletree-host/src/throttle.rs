//! A limit on how often something is logged, so that no client and no broken sensor can fill a disk with messages.

use std::time::{Duration, Instant};

/// Lets a number of events through in every period and counts those that it holds back.
#[derive(Debug)]
pub struct Throttle {
    most: u32,
    period: Duration,
    /// When the current period began, and how many events it let through.
    current: Option<(Instant, u32)>,
    suppressed: u64,
}

impl Throttle {
    /// Allows `most` events in every `period`.
    pub fn new(most: u32, period: Duration) -> Throttle {
        Throttle { most, period, current: None, suppressed: 0 }
    }

    /// Whether an event at this time may pass; if so, how many were suppressed since the last one that did.
    pub fn pass(&mut self, now: Instant) -> Option<u64> {
        let used = match self.current {
            Some((begin, used)) if now.saturating_duration_since(begin) < self.period => used,
            _ => {
                self.current = Some((now, 0));
                0
            }
        };
        if used >= self.most {
            self.suppressed = self.suppressed.saturating_add(1);
            return None;
        }
        self.current = self.current.map(|(begin, _)| (begin, used + 1));
        Some(std::mem::take(&mut self.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_beyond_the_limit_are_counted_and_reported_with_the_next() {
        let (begin, second) = (Instant::now(), Duration::from_secs(1));
        let mut throttle = Throttle::new(2, second);
        let passed: Vec<_> = (0..5).map(|_| throttle.pass(begin)).collect();
        assert_eq!(passed, [Some(0), Some(0), None, None, None]);
        assert_eq!(throttle.pass(begin + second / 2), None);
        assert_eq!(throttle.pass(begin + second), Some(4));
        assert_eq!(throttle.pass(begin + second), Some(0));
        assert_eq!(throttle.pass(begin + second), None);
    }
}
