//! The lag, its drift and the time constant of a low-pass, polished together with the powers: Gauss–Newton steps in which powers
//! are free to follow (their part of the Hessian is eliminated), which also gives the error of the lag.

use nalgebra::{DMatrix, DVector};

use super::columns::Columns;
use super::fit::Fit;
use super::kernel::Kernel;
use super::linear::dot;
use super::rows::{Rows, visit_rows};
use super::search::Seen;

/// A drift of clocks is believed from so many standard errors on.
const SIGNIFICANT: f64 = 4.0;

/// By how much a time constant is varied.
const FACTOR: f64 = 1.02;

/// The regression at the kernel so far.
pub(super) struct At<'a> {
    pub(super) columns: &'a Columns,
    pub(super) fit: &'a Fit,
    pub(super) root: &'a DMatrix<f64>,
    pub(super) rows: &'a Rows,
    /// How many windows were left out at the beginning.
    pub(super) skipped: usize,
}

/// A better kernel, and the standard error of its lag. `width` is the half-width of differences, in seconds.
pub(super) fn refined(seen: Seen<'_>, kernel: &Kernel, at: &At<'_>, width: f64) -> Option<(Kernel, f64)> {
    let At { columns, fit, root, rows, skipped } = at;
    let windows = seen.windows;
    let predicted = |kernel: &Kernel| {
        let mut predicted = vec![0.0; windows.len()];
        visit_rows(seen.lanes, windows, kernel, (&columns.of, columns.len()), |window, row| {
            predicted[window] = row.iter().map(|(column, seconds)| seconds * fit.powers[*column as usize]).sum();
        });
        predicted.split_off((*skipped).min(predicted.len()))
    };
    let difference = |a: &Kernel, b: &Kernel, over: f64| -> Vec<f64> {
        predicted(a).iter().zip(predicted(b)).map(|(a, b)| (a - b) / over).collect()
    };
    let moved = |by: f64| Kernel { lag: kernel.lag + by, ..*kernel };
    let by_lag = difference(&moved(width), &moved(-width), 2.0 * width);
    let middles: Vec<f64> = windows.ranges.iter().skip(*skipped).map(|(from, to)| (from + to) / 2.0).collect();
    let middle = middles.iter().sum::<f64>() / middles.len() as f64;
    let by_rate = by_lag.iter().zip(&middles).map(|(slope, at)| slope * (at - middle)).collect();
    let mut slopes = vec![by_lag, by_rate];
    if kernel.low_pass > 0.0 {
        let scaled = |by: f64| Kernel { low_pass: kernel.low_pass * by, ..*kernel };
        slopes.push(difference(&scaled(FACTOR), &scaled(1.0 / FACTOR), 2.0 * FACTOR.ln()));
    }
    let residuals: Vec<f64> = windows
        .joules
        .iter()
        .skip(*skipped)
        .enumerate()
        .collect::<Vec<_>>()
        .into_iter()
        .map(|(window, joules)| joules - rows.times(window, &fit.powers))
        .collect();
    let n = slopes.len();
    let eliminated: Vec<Vec<f64>> =
        slopes.iter().map(|slope| eliminated(columns, fit, root, rows, slope)).collect();
    let hessian = DMatrix::from_fn(n, n, |a, b| {
        dot(&slopes[a], &slopes[b]) - dot(&eliminated[a], &eliminated[b]) / fit.noise
    });
    let gradient = DVector::from_fn(n, |a, _| dot(&slopes[a], &residuals));
    let covariance = hessian.clone().try_inverse()? * fit.noise;
    let errors: Vec<f64> = (0..n).map(|a| covariance[(a, a)].max(0.0).sqrt()).collect();
    let mut step = hessian.clone().lu().solve(&gradient)?;
    if kernel.rate == 0.0 && step[1].abs() < SIGNIFICANT * errors[1] {
        // No drift: the other steps as if there could be none.
        let others: Vec<usize> = (0..n).filter(|a| *a != 1).collect();
        let part = DMatrix::from_fn(others.len(), others.len(), |a, b| hessian[(others[a], others[b])]);
        let right = DVector::from_fn(others.len(), |a, _| gradient[others[a]]);
        let solved = part.lu().solve(&right)?;
        step.fill(0.0);
        others.iter().enumerate().for_each(|(place, a)| step[*a] = solved[place]);
    }
    step[0] = step[0].clamp(-5.0 * width, 5.0 * width);
    let factor = step.get(2).map_or(1.0, |step| step.clamp(-0.3, 0.3).exp());
    let better = Kernel {
        lag: kernel.lag + step[0] - step[1] * middle,
        rate: kernel.rate + step[1],
        low_pass: kernel.low_pass * factor,
        ..*kernel
    };
    let is_finite = better.lag.is_finite() && better.rate.abs() < 0.1 && better.low_pass.is_finite();
    is_finite.then_some((better, errors[0]))
}

/// L⁻¹ H of a slope: how much of it the powers can follow.
fn eliminated(columns: &Columns, fit: &Fit, root: &DMatrix<f64>, rows: &Rows, slope: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; rows.width()];
    for (index, slope) in slope.iter().enumerate() {
        let (of, values) = rows.row(index);
        for (column, value) in of.iter().zip(values) {
            sums[usize::from(*column)] += value * slope;
        }
    }
    sums.iter_mut().zip(&fit.powers).for_each(|(sum, power)| *sum *= power);
    let mut by_effect = columns.by_effect(&sums);
    by_effect.push(sums.last().copied().unwrap_or_default());
    let height = root.nrows();
    let mut product = vec![0.0; height];
    for (column, effect) in root.as_slice().chunks_exact(height.max(1)).zip(&by_effect) {
        product.iter_mut().zip(column).for_each(|(sum, entry)| *sum += entry * effect);
    }
    product
}
