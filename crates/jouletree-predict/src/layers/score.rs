//! How well predictions meet measurements. Errors are relative: energies span many powers of ten, and a score in joules
//! would see nothing but the largest layers.

use serde::Serialize;

/// Relative errors of predictions, in percent, and other measures of their quality.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RelativeScore {
    /// How many predictions.
    pub count: usize,
    /// The mean of absolute errors, in percent.
    pub mean_percent: f64,
    /// Their median.
    pub median_percent: f64,
    /// Nine in ten are smaller.
    pub p90_percent: f64,
    /// The largest.
    pub worst_percent: f64,
    /// The mean of absolute errors, in joules.
    pub mae_j: f64,
    /// The mean of squared errors, in square joules.
    pub mse_j2: f64,
    /// The share of the variance that is explained, in joules.
    pub r2: f64,
    /// The share of the variance that is explained, in logarithms; none when a prediction is not positive.
    pub r2_of_log: Option<f64>,
    /// How many predictions are negative.
    pub negative: usize,
}

impl RelativeScore {
    /// Scores pairs of measured and predicted values; `None` when there are none.
    pub fn of(pairs: &[(f64, f64)]) -> Option<RelativeScore> {
        let mut errors: Vec<f64> =
            pairs.iter().map(|(truth, guess)| 100.0 * (guess / truth - 1.0).abs()).collect();
        errors.sort_by(f64::total_cmp);
        let count = errors.len();
        let at = |share: f64| errors.get(((count as f64 * share) as usize).min(count.saturating_sub(1))).copied();
        let mean =
            |of: fn(f64) -> f64| pairs.iter().map(|(truth, guess)| of(guess - truth)).sum::<f64>() / count as f64;
        let logs: Vec<(f64, f64)> = pairs.iter().map(|(truth, guess)| (truth.ln(), guess.ln())).collect();
        let is_positive = pairs.iter().all(|(_, guess)| *guess > 0.0);
        Some(RelativeScore {
            count,
            mean_percent: errors.iter().sum::<f64>() / count as f64,
            median_percent: at(0.5)?,
            p90_percent: at(0.9)?,
            worst_percent: at(1.0)?,
            mae_j: mean(f64::abs),
            mse_j2: mean(|error| error * error),
            r2: linear_r2(pairs),
            r2_of_log: is_positive.then(|| linear_r2(&logs)),
            negative: pairs.iter().filter(|(_, guess)| *guess < 0.0).count(),
        })
    }
}

/// The share of the variance of the first of each pair that the second explains.
pub fn linear_r2(pairs: &[(f64, f64)]) -> f64 {
    let mean = pairs.iter().map(|(truth, _)| truth).sum::<f64>() / pairs.len() as f64;
    let total: f64 = pairs.iter().map(|(truth, _)| (truth - mean).powi(2)).sum();
    let missed: f64 = pairs.iter().map(|(truth, guess)| (truth - guess).powi(2)).sum();
    1.0 - missed / total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_by_hand() {
        let score = RelativeScore::of(&[(1.0, 1.1), (2.0, 1.0), (4.0, -4.0)]).unwrap();
        assert!((score.mean_percent - (10.0 + 50.0 + 200.0) / 3.0).abs() < 1e-9);
        assert!((score.median_percent - 50.0).abs() < 1e-9);
        assert!((score.mae_j - 9.1 / 3.0).abs() < 1e-9 && (score.mse_j2 - 65.01 / 3.0).abs() < 1e-9);
        assert_eq!((score.negative, score.r2_of_log), (1, None));
        assert_eq!(RelativeScore::of(&[]), None);
        assert_eq!(linear_r2(&[(1.0, 1.0), (2.0, 2.0)]), 1.0);
        assert_eq!(linear_r2(&[(1.0, 1.5), (2.0, 1.5)]), 0.0);
    }
}
