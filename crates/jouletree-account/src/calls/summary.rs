//! The usual numbers of a sample.

use serde::Serialize;

/// What is said of several values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// How many there are.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
    /// The middle one, or the mean of the two in the middle.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// Their standard deviation as that of a sample; `None` of a single one.
    pub deviation: Option<f64>,
}

impl Summary {
    /// The summary of these values; `None` of none, or when one is not a finite number.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Summary> {
        let mut values: Vec<f64> = values.into_iter().collect();
        if values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        values.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let count = values.len();
        let mean = mean(&values);
        let middle = values.get((count - 1) / 2..count / 2 + 1)?;
        let median = self::mean(middle);
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (count > 1).then(|| (squares / (count - 1) as f64).sqrt());
        Some(Summary { count, mean, median, min, max, deviation })
    }
}

/// The mean of some values; not a number for none.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_numbers() {
        let summary = Summary::of([4.0, 1.0, 3.0, 10.0]).unwrap();
        assert_eq!((summary.count, summary.mean, summary.median), (4, 4.5, 3.5));
        assert_eq!((summary.min, summary.max, summary.deviation), (1.0, 10.0, Some(15.0_f64.sqrt())));
        let one = Summary::of([7.0]).unwrap();
        assert_eq!((one.median, one.deviation), (7.0, None));
        assert_eq!((Summary::of([]), Summary::of([1.0, f64::NAN])), (None, None));
    }
}
