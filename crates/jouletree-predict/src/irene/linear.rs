//! Least squares for a handful of unknowns and many rows; columns may repeat each other.

use nalgebra::{DMatrix, DVector};

use super::error::IreneError;

/// Directions whose share of the largest singular value is below this are noise of rounding: columns that repeat each
/// other. They are left out, which is the solution of least norm.
const RANK_CUT: f64 = 1e-10;

/// The least-norm solution of `rows · x ≈ targets`.
pub(crate) fn least_squares(
    rows: DMatrix<f64>,
    targets: &DVector<f64>,
    what: &str,
) -> Result<DVector<f64>, IreneError> {
    let not_converged = || IreneError::NotConverged { what: what.to_owned() };
    // The orthogonal step first makes the decomposition as small as the number of unknowns.
    let (triangle, rotated) = if rows.nrows() > rows.ncols() {
        let columns = rows.ncols();
        let split = rows.qr();
        let mut rotated = targets.clone();
        split.q_tr_mul(&mut rotated);
        (split.r(), rotated.rows(0, columns).into_owned())
    } else {
        (rows, targets.clone())
    };
    let parts = triangle.try_svd(true, true, f64::EPSILON, 1000).ok_or_else(not_converged)?;
    let cut = parts.singular_values.max() * RANK_CUT;
    parts.solve(&rotated, cut.max(f64::MIN_POSITIVE)).map_err(|_| not_converged())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_three_points_is_found() {
        let rows = DMatrix::from_row_slice(3, 2, &[1.0, 0.0, 1.0, 1.0, 1.0, 2.0]);
        let solution = least_squares(rows, &DVector::from_vec(vec![1.0, 3.0, 5.0]), "a line").unwrap();
        assert!((solution[0] - 1.0).abs() < 1e-12 && (solution[1] - 2.0).abs() < 1e-12);
    }

    #[test]
    fn a_repeated_column_shares_its_weight() {
        let rows = DMatrix::from_row_slice(3, 2, &[1.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
        let solution = least_squares(rows, &DVector::from_vec(vec![4.0, 8.0, 12.0]), "twins").unwrap();
        assert!((solution[0] - 2.0).abs() < 1e-12 && (solution[1] - 2.0).abs() < 1e-12);
    }
}
