//! Sufficient statistics of the regression: all that the fit needs to know of the windows. Those of several runs, or of parts
//! of one, add up.

use std::ops::AddAssign;

use nalgebra::DMatrix;

use super::linear::{add_gram, dot, mirror};
use super::rows::Rows;

/// How many rows are gathered at a time.
const BATCH: usize = 256;

/// A batch with fewer entries than this part of all is added entry by entry, another as a matrix.
const DENSE: f64 = 0.3;

/// `X'X`, `X'y`, `y'y` and the number of observations.
#[derive(Debug, Clone)]
pub(super) struct Statistics {
    /// The lower triangle while it is gathered, all of it afterwards.
    pub(super) gram: DMatrix<f64>,
    pub(super) cross: Vec<f64>,
    pub(super) square: f64,
    pub(super) count: usize,
}

impl Statistics {
    /// Of nothing.
    pub(super) fn empty(width: usize) -> Statistics {
        Statistics { gram: DMatrix::zeros(width, width), cross: vec![0.0; width], square: 0.0, count: 0 }
    }

    /// Those of all rows.
    pub(super) fn of(rows: &Rows, y: &[f64]) -> Statistics {
        let mut gathered = gather(rows, y, &[], |_| 0, 1);
        gathered.pop().unwrap_or_else(|| Statistics::empty(rows.width()))
    }

    /// What is left of `total` without these observations.
    pub(super) fn complement(&mut self, total: &Statistics) {
        let entries = self.gram.as_mut_slice().iter_mut().zip(total.gram.as_slice());
        entries.for_each(|(mine, all)| *mine = all - *mine);
        self.cross.iter_mut().zip(&total.cross).for_each(|(mine, all)| *mine = all - *mine);
        self.square = total.square - self.square;
        self.count = total.count.saturating_sub(self.count);
    }

    /// The sum of squares that `x` leaves.
    pub(super) fn residual(&self, x: &[f64], gram_x: &[f64]) -> f64 {
        (self.square - 2.0 * dot(x, &self.cross) + dot(x, gram_x)).max(1e-12 * self.square)
    }
}

impl AddAssign<&Statistics> for Statistics {
    fn add_assign(&mut self, other: &Statistics) {
        let entries = self.gram.as_mut_slice().iter_mut().zip(other.gram.as_slice());
        entries.for_each(|(mine, more)| *mine += more);
        self.cross.iter_mut().zip(&other.cross).for_each(|(mine, more)| *mine += more);
        self.square += other.square;
        self.count += other.count;
    }
}

/// The statistics of each fold, the rows filtered by an autoregression. `phi` are its coefficients, none where there is none;
/// the first rows, which have too few before them, are left out.
pub(super) fn gather(
    rows: &Rows,
    y: &[f64],
    phi: &[f64],
    fold: impl Fn(usize) -> usize,
    folds: usize,
) -> Vec<Statistics> {
    let mut gatherers: Vec<Gatherer> = (0..folds).map(|_| Gatherer::new(rows.width())).collect();
    let mut filtered = Filtered::new(rows.width());
    for index in phi.len()..rows.len() {
        let Some(gatherer) = gatherers.get_mut(fold(index)) else { continue };
        if phi.is_empty() {
            let (columns, values) = rows.row(index);
            gatherer.add(columns, values, y[index]);
        } else {
            let observed = filtered.filter(rows, y, phi, index);
            gatherer.add(&filtered.columns, &filtered.values, observed);
        }
    }
    gatherers.into_iter().map(Gatherer::finished).collect()
}

/// A row less what its predecessors predict.
struct Filtered {
    sums: Vec<f64>,
    is_touched: Vec<bool>,
    columns: Vec<u16>,
    values: Vec<f64>,
}

impl Filtered {
    fn new(width: usize) -> Filtered {
        Filtered { sums: vec![0.0; width], is_touched: vec![false; width], columns: vec![], values: vec![] }
    }

    fn filter(&mut self, rows: &Rows, y: &[f64], phi: &[f64], index: usize) -> f64 {
        let mut observed = 0.0;
        let weights = [1.0].into_iter().chain(phi.iter().map(|phi| -phi));
        for (back, weight) in weights.enumerate() {
            observed += weight * y[index - back];
            let (columns, values) = rows.row(index - back);
            for (column, value) in columns.iter().zip(values) {
                self.sums[usize::from(*column)] += weight * value;
                self.is_touched[usize::from(*column)] = true;
            }
        }
        (self.columns.clear(), self.values.clear());
        for (column, touched) in self.is_touched.iter_mut().enumerate().filter(|(_, touched)| **touched) {
            *touched = false;
            self.columns.push(column as u16);
            self.values.push(std::mem::take(&mut self.sums[column]));
        }
        observed
    }
}

/// Collects rows in batches.
struct Gatherer {
    sum: Statistics,
    starts: Vec<usize>,
    columns: Vec<u16>,
    values: Vec<f64>,
    dense: DMatrix<f64>,
}

impl Gatherer {
    fn new(width: usize) -> Gatherer {
        let (columns, values) = (Vec::new(), Vec::new());
        Gatherer { sum: Statistics::empty(width), starts: vec![0], columns, values, dense: DMatrix::zeros(0, 0) }
    }

    fn add(&mut self, columns: &[u16], values: &[f64], y: f64) {
        self.sum.count += 1;
        self.sum.square += y * y;
        for (column, value) in columns.iter().zip(values) {
            self.sum.cross[usize::from(*column)] += value * y;
        }
        self.columns.extend_from_slice(columns);
        self.values.extend_from_slice(values);
        self.starts.push(self.values.len());
        if self.starts.len() > BATCH {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let (count, width) = (self.starts.len() - 1, self.sum.cross.len());
        if self.values.len() as f64 > DENSE * (count * width) as f64 {
            self.add_dense(count, width);
        } else {
            self.add_sparse(count, width);
        }
        (self.columns.clear(), self.values.clear());
        self.starts.truncate(1);
    }

    fn add_dense(&mut self, count: usize, width: usize) {
        if self.dense.ncols() != width {
            self.dense = DMatrix::zeros(BATCH, width);
        }
        self.dense.fill(0.0);
        for (index, range) in self.starts.windows(2).enumerate() {
            let range = range[0]..range[1];
            for (column, value) in self.columns[range.clone()].iter().zip(&self.values[range]) {
                self.dense[(index, usize::from(*column))] = *value;
            }
        }
        add_gram(&mut self.sum.gram, &self.dense, count);
    }

    /// Row by row, in the order of their first columns: rows that begin alike meet the same part of the matrix. Columns that
    /// follow each other are added together.
    fn add_sparse(&mut self, count: usize, width: usize) {
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|index| self.columns.get(self.starts[*index]).copied());
        let gram = self.sum.gram.as_mut_slice();
        let mut runs: Vec<(usize, usize, usize)> = Vec::new();
        for index in order {
            let range = self.starts[index]..self.starts[index + 1];
            let (columns, values) = (&self.columns[range.clone()], &self.values[range]);
            runs.clear();
            for (place, column) in columns.iter().enumerate() {
                let column = usize::from(*column);
                match runs.last_mut() {
                    Some((first, from, length)) if *first + *length == column && *from + *length == place => {
                        *length += 1;
                    }
                    _ => runs.push((column, place, 1)),
                }
            }
            for (number, (first, from, length)) in runs.iter().enumerate() {
                for (column, place) in (*first..*first + length).zip(*from..) {
                    let value = values[place];
                    let target = &mut gram[column * width..(column + 1) * width];
                    let below = &values[place..*from + length];
                    add_multiple(&mut target[column..*first + length], value, below);
                    for (first, from, length) in &runs[number + 1..] {
                        add_multiple(&mut target[*first..*first + length], value, &values[*from..*from + length]);
                    }
                }
            }
        }
    }

    fn finished(mut self) -> Statistics {
        self.flush();
        mirror(&mut self.sum.gram);
        self.sum
    }
}

#[inline]
fn add_multiple(target: &mut [f64], factor: f64, values: &[f64]) {
    for (target, value) in target.iter_mut().zip(values) {
        *target += factor * value;
    }
}
