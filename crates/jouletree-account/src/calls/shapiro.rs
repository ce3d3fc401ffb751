//! Whether values look as if they were normally distributed: the test of Shapiro and Wilk in Royston's form
//! (Applied Statistics 44, 1995, algorithm R94), for 3 to 5000 values.

use statrs::distribution::{ContinuousCDF, Normal};

use super::hypothesis::TestError;
use super::summary::mean;

/// What the test says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Normality {
    /// Its statistic; 1 for values that lie exactly as normal ones are expected to.
    pub w: f64,
    /// How likely a smaller one is for values that are normally distributed.
    pub p: f64,
}

/// The approximations hold up to here.
const MOST: usize = 5000;
/// A probability that cannot be distinguished from zero.
const TINY: f64 = 1e-99;

/// Royston's polynomials, the constant first: the two largest weights in 1/√n …
const LARGEST: [f64; 6] = [0.0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056];
const SECOND: [f64; 6] = [0.0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633];
/// … and mean and logarithm of the deviation of the transformed statistic, in n for few values, in ln n for many.
const SHIFT: [f64; 2] = [-2.273, 0.459];
const FEW_MEAN: [f64; 4] = [0.544, -0.39978, 0.025054, -6.714e-4];
const FEW_DEVIATION: [f64; 4] = [1.3822, -0.77857, 0.062767, -0.0020322];
const MANY_MEAN: [f64; 4] = [-1.5861, -0.31082, -0.083751, 0.0038915];
const MANY_DEVIATION: [f64; 3] = [-0.4803, -0.082676, 0.0030302];

/// Tests values.
pub fn shapiro_wilk(values: &[f64]) -> Result<Normality, TestError> {
    let count = values.len();
    if count < 3 {
        return Err(TestError::TooFew { found: count, wanted: 3 });
    }
    if count > MOST {
        return Err(TestError::TooMany { found: count, most: MOST });
    }
    if values.iter().any(|value| !value.is_finite()) {
        return Err(TestError::NotFinite);
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = mean(&sorted);
    let squares: f64 = sorted.iter().map(|value| (value - middle).powi(2)).sum();
    if squares <= 0.0 {
        return Err(TestError::Constant);
    }
    // Around the mean, which changes nothing but the rounding of large values.
    let weighted: f64 = weights(count).iter().zip(&sorted).map(|(weight, value)| weight * (value - middle)).sum();
    let w = (weighted * weighted / squares).min(1.0);
    Ok(Normality { w, p: probability(w, count) })
}

/// The weights of values in order.
fn weights(count: usize) -> Vec<f64> {
    let n = count as f64;
    let expected: Vec<f64> =
        (1..=count).map(|place| standard().inverse_cdf((place as f64 - 0.375) / (n + 0.25))).collect();
    let square: f64 = expected.iter().map(|value| value * value).sum();
    let from_end = |back: usize| expected.get(count - back).copied().unwrap_or_default();
    let root = n.sqrt().recip();
    let (first, second) = (from_end(1), from_end(2));
    let largest = polynomial(&LARGEST, root) + first / square.sqrt();
    let next = polynomial(&SECOND, root) + second / square.sqrt();
    let mut fixed = match count {
        3 => vec![0.5_f64.sqrt()],
        4 | 5 => vec![largest],
        _ => vec![largest, next],
    };
    let given: f64 = fixed.iter().map(|weight| 2.0 * weight * weight).sum();
    let taken: f64 = [first, second].iter().take(fixed.len()).map(|value| 2.0 * value * value).sum();
    let scale = ((square - taken) / (1.0 - given)).sqrt();
    // Three values: those at the ends have all the weight.
    let inner = |value: &f64| if count == 3 { 0.0 } else { value / scale };
    let (end, middle) = (fixed.len(), expected.get(fixed.len()..count - fixed.len()).unwrap_or_default());
    let mut weights: Vec<f64> = fixed.iter().take(end).map(|weight| -weight).collect();
    weights.extend(middle.iter().map(inner));
    fixed.reverse();
    weights.extend(fixed);
    weights
}

fn probability(w: f64, count: usize) -> f64 {
    let n = count as f64;
    if count == 3 {
        let least = 0.75_f64.sqrt().asin();
        return (6.0 / std::f64::consts::PI * (w.sqrt().asin() - least)).clamp(0.0, 1.0);
    }
    let away = (1.0 - w).ln();
    let (value, mean, deviation) = if count <= 11 {
        let shift = polynomial(&SHIFT, n);
        if away >= shift {
            return TINY;
        }
        (-(shift - away).ln(), polynomial(&FEW_MEAN, n), polynomial(&FEW_DEVIATION, n).exp())
    } else {
        (away, polynomial(&MANY_MEAN, n.ln()), polynomial(&MANY_DEVIATION, n.ln()).exp())
    };
    standard().sf((value - mean) / deviation)
}

fn standard() -> Normal {
    Normal::standard()
}

fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_are_those_of_scipy() {
        // scipy.stats.shapiro of SciPy 1.17, which computes quantiles to about seven digits.
        for (values, w, p) in GOLDEN {
            let found = shapiro_wilk(values).unwrap();
            assert!((found.w / w - 1.0).abs() < 1e-6 && (found.p / p - 1.0).abs() < 1e-4, "{found:?} {w} {p}");
        }
    }

    #[rustfmt::skip]
    const GOLDEN: &[(&[f64], f64, f64)] = &[
        (&[1.0, 2.0, 4.5], 0.9423076923076923, 0.5367371250662004),
        (&[2.1, 3.3, 1.7, 9.0], 0.791370690949941, 0.08762376295548267),
        (&[0.5, 1.5, 1.0, 7.0, 2.0], 0.7511704308781657, 0.03051412797683659),
        (&[148.0, 154.0, 158.0, 160.0, 161.0, 162.0, 166.0, 170.0, 182.0, 195.0, 236.0], 0.7888146948631716, 0.006703814061898823),
        (&[0.1, 0.2, 0.2, 0.3, 0.5, 0.8, 1.3, 2.1], 0.8273475374279672, 0.05570858135885275),
        (&[3.831, 5.15, 5.904, 6.463, 6.92, 7.315, 7.669, 7.992, 8.294, 8.579, 8.852, 9.116, 9.373, 9.626, 9.875, 10.125, 10.374, 10.627, 10.884, 11.148, 11.421, 11.706, 12.008, 12.331, 12.685, 13.08, 13.537, 14.096, 14.85, 16.169], 0.9979915977372514, 0.9999999936167131),
        (&[0.013, 0.038, 0.065, 0.092, 0.119, 0.148, 0.177, 0.208, 0.239, 0.271, 0.304, 0.339, 0.375, 0.412, 0.45, 0.49, 0.532, 0.575, 0.621, 0.668, 0.718, 0.771, 0.827, 0.886, 0.948, 1.015, 1.086, 1.163, 1.247, 1.338, 1.438, 1.549, 1.674, 1.817, 1.984, 2.185, 2.436, 2.773, 3.283, 4.382], 0.8412049951393136, 5.541792236168402e-05),
    ];

    #[test]
    fn what_cannot_be_tested_is_told() {
        assert_eq!(shapiro_wilk(&[1.0, 2.0]), Err(TestError::TooFew { found: 2, wanted: 3 }));
        assert_eq!(shapiro_wilk(&[1.0; 4]), Err(TestError::Constant));
        assert_eq!(shapiro_wilk(&[1.0, 2.0, f64::INFINITY]), Err(TestError::NotFinite));
        assert!(matches!(shapiro_wilk(&vec![0.0; 5001]), Err(TestError::TooMany { .. })));
    }
}
