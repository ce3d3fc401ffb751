//! The energy of a whole training, foreseen from its first epochs.

use jouletree_model::{Joules, Nanos};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// An epoch that is over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Epoch {
    /// What it used.
    pub energy: Joules,
    /// How long it took.
    pub time: Nanos,
}

/// What a training will have used when it is over.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// All of it.
    pub energy: Joules,
    /// The 95 % interval; none when fewer than two epochs after the warm-up are known.
    pub interval: Option<(Joules, Joules)>,
    /// How long it will have taken.
    pub time: Nanos,
    /// How many of the first epochs were left out of the mean: they compile, fill caches or find their speed.
    pub warm_up: usize,
}

/// An epoch further than this from those after it, relative to their median, can belong to the warm-up.
const NOTICEABLE: f64 = 0.02;
/// And further than so many times their spread.
const SPREADS: f64 = 5.0;

/// What has been used, and what the epochs that are left will use if they are like those after the warm-up.
///
/// Without a warm-up this is CarbonTracker's rule, the number of epochs times the mean; none when no epoch is over.
pub fn forecast(done: &[Epoch], epochs: usize) -> Option<Forecast> {
    let warm_up = warm_up(done);
    let steady = done.get(warm_up..).filter(|steady| !steady.is_empty())?;
    let (count, left) = (steady.len() as f64, epochs.saturating_sub(done.len()) as f64);
    let used: f64 = done.iter().map(|epoch| epoch.energy.0).sum();
    let mean = steady.iter().map(|epoch| epoch.energy.0).sum::<f64>() / count;
    let energy = used + left * mean;
    let took: f64 = done.iter().map(|epoch| epoch.time.0 as f64).sum();
    let time = took + left * steady.iter().map(|epoch| epoch.time.0 as f64).sum::<f64>() / count;
    let variance = steady.iter().map(|epoch| (epoch.energy.0 - mean).powi(2)).sum::<f64>() / (count - 1.0);
    // Those that are left vary, and their mean is known only as well as those seen allow.
    let spread = (variance * (left + left * left / count)).sqrt();
    let quantile = StudentsT::new(0.0, 1.0, count - 1.0).ok().map(|law| law.inverse_cdf(0.975));
    let interval = quantile.filter(|_| steady.len() > 1).map(|quantile| {
        let half = quantile * spread;
        (Joules((energy - half).max(used)), Joules(energy + half))
    });
    Some(Forecast { energy: Joules(energy), interval, time: Nanos(time.round() as i64), warm_up })
}

/// How many of the first epochs differ from those after them; at most half of all, and none of fewer than four.
fn warm_up(done: &[Epoch]) -> usize {
    if done.len() < 4 {
        return 0;
    }
    let differs = |number: usize| {
        let later: Vec<f64> = done.iter().skip(number + 1).map(|epoch| epoch.energy.0).collect();
        let middle = median(later.clone());
        let spread = 1.4826 * median(later.iter().map(|energy| (energy - middle).abs()).collect());
        let limit = (SPREADS * spread).max(NOTICEABLE * middle.abs());
        done.get(number).is_some_and(|epoch| (epoch.energy.0 - middle).abs() > limit)
    };
    (0..done.len() / 2).take_while(|number| differs(*number)).count()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        0 => values
            .get(middle.wrapping_sub(1))
            .zip(values.get(middle))
            .map_or(0.0, |(low, high)| (low + high) / 2.0),
        _ => values.get(middle).copied().unwrap_or_default(),
    }
}

/// The intensity that CarbonTracker takes for a training: the mean of what was fetched so far and of the latest value,
/// once and for every quarter of an hour that it will still run.
pub fn forecast_intensity(fetched: &[f64], latest: f64, seconds: f64) -> f64 {
    let further = 1.0 + (seconds / 900.0).floor();
    (fetched.iter().sum::<f64>() + latest * further) / (fetched.len() as f64 + further)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epochs(joules: &[f64]) -> Vec<Epoch> {
        joules.iter().map(|joules| Epoch { energy: Joules(*joules), time: Nanos(1_000_000_000) }).collect()
    }

    #[test]
    fn without_a_warm_up_it_is_the_mean() {
        let seen = forecast(&epochs(&[10.0, 12.0]), 100);
        assert_eq!(seen.as_ref().map(|seen| (seen.energy, seen.warm_up)), Some((Joules(1100.0), 0)));
        assert_eq!(seen.map(|seen| seen.time), Some(Nanos(100_000_000_000)));
        assert_eq!(forecast(&[], 100), None);
    }

    #[test]
    fn one_epoch_has_no_interval() {
        assert_eq!(forecast(&epochs(&[10.0]), 100).and_then(|seen| seen.interval), None);
    }

    #[test]
    fn a_slow_beginning_is_not_multiplied() {
        let seen = forecast(&epochs(&[50.0, 10.0, 10.1, 9.9, 10.0, 10.0]), 100);
        let (energy, warm_up) = seen.map_or((0.0, 0), |seen| (seen.energy.0, seen.warm_up));
        assert_eq!(warm_up, 1);
        assert!((energy - (100.0 + 94.0 * 10.0)).abs() < 1e-9, "{energy}");
    }

    /// A training of independent epochs lies within the interval in about 95 of 100 cases.
    #[test]
    fn the_interval_holds_the_truth() {
        let mut state = 7_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let mut held = 0;
        for _ in 0..1000 {
            let all: Vec<f64> = (0..60).map(|_| 100.0 + 5.0 * normal()).collect();
            let seen = forecast(&epochs(&all[..6]), 60);
            let truth: f64 = all.iter().sum();
            held += usize::from(
                seen.and_then(|seen| seen.interval).is_some_and(|(low, high)| (low.0..=high.0).contains(&truth)),
            );
        }
        assert!((920..=975).contains(&held), "{held} of 1000");
    }
}
