//! Least squares with coefficients that are not negative, after Lawson and Hanson, from sums that are gathered row by row.
//!
//! Everything that is fitted with readable prices goes through here: glue, the law of measured nodes, primitives by size,
//! work and traffic of layers.

use nalgebra::{DMatrix, DVector};

/// A coefficient is worth freeing if that lowers the error by more than rounding does.
const NEGLIGIBLE: f64 = 1e-12;

/// The sums that a least-squares fit needs, gathered row by row.
#[derive(Debug, Clone)]
pub(crate) struct NormalEquations {
    gram: DMatrix<f64>,
    right: DVector<f64>,
}

impl NormalEquations {
    pub fn new(unknowns: usize) -> NormalEquations {
        NormalEquations { gram: DMatrix::zeros(unknowns, unknowns), right: DVector::zeros(unknowns) }
    }

    /// The sums of all rows of `matrix · x ≈ targets`.
    pub fn of(matrix: &DMatrix<f64>, targets: &DVector<f64>) -> NormalEquations {
        let transposed = matrix.transpose();
        NormalEquations { gram: &transposed * matrix, right: transposed * targets }
    }

    /// Adds a row whose error counts relative to `scale`.
    pub fn add(&mut self, row: &[f64], target: f64, scale: f64) {
        let weight = 1.0 / (scale * scale);
        for (i, a) in row.iter().enumerate() {
            if *a == 0.0 {
                continue;
            }
            self.right[i] += weight * a * target;
            for (j, b) in row.iter().enumerate() {
                self.gram[(i, j)] += weight * a * b;
            }
        }
    }

    /// The coefficients, none negative, with the least error.
    ///
    /// Columns are scaled to the same length before anything is solved, since they span many powers of ten.
    pub fn solve_non_negative(&self) -> Vec<f64> {
        let count = self.right.len();
        let lengths: Vec<f64> = (0..count).map(|index| self.gram[(index, index)].sqrt()).collect();
        let scaled = |value: f64, length: f64| if length > 0.0 { value / length } else { 0.0 };
        let gram = DMatrix::from_fn(count, count, |row, column| {
            scaled(scaled(self.gram[(row, column)], lengths[row]), lengths[column])
        });
        let right = DVector::from_fn(count, |row, _| scaled(self.right[row], lengths[row]));
        let enough = NEGLIGIBLE * right.amax();
        let mut solution = DVector::zeros(count);
        let mut is_free = vec![false; count];
        let mut is_barred: Vec<bool> = lengths.iter().map(|length| *length == 0.0).collect();
        // Each round frees one column; more rounds than this can only be a cycle of rounding.
        for _ in 0..3 * count {
            let gradient = &right - &gram * &solution;
            let candidates = (0..count).filter(|index| !is_free[*index] && !is_barred[*index]);
            let best = candidates.max_by(|a, b| gradient[*a].total_cmp(&gradient[*b]));
            let Some(best) = best.filter(|index| gradient[*index] > enough) else { break };
            is_free[best] = true;
            if !settle(&gram, &right, &mut solution, &mut is_free) {
                // It says the same as columns that are already free.
                is_free[best] = false;
                is_barred[best] = true;
            }
        }
        solution.iter().zip(&lengths).map(|(value, length)| scaled(*value, *length)).collect()
    }
}

/// Solves for the free columns; columns that would turn negative are bound again. False when nothing can be solved.
fn settle(gram: &DMatrix<f64>, right: &DVector<f64>, solution: &mut DVector<f64>, is_free: &mut [bool]) -> bool {
    loop {
        let free: Vec<usize> = (0..is_free.len()).filter(|index| is_free[*index]).collect();
        let part = DMatrix::from_fn(free.len(), free.len(), |row, column| gram[(free[row], free[column])]);
        let right = DVector::from_fn(free.len(), |row, _| right[free[row]]);
        let Some(factors) = part.cholesky() else { return false };
        let step = factors.solve(&right);
        if step.iter().all(|value| *value > 0.0) {
            solution.fill(0.0);
            free.iter().zip(step.iter()).for_each(|(index, value)| solution[*index] = *value);
            return true;
        }
        // As far towards the unbound solution as no coefficient turns negative.
        let falling = free.iter().zip(step.iter()).filter(|(_, value)| **value <= 0.0).map(|(index, value)| {
            let now = solution[*index];
            (*index, if now > 0.0 { now / (now - value) } else { 0.0 })
        });
        let Some((first, share)) = falling.min_by(|a, b| a.1.total_cmp(&b.1)) else { return false };
        for (index, value) in free.iter().zip(step.iter()) {
            solution[*index] = (solution[*index] + share * (value - solution[*index])).max(0.0);
        }
        // Exactly the first to reach zero is bound, whatever rounding made of it: each round then ends nearer.
        solution[first] = 0.0;
        is_free[first] = false;
        if is_free.iter().all(|free| !free) {
            return true;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn solved(rows: usize, columns: usize, values: &[f64], targets: &[f64]) -> Vec<f64> {
        let matrix = DMatrix::from_row_slice(rows, columns, values);
        NormalEquations::of(&matrix, &DVector::from_row_slice(targets)).solve_non_negative()
    }

    #[test]
    fn positive_coefficients_are_found_exactly() {
        let values = [1.0, 1e9, 1.0, 2e9, 1.0, 3e9, 1.0, 5e9];
        let truth = [0.25, 2e-9];
        let targets: Vec<f64> = values.chunks(2).map(|row| row[0] * truth[0] + row[1] * truth[1]).collect();
        let found = solved(4, 2, &values, &targets);
        assert!((found[0] / truth[0] - 1.0).abs() < 1e-9 && (found[1] / truth[1] - 1.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn what_would_be_negative_is_zero() {
        // The best line through these points falls; the best that may not fall is their mean.
        let values = [1.0, 0.0, 1.0, 1.0, 1.0, 2.0];
        let found = solved(3, 2, &values, &[3.0, 2.0, 1.0]);
        assert!((found[0] - 2.0).abs() < 1e-12 && found[1] == 0.0, "{found:?}");
        assert_eq!(solved(3, 2, &values, &[-1.0, -1.0, -1.0]), [0.0, 0.0]);
    }

    #[test]
    fn rows_count_relative_to_their_scale() {
        // y = 2x − 1 at x = 1, 2, 3; without the negative constant, least squares through the origin gives 22 / 14.
        let mut sums = NormalEquations::new(2);
        for (x, y) in [(1.0, 1.0), (2.0, 3.0), (3.0, 5.0)] {
            sums.add(&[1.0, x], y, 1.0);
        }
        let solution = sums.solve_non_negative();
        assert_eq!(solution[0], 0.0);
        assert!((solution[1] - 22.0 / 14.0).abs() < 1e-12);
        // One row of error 1 at a scale of 1, another of error 1 at a scale of 3: the second has a ninth of the weight.
        let mut sums = NormalEquations::new(1);
        sums.add(&[1.0], 2.0, 1.0);
        sums.add(&[1.0], 4.0, 3.0);
        assert!((sums.solve_non_negative()[0] - (2.0 + 4.0 / 9.0) / (1.0 + 1.0 / 9.0)).abs() < 1e-12);
    }

    #[test]
    fn columns_that_say_the_same_or_nothing_do_no_harm() {
        let found = solved(3, 3, &[1.0, 2.0, 0.0, 2.0, 4.0, 0.0, 3.0, 6.0, 0.0], &[2.0, 4.0, 6.0]);
        assert!((found[0] + 2.0 * found[1] - 2.0).abs() < 1e-9 && found[2] == 0.0, "{found:?}");
    }

    proptest! {
        /// The conditions of Karush, Kuhn and Tucker: at the optimum no coefficient that is zero would help by growing,
        /// and the others cannot help at all.
        #[test]
        fn the_optimum_cannot_be_left(
            values in prop::collection::vec(-1.0_f64..1.0, 8 * 4),
            targets in prop::collection::vec(-1.0_f64..1.0, 8),
        ) {
            let matrix = DMatrix::from_row_slice(8, 4, &values);
            let targets = DVector::from_vec(targets);
            let found = DVector::from_vec(NormalEquations::of(&matrix, &targets).solve_non_negative());
            let gradient = matrix.transpose() * (&targets - &matrix * &found);
            for (value, slope) in found.iter().zip(gradient.iter()) {
                prop_assert!(*value >= 0.0);
                prop_assert!(*slope < 1e-7);
                prop_assert!(*value == 0.0 || slope.abs() < 1e-7);
            }
        }
    }
}
