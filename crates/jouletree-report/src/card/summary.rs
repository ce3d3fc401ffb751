//! An amount over the runs of a study.

use serde::Serialize;

/// Mean, spread and ends of an amount over runs, and all of them together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct Summary {
    pub mean: f64,
    /// The standard deviation of the sample; none of one run.
    pub deviation: Option<f64>,
    pub least: f64,
    pub most: f64,
    pub total: f64,
}

impl Summary {
    /// Of some runs; none of none.
    pub fn of(values: &[f64]) -> Option<Summary> {
        let count = values.len() as f64;
        let total: f64 = values.iter().sum();
        let mean = total / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (!values.is_empty()).then(|| Summary {
            mean,
            deviation: (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt()),
            least: values.iter().copied().fold(f64::INFINITY, f64::min),
            most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            total,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs() {
        let found = Summary::of(&[1.0, 3.0]);
        let deviation = Some(2.0_f64.sqrt());
        assert_eq!(found, Some(Summary { mean: 2.0, deviation, least: 1.0, most: 3.0, total: 4.0 }));
        assert_eq!(Summary::of(&[5.0]).map(|one| (one.mean, one.deviation)), Some((5.0, None)));
        assert_eq!(Summary::of(&[]), None);
    }
}
