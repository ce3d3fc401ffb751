//! Dense linear algebra for positive definite matrices: Cholesky factor, its inverse, and products, in blocks so that nearly
//! all of the work is matrix products. Matrices are column by column; of symmetric ones the lower triangle counts.

use nalgebra::{DMatrix, DMatrixView, DMatrixViewMut, Dyn};

/// The width of a block: its triangle stays in the nearest cache.
const BLOCK: usize = 64;

/// How many columns of a lower triangle are updated at a time: the upper halves of such panels are computed for nothing.
const PANEL: usize = 128;

/// Products with a side of at most so many are computed entry by entry.
const SMALL: usize = 8;

/// A part of a matrix: where it begins, and how far apart its rows and columns are.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    data: &'a [f64],
    rows: usize,
    columns: usize,
    strides: (usize, usize),
}

impl<'a> Part<'a> {
    /// Rows and columns of a matrix with this many rows, from `(row, column)` on.
    pub(super) fn of(
        data: &'a [f64],
        height: usize,
        from: (usize, usize),
        (rows, columns): (usize, usize),
    ) -> Part<'a> {
        let first = from.0 + from.1 * height;
        Part { data: data.get(first..).unwrap_or_default(), rows, columns, strides: (1, height) }
    }

    /// The whole of a matrix.
    pub(super) fn whole(matrix: &'a DMatrix<f64>) -> Part<'a> {
        Part::of(matrix.as_slice(), matrix.nrows(), (0, 0), matrix.shape())
    }

    /// The same with rows for columns.
    pub(super) fn transposed(self) -> Part<'a> {
        let (down, right) = self.strides;
        Part { rows: self.columns, columns: self.rows, strides: (right, down), ..self }
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.data[row * self.strides.0 + column * self.strides.1]
    }

    fn view(&self) -> DMatrixView<'a, f64, Dyn, Dyn> {
        let (down, right) = self.strides;
        DMatrixView::from_slice_with_strides(self.data, self.rows, self.columns, down, right)
    }
}

/// `part = alpha a b + beta part`, the part being that of `data`, a matrix with `height` rows, from `from` on.
pub(super) fn multiply(
    (data, height, from): (&mut [f64], usize, (usize, usize)),
    alpha: f64,
    (a, b): (Part<'_>, Part<'_>),
    beta: f64,
) {
    if a.rows == 0 || b.columns == 0 || a.columns == 0 {
        return;
    }
    let Some(data) = data.get_mut(from.0 + from.1 * height..) else { return };
    // nalgebra takes another way for such matrices, which does not know all strides.
    if a.rows.min(a.columns).min(b.columns) <= SMALL {
        for column in 0..b.columns {
            for row in 0..a.rows {
                let sum: f64 = (0..a.columns).map(|inner| a.at(row, inner) * b.at(inner, column)).sum();
                let entry = &mut data[row + column * height];
                *entry = alpha * sum + if beta == 0.0 { 0.0 } else { beta * *entry };
            }
        }
        return;
    }
    let mut part: DMatrixViewMut<'_, f64, Dyn, Dyn> =
        DMatrixViewMut::from_slice_with_strides_mut(data, a.rows, b.columns, 1, height);
    part.gemm(alpha, &a.view(), &b.view(), beta);
}

/// Adds `rows' rows` to the lower triangle of `gram`; each row of `rows` is an observation. Beside the triangle anything may be
/// written into the upper half of its blocks.
pub(super) fn add_gram(gram: &mut DMatrix<f64>, rows: &DMatrix<f64>, count: usize) {
    let (n, height) = (gram.nrows(), rows.nrows());
    for first in (0..n).step_by(PANEL) {
        let width = PANEL.min(n - first);
        let below = Part::of(rows.as_slice(), height, (0, first), (count, n - first)).transposed();
        let panel = Part::of(rows.as_slice(), height, (0, first), (count, width));
        multiply((gram.as_mut_slice(), n, (first, first)), 1.0, (below, panel), 1.0);
    }
}

/// The Cholesky factor of a positive definite matrix.
#[derive(Debug, Clone)]
pub(super) struct Cholesky {
    factor: DMatrix<f64>,
    /// The inverses of the blocks on the diagonal, one below the other.
    inverses: Vec<f64>,
}

impl Cholesky {
    /// The factor of the matrix whose lower triangle is given; `None` where it is not positive definite.
    pub(super) fn of(mut matrix: DMatrix<f64>) -> Option<Cholesky> {
        let n = matrix.nrows();
        let mut inverses = vec![0.0; n.div_ceil(BLOCK) * BLOCK * BLOCK];
        let mut panel = Vec::new();
        for (number, first) in (0..n).step_by(BLOCK).enumerate() {
            let width = BLOCK.min(n - first);
            factor_block(matrix.as_mut_slice(), n, first, width)?;
            let inverse = &mut inverses[number * BLOCK * BLOCK..][..BLOCK * BLOCK];
            invert_block(matrix.as_slice(), n, first, width, inverse);
            let below = first + width;
            let height = n - below;
            if height == 0 {
                continue;
            }
            // The panel below: A L⁻ᵀ.
            panel.clear();
            for column in first..below {
                panel.extend_from_slice(&matrix.as_slice()[column * n + below..(column + 1) * n]);
            }
            let above = Part::of(&panel, height, (0, 0), (height, width));
            let inverse = Part::of(inverse, BLOCK, (0, 0), (width, width)).transposed();
            multiply((matrix.as_mut_slice(), n, (below, first)), 1.0, (above, inverse), 0.0);
            panel.clear();
            for column in first..below {
                panel.extend_from_slice(&matrix.as_slice()[column * n + below..(column + 1) * n]);
            }
            for from in (0..height).step_by(PANEL) {
                let wide = PANEL.min(height - from);
                let left = Part::of(&panel, height, (from, 0), (height - from, width));
                let right = Part::of(&panel, height, (from, 0), (wide, width)).transposed();
                let place = (below + from, below + from);
                multiply((matrix.as_mut_slice(), n, place), -1.0, (left, right), 1.0);
            }
        }
        Some(Cholesky { factor: matrix, inverses })
    }

    /// The sum of the logarithms of its diagonal: half of that of the determinant.
    pub(super) fn log_diagonal(&self) -> f64 {
        self.factor.diagonal().iter().map(|entry| entry.ln()).sum()
    }

    /// The solution of `L Lᵀ x = b`.
    pub(super) fn solve(&self, b: &[f64]) -> Vec<f64> {
        let n = self.factor.nrows();
        let mut x = b.to_vec();
        for row in 0..n {
            let column = &self.factor.as_slice()[row * n..(row + 1) * n];
            let value = x[row] / column[row];
            x[row] = value;
            for (below, entry) in x[row + 1..].iter_mut().zip(&column[row + 1..]) {
                *below -= entry * value;
            }
        }
        for row in (0..n).rev() {
            let column = &self.factor.as_slice()[row * n..(row + 1) * n];
            let sum: f64 = x[row + 1..].iter().zip(&column[row + 1..]).map(|(x, entry)| x * entry).sum();
            x[row] = (x[row] - sum) / column[row];
        }
        x
    }

    /// The inverse of the factor: a lower triangle, with zeros above.
    pub(super) fn inverse(&self) -> DMatrix<f64> {
        let n = self.factor.nrows();
        let mut inverse = DMatrix::zeros(n, n);
        let mut rows = vec![0.0; BLOCK * n];
        for (number, first) in (0..n).step_by(BLOCK).enumerate() {
            let width = BLOCK.min(n - first);
            let block = &self.inverses[number * BLOCK * BLOCK..][..BLOCK * BLOCK];
            // The rows of this block: -L₁₁⁻¹ L₁₀ L₀₀⁻¹, and L₀₀⁻¹ is a triangle.
            for from in (0..first).step_by(PANEL) {
                let wide = PANEL.min(first - from);
                let inner = first - from;
                let left = Part::of(self.factor.as_slice(), n, (first, from), (width, inner));
                let right = Part::of(inverse.as_slice(), n, (from, from), (inner, wide));
                multiply((&mut rows, BLOCK, (0, from)), 1.0, (left, right), 0.0);
            }
            let left = Part::of(block, BLOCK, (0, 0), (width, width));
            let right = Part::of(&rows, BLOCK, (0, 0), (width, first));
            multiply((inverse.as_mut_slice(), n, (first, 0)), -1.0, (left, right), 0.0);
            for column in 0..width {
                let place = (first + column) * n + first;
                inverse.as_mut_slice()[place..place + width].copy_from_slice(&block[column * BLOCK..][..width]);
            }
        }
        inverse
    }
}

/// The factor of one block on the diagonal.
fn factor_block(matrix: &mut [f64], n: usize, first: usize, width: usize) -> Option<()> {
    for column in first..first + width {
        let pivot = matrix[column * n + column];
        if !(pivot > 0.0 && pivot.is_finite()) {
            return None;
        }
        let root = pivot.sqrt();
        let (before, after) = matrix.split_at_mut((column + 1) * n);
        let here = &mut before[column * n + column..column * n + first + width];
        here[0] = root;
        here[1..].iter_mut().for_each(|entry| *entry /= root);
        for (offset, factor) in here.iter().enumerate().skip(1) {
            let other = column + offset;
            let start = (offset - 1) * n + other;
            for (entry, more) in after[start..start + here.len() - offset].iter_mut().zip(&here[offset..]) {
                *entry -= factor * more;
            }
        }
    }
    Some(())
}

/// The inverse of a factor's block on the diagonal, into a block with zeros above the diagonal.
fn invert_block(matrix: &[f64], n: usize, first: usize, width: usize, inverse: &mut [f64]) {
    inverse.fill(0.0);
    for column in 0..width {
        let target = &mut inverse[column * BLOCK..][..width];
        target[column] = 1.0;
        for row in column..width {
            let factor = &matrix[(first + row) * n + first..][..width];
            let value = target[row] / factor[row];
            target[row] = value;
            for (entry, below) in target[row + 1..].iter_mut().zip(&factor[row + 1..]) {
                *entry -= below * value;
            }
        }
    }
}

/// The scalar product.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Copies the lower triangle to the upper one.
pub(super) fn mirror(matrix: &mut DMatrix<f64>) {
    let n = matrix.nrows();
    for column in 0..n {
        for row in column + 1..n {
            matrix[(column, row)] = matrix[(row, column)];
        }
    }
}

/// `matrix x` of a symmetric matrix that is whole.
pub(super) fn times(matrix: &DMatrix<f64>, x: &[f64]) -> Vec<f64> {
    let n = matrix.nrows();
    let mut product = vec![0.0; n];
    for (column, x) in matrix.as_slice().chunks_exact(n.max(1)).zip(x) {
        product.iter_mut().zip(column).for_each(|(sum, entry)| *sum += entry * x);
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positive(n: usize) -> DMatrix<f64> {
        let rows = DMatrix::from_fn(n + 3, n, |i, j| ((i * 7 + j * 13) % 17) as f64 / 17.0 - 0.4);
        rows.transpose() * &rows + DMatrix::identity(n, n)
    }

    #[test]
    fn factors_inverts_and_solves_matrices_of_any_size() {
        for n in [1, 5, 63, 64, 65, 130, 300] {
            let matrix = positive(n);
            let cholesky = Cholesky::of(matrix.clone()).unwrap();
            let inverse = cholesky.inverse();
            let whole = inverse.transpose() * &inverse * &matrix;
            assert!((whole - DMatrix::identity(n, n)).amax() < 1e-9, "{n}");
            let b: Vec<f64> = (0..n).map(|i| i as f64 - 3.0).collect();
            let x = cholesky.solve(&b);
            let back = times(&matrix, &x);
            assert!(back.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-8), "{n}");
            let log = matrix.determinant().ln() / 2.0;
            assert!(n > 65 || (cholesky.log_diagonal() - log).abs() < 1e-8, "{n}");
        }
        assert!(Cholesky::of(DMatrix::zeros(3, 3)).is_none());
        assert!(Cholesky::of(DMatrix::from_element(2, 2, f64::NAN)).is_none());
    }

    #[test]
    fn gram_matrices_are_sums_over_rows() {
        for (count, width) in [(30, 150), (3, 150), (30, 4), (2, 2), (9, 129), (40, 260)] {
            let rows = DMatrix::from_fn(40, width, |i, j| ((i * 5 + j * 3) % 11) as f64);
            let mut gram = DMatrix::from_element(width, width, 1.0);
            add_gram(&mut gram, &rows, count);
            mirror(&mut gram);
            let wanted = rows.rows(0, count).transpose() * rows.rows(0, count);
            assert!((gram - wanted).add_scalar(-1.0).amax() < 1e-9, "{count} {width}");
        }
    }
}
