//! How long a sensor is silent that answers on a thread of its own. A stall of the whole process is not the sensor's
//! silence: its thread did not run either, and what it counts will be there a moment later.

use jouletree_model::Nanos;
use jouletree_model::sampling::Mono;

/// Looks at what a thread of a sensor says.
#[derive(Debug, Clone)]
pub(crate) struct Silence {
    looked: Mono,
    heard: Mono,
    /// The longest interval between two looks since the thread was heard of.
    unwatched: Nanos,
    is_late: bool,
}

impl Silence {
    /// Nothing was heard yet.
    pub(crate) fn since(now: Mono) -> Silence {
        Silence { looked: now, heard: now, unwatched: Nanos(0), is_late: false }
    }

    /// For how long it was silent, if that is longer than allowed. One interval between two looks does not count, so that
    /// a reader that looks seldom needs two looks to be sure.
    pub(crate) fn look(&mut self, now: Mono, heard: Mono, most: Nanos) -> Option<Nanos> {
        if heard != self.heard {
            (self.heard, self.unwatched, self.is_late) = (heard, Nanos(0), false);
        }
        self.unwatched = self.unwatched.max(now - std::mem::replace(&mut self.looked, now));
        let silent = now - heard;
        self.is_late |= silent - self.unwatched > most;
        self.is_late.then_some(silent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// The instants at which a silence is noticed, for looks at these milliseconds.
    fn late(looks: &[i64], heard: impl Fn(i64) -> i64) -> Vec<i64> {
        let mut silence = Silence::since(Mono(0));
        let mut is_late =
            |ms: &&i64| silence.look(Mono(**ms * MS), Mono(heard(**ms) * MS), Nanos(150 * MS)).is_some();
        looks.iter().filter(|ms| is_late(ms)).copied().collect()
    }

    #[test]
    fn a_stall_of_the_reader_is_not_the_silence_of_the_sensor() {
        // Looks every 4 ms, and a stall of 3 s. The thread speaks at every look, but at first after the stall.
        let looks: Vec<i64> = (0..=100).chain(775..=900).map(|n| n * 4).collect();
        assert_eq!(late(&looks, |ms| if ms == 3100 { 400 } else { ms }), []);
        // A sensor that hangs since the stall is noticed.
        let noticed = late(&looks, |ms| ms.min(400));
        assert_eq!(noticed.first(), Some(&3252));
        assert_eq!(noticed.last(), Some(&3600), "and stays late");
    }

    #[test]
    fn a_reader_that_looks_seldom_needs_two_looks() {
        let looks = [0, 1000, 2000, 3000, 4000];
        assert_eq!(late(&looks, |ms| ms - 5), []);
        assert_eq!(late(&looks, |ms| ms.min(995)), [3000, 4000]);
    }
}
