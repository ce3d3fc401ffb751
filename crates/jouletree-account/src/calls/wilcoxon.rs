//! Whether one of two paired quantities is larger: the one-sided signed-rank test of Wilcoxon, exact for few pairs.

use statrs::distribution::{ContinuousCDF, Normal};

use super::hypothesis::TestError;

/// What the test says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignedRank {
    /// How many pairs differ; the others do not count.
    pub count: usize,
    /// The sum of the ranks of those whose first is larger.
    pub statistic: f64,
    /// How likely one at least as large is when neither quantity is.
    pub p: f64,
    /// Whether that is exact, or from a normal distribution.
    pub is_exact: bool,
}

/// With so many pairs all signs are gone through, ties or not.
const MOST_EXACT: usize = 50;

/// Tests whether the first of each pair is larger than the second.
pub fn wilcoxon_greater(pairs: &[(f64, f64)]) -> Result<SignedRank, TestError> {
    if pairs.iter().any(|(first, second)| !(first - second).is_finite()) {
        return Err(TestError::NotFinite);
    }
    let mut differences: Vec<f64> =
        pairs.iter().map(|(first, second)| first - second).filter(|difference| *difference != 0.0).collect();
    differences.sort_unstable_by(|a, b| a.abs().total_cmp(&b.abs()));
    let count = differences.len();
    if count == 0 {
        return Err(TestError::TooFew { found: 0, wanted: 1 });
    }
    // Twice the rank, so that the mean of two ranks is a whole number.
    let mut doubled: Vec<usize> = Vec::with_capacity(count);
    let mut ties = 0.0;
    for tied in differences.chunk_by(|a, b| a.abs() == b.abs()) {
        let size = tied.len();
        let rank = 2 * doubled.len() + size + 1;
        doubled.extend(std::iter::repeat_n(rank, size));
        ties += (size * size * size - size) as f64;
    }
    let larger: usize =
        doubled.iter().zip(&differences).filter(|(_, difference)| **difference > 0.0).map(|(rank, _)| *rank).sum();
    let statistic = larger as f64 / 2.0;
    if count <= MOST_EXACT {
        return Ok(SignedRank { count, statistic, p: at_least(&doubled, larger), is_exact: true });
    }
    let n = count as f64;
    let mean = n * (n + 1.0) / 4.0;
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0;
    let p = Normal::standard().sf((statistic - mean) / variance.sqrt());
    Ok(SignedRank { count, statistic, p, is_exact: false })
}

/// How likely ranks with random signs sum up to at least `sum` above zero.
fn at_least(ranks: &[usize], sum: usize) -> f64 {
    let total: usize = ranks.iter().sum();
    let mut likely = vec![0.0; total + 1];
    if let Some(nothing) = likely.first_mut() {
        *nothing = 1.0;
    }
    for rank in ranks {
        for reached in (0..=total).rev() {
            let with = reached.checked_sub(*rank).and_then(|before| likely.get(before)).copied().unwrap_or(0.0);
            if let Some(likely) = likely.get_mut(reached) {
                *likely = (*likely + with) / 2.0;
            }
        }
    }
    likely.iter().skip(sum).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(differences: &[f64]) -> SignedRank {
        let pairs: Vec<(f64, f64)> = differences.iter().map(|difference| (*difference, 0.0)).collect();
        wilcoxon_greater(&pairs).unwrap()
    }

    #[test]
    fn small_samples_are_exact() {
        // All of n larger: one way in 2ⁿ.
        let differences: Vec<f64> = (1..=21).map(f64::from).collect();
        let found = of(&differences);
        assert_eq!((found.statistic, found.p, found.is_exact), (231.0, 0.5_f64.powi(21), true));
        // scipy.stats.wilcoxon(…, alternative="greater") of SciPy 1.17.
        let found = of(&[1.5, -0.4, 2.2, 3.1, -1.1, 0.9, 4.0, 2.7, -0.2, 5.5]);
        assert_eq!((found.count, found.statistic), (10, 48.0));
        assert!((found.p - 0.0185546875).abs() < 1e-14, "{found:?}");
    }

    #[test]
    fn ties_are_exact_as_well() {
        // All 2⁸ signs, gone through by scipy.stats.permutation_test(…, permutation_type="samples").
        let found = of(&[1.0, -1.0, 2.0, 2.0, 0.0, 3.0, -2.0, 4.0, 4.0]);
        assert_eq!((found.count, found.statistic), (8, 30.5));
        assert!((found.p - 0.05078125).abs() < 1e-14, "{found:?}");
    }

    #[test]
    fn large_samples_are_nearly_normal() {
        // scipy.stats.wilcoxon(…, alternative="greater", method="asymptotic") of SciPy 1.17;
        // many are tied, two are nothing.
        let differences: Vec<f64> = (1..=60).map(|n: i32| f64::from((n * 37) % 41 - 13)).collect();
        let found = of(&differences);
        assert_eq!((found.count, found.statistic, found.is_exact), (58, 1367.0, false));
        assert!((found.p / 3.729312462443494e-05 - 1.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn what_cannot_be_tested_is_told() {
        assert_eq!(wilcoxon_greater(&[(1.0, 1.0)]), Err(TestError::TooFew { found: 0, wanted: 1 }));
        assert_eq!(wilcoxon_greater(&[(f64::NAN, 1.0)]), Err(TestError::NotFinite));
    }
}
