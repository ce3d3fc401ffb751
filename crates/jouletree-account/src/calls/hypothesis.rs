//! Whether two quantities go together: Pearson's correlation and how likely it is by chance.

use statrs::function::beta::checked_beta_reg;

use super::summary::mean;

/// A correlation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Correlation {
    /// How many pairs it is of.
    pub count: usize,
    /// From −1 to 1.
    pub r: f64,
    /// How likely one as strong, of either sign, is between quantities that have nothing to do with each other.
    pub p: f64,
}

/// Why a test says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TestError {
    /// Too few values.
    #[error("{found} values are too few; at least {wanted} are needed")]
    TooFew {
        /// How many there are.
        found: usize,
        /// How many are needed.
        wanted: usize,
    },
    /// Too many values for the test's approximation.
    #[error("{found} values are too many; the test is made for {most} at most")]
    TooMany {
        /// How many there are.
        found: usize,
        /// How many are allowed.
        most: usize,
    },
    /// All values are the same.
    #[error("all values are the same")]
    Constant,
    /// A value is no number.
    #[error("a value is not a finite number")]
    NotFinite,
}

/// Pearson's correlation of pairs.
pub fn pearson(pairs: &[(f64, f64)]) -> Result<Correlation, TestError> {
    let Moments { count, xx, yy, xy, .. } = Moments::of(pairs)?;
    if xx <= 0.0 || yy <= 0.0 {
        return Err(TestError::Constant);
    }
    let r = (xy / (xx.sqrt() * yy.sqrt())).clamp(-1.0, 1.0);
    let freedom = count as f64 - 2.0;
    Ok(Correlation { count, r, p: two_sided(r * (freedom / (1.0 - r * r)).sqrt(), freedom) })
}

/// Sums around the means of pairs.
pub(super) struct Moments {
    pub count: usize,
    pub x: f64,
    pub y: f64,
    pub xx: f64,
    pub yy: f64,
    pub xy: f64,
}

impl Moments {
    pub fn of(pairs: &[(f64, f64)]) -> Result<Moments, TestError> {
        let count = pairs.len();
        if count < 2 {
            return Err(TestError::TooFew { found: count, wanted: 2 });
        }
        if pairs.iter().any(|(x, y)| !x.is_finite() || !y.is_finite()) {
            return Err(TestError::NotFinite);
        }
        let [x, y]: [Vec<f64>; 2] =
            [pairs.iter().map(|(x, _)| *x).collect(), pairs.iter().map(|(_, y)| *y).collect()];
        let (x, y) = (mean(&x), mean(&y));
        let sum = |part: fn(f64, f64) -> f64| pairs.iter().map(|(a, b)| part(a - x, b - y)).sum();
        Ok(Moments { count, x, y, xx: sum(|x, _| x * x), yy: sum(|_, y| y * y), xy: sum(|x, y| x * y) })
    }
}

/// How likely a value of Student's t at least this far from zero is.
pub(super) fn two_sided(t: f64, freedom: f64) -> f64 {
    if freedom < 1.0 {
        // A line always goes through two points.
        return 1.0;
    }
    if !t.is_finite() {
        return 0.0;
    }
    checked_beta_reg(freedom / 2.0, 0.5, freedom / (freedom + t * t)).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlations_are_those_of_scipy() {
        // scipy.stats.pearsonr of SciPy 1.17.
        let pairs = [(1.0, 2.1), (2.0, 3.9), (3.0, 6.2), (4.0, 7.8), (5.0, 9.0), (7.5, 11.0)];
        let found = pearson(&pairs).unwrap();
        assert!((found.r - PEARSON_R).abs() < 1e-13, "{found:?}");
        assert!((found.p / PEARSON_P - 1.0).abs() < 1e-10, "{found:?}");
        let falling: Vec<(f64, f64)> = pairs.iter().map(|(x, y)| (*x, -y)).collect();
        assert_eq!(pearson(&falling).unwrap(), Correlation { r: -found.r, ..found });
    }

    const PEARSON_R: f64 = 0.9743961387559377;
    const PEARSON_P: f64 = 0.0009749441615778903;

    #[test]
    fn what_cannot_be_tested_is_told() {
        assert_eq!(pearson(&[(1.0, 1.0)]), Err(TestError::TooFew { found: 1, wanted: 2 }));
        assert_eq!(pearson(&[(1.0, 1.0), (1.0, 2.0)]), Err(TestError::Constant));
        assert_eq!(pearson(&[(1.0, f64::NAN), (1.0, 2.0)]), Err(TestError::NotFinite));
        let two = pearson(&[(1.0, 1.0), (2.0, 5.0)]).unwrap();
        assert!((two.r - 1.0).abs() < 1e-12 && two.p == 1.0, "{two:?}");
        assert!(pearson(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]).unwrap().p < 1e-7);
    }
}
