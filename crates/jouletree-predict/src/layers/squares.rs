//! Ordinary least squares with an intercept, on columns that are standardised before anything is solved.

use nalgebra::{DMatrix, DVector};

/// A linear function of columns, as it was fitted.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Linear {
    means: Vec<f64>,
    spreads: Vec<f64>,
    slopes: Vec<f64>,
    mean: f64,
}

impl Linear {
    /// The function with the least squared error. Columns that do not vary are left out; where columns say the same,
    /// they share what they explain.
    pub(super) fn fit(rows: &[Vec<f64>], targets: &[f64]) -> Option<Linear> {
        let (count, width) = (rows.len(), rows.first()?.len());
        let mean = targets.iter().sum::<f64>() / count as f64;
        let means: Vec<f64> =
            (0..width).map(|column| rows.iter().map(|row| row[column]).sum::<f64>() / count as f64).collect();
        let spread = |column: usize| {
            let squares: f64 = rows.iter().map(|row| (row[column] - means[column]).powi(2)).sum();
            (squares / count as f64).sqrt()
        };
        let spreads: Vec<f64> = (0..width).map(spread).collect();
        let standard = DMatrix::from_fn(count, width, |row, column| {
            if spreads[column] > 0.0 { (rows[row][column] - means[column]) / spreads[column] } else { 0.0 }
        });
        let centred = DVector::from_iterator(count, targets.iter().map(|target| target - mean));
        let svd = standard.svd(true, true);
        let negligible = svd.singular_values.amax() * f64::EPSILON * count.max(width) as f64;
        let slopes = svd.solve(&centred, negligible).ok()?;
        Some(Linear { means, spreads, slopes: slopes.iter().copied().collect(), mean })
    }

    /// Its value.
    pub(super) fn at(&self, row: &[f64]) -> f64 {
        let columns = row.iter().zip(&self.means).zip(self.spreads.iter().zip(&self.slopes));
        let terms = columns.map(
            |((value, mean), (spread, slope))| {
                if *spread > 0.0 { slope * (value - mean) / spread } else { 0.0 }
            },
        );
        self.mean + terms.sum::<f64>()
    }

    /// Its value where every column is zero: what a sum over layers adds once for each of them.
    pub(super) fn intercept(&self) -> f64 {
        self.at(&vec![0.0; self.means.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_at_any_scale() {
        let rows: Vec<Vec<f64>> = (0..10).map(|index| vec![index as f64 * 1e11, 7.0]).collect();
        let targets: Vec<f64> = rows.iter().map(|row| 215.0 + 1.75e-9 * row[0]).collect();
        let line = Linear::fit(&rows, &targets).unwrap();
        assert!((line.intercept() - 215.0).abs() < 1e-9);
        let more = line.at(&[1e12, 0.0]) - line.intercept();
        assert!((more / 1750.0 - 1.0).abs() < 1e-12, "{more}");
        assert_eq!(line.at(&[0.0, 1.0]), line.intercept(), "a column that does not vary adds nothing");
    }

    #[test]
    fn columns_that_say_the_same_do_no_harm() {
        let rows: Vec<Vec<f64>> = (0..10).map(|index| vec![index as f64, 2.0 * index as f64]).collect();
        let targets: Vec<f64> = rows.iter().map(|row| 3.0 * row[0] - 1.0).collect();
        let line = Linear::fit(&rows, &targets).unwrap();
        assert!((line.at(&[20.0, 40.0]) - 59.0).abs() < 1e-9);
    }
}
