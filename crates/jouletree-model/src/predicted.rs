//! Within which a prediction expects the energy of a layer or operation to be.

use crate::{Footprint, Interval, Joules, Pass};

/// The level of the intervals of predictions, in percent. They are quantiles of errors on models that were left out of a
/// fit; with a handful of models there is no quantile for 95 %.
pub const PREDICTION_LEVEL: u8 = 90;

/// The interval of a prediction.
pub type PredictionInterval = Interval<PREDICTION_LEVEL>;

/// The interval of a layer or operation in one pass, everything inside included.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictedInterval {
    /// Its path; empty for the whole.
    pub path: Box<str>,
    /// The pass.
    pub pass: Pass,
    /// Its energy.
    pub energy: Joules,
    /// The ends.
    pub interval: PredictionInterval,
}

/// The interval of an energy that several passes used together; `None` unless those of passes that are known make all of it.
pub fn sum_of_passes<'a>(
    energy: Joules,
    known: impl IntoIterator<Item = &'a PredictedInterval>,
) -> Option<PredictionInterval> {
    let mut sum: Option<(Joules, PredictionInterval)> = None;
    for one in known {
        sum = Some(sum.map_or((one.energy, one.interval), |(energy, interval)| {
            (energy + one.energy, interval.together(one.interval))
        }));
    }
    // What is filtered or folded is not what was predicted, and an optimizer has no interval.
    let (whole, interval) = sum?;
    ((whole - energy).0.abs() <= 1e-9 * energy.0.abs()).then_some(interval)
}

impl Footprint {
    /// The interval of a predicted energy of an operation.
    pub fn interval_of(&self, path: &str, pass: Pass, energy: Joules) -> Option<PredictionInterval> {
        let known = self.intervals.iter().filter(|known| *known.path == *path && known.pass == pass);
        sum_of_passes(energy, known)
    }

    /// The interval of all that was predicted.
    pub fn predicted_interval(&self) -> Option<PredictionInterval> {
        let energy = self.devices.iter().map(|device| device.attributed).sum();
        sum_of_passes(energy, self.intervals.iter().filter(|known| known.path.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(pass: Pass, energy: f64) -> PredictedInterval {
        let interval = Interval { low: Joules(0.5 * energy), high: Joules(2.0 * energy) };
        PredictedInterval { path: "".into(), pass, energy: Joules(energy), interval }
    }

    #[test]
    fn an_interval_is_that_of_all_or_none() {
        let passes = [known(Pass::Forward, 2.0), known(Pass::Backward, 4.0)];
        assert_eq!(sum_of_passes(Joules(6.0), &passes), Some(Interval { low: Joules(3.0), high: Joules(12.0) }));
        assert_eq!(sum_of_passes(Joules(2.0), &passes[..1]), Some(passes[0].interval));
        assert_eq!(sum_of_passes(Joules(7.0), &passes), None, "an optimizer took a joule");
        assert_eq!(sum_of_passes(Joules(0.0), &[]), None);
    }
}
