//! Validation: windows that a fit has not seen, predicted by it and by equal shares.

use super::fit::{Model, Start};
use super::noise::whitened;
use super::options::Options;
use super::rows::Rows;
use super::shares::{Share, each_share};
use super::statistics::{Statistics, gather};
use crate::attribution::Observed;
use jouletree_model::PowerSpan;

/// How many steps the fits of folds take at most: they begin at the result of the whole.
const STEPS: usize = 4;

/// How well windows were predicted that had been left out.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Validation {
    /// Root mean squared error of the regression, in joules of an average window.
    pub(super) regressed: f64,
    /// That of each operation's mean power by equal shares.
    pub(super) equal: f64,
    /// The mean gain in squared error over its standard error; blocks of windows are the observations.
    pub(super) t: f64,
}

/// The windows that are fitted, weighted.
pub(super) struct Fitted<'a> {
    pub(super) rows: &'a Rows,
    pub(super) y: &'a [f64],
    pub(super) weights: &'a [f64],
    pub(super) phi: &'a [f64],
}

/// Which blocks of windows are left out together.
#[derive(Clone, Copy)]
pub(super) struct Folds {
    pub(super) block: usize,
    pub(super) count: usize,
}

impl Folds {
    /// The folds of so many windows.
    pub(super) fn of(windows: usize, options: &Options) -> Folds {
        let count = options.folds.max(2);
        Folds { block: options.block.min(windows / (4 * count)).max(1), count }
    }

    /// The fold of a window.
    pub(super) fn fold(self, window: usize) -> usize {
        (window / self.block) % self.count
    }
}

/// Compares the two; `all` are the statistics of all windows by fold. `spans` are the windows as they happened, with their energy.
pub(super) fn validate(
    model: &Model<'_>,
    fitted: &Fitted<'_>,
    (total, all): (&Statistics, Vec<Statistics>),
    folds: Folds,
    start: &Start,
    (observed, spans): (&Observed<'_>, &[PowerSpan]),
) -> Option<Validation> {
    let count = fitted.y.len();
    let mut regressed = vec![0.0; count];
    for (fold, left_out) in all.into_iter().enumerate() {
        let mut statistics = left_out;
        statistics.complement(total);
        let fit = model.fit(&statistics, start.clone(), STEPS, true)?;
        for window in (0..count).filter(|window| folds.fold(*window) == fold) {
            regressed[window] = fitted.rows.times(window, &fit.powers);
        }
    }
    let equal = by_equal_shares(fitted.weights, folds, observed, spans);
    let errors = |predicted: &[f64]| -> Vec<f64> {
        let residuals: Vec<f64> = fitted.y.iter().zip(predicted).map(|(y, predicted)| y - predicted).collect();
        whitened(&residuals, fitted.phi).into_iter().map(|residual| residual * residual).collect()
    };
    let (regressed, equal) = (errors(&regressed), errors(&equal));
    let gains: Vec<f64> = equal.iter().zip(&regressed).map(|(equal, regressed)| equal - regressed).collect();
    let blocks: Vec<f64> = gains.chunks(folds.block).map(|block| block.iter().sum()).collect();
    let root = |squares: &[f64]| (squares.iter().sum::<f64>() / squares.len().max(1) as f64).sqrt();
    let t = student(&blocks);
    let validation = Validation { regressed: root(&regressed), equal: root(&equal), t };
    validation.t.is_finite().then_some(validation)
}

/// The mean over its standard error; zero where there is none.
fn student(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    if values.len() > 1 && variance > 0.0 { mean / (variance / n).sqrt() } else { 0.0 }
}

/// What each window uses by the mean powers that equal shares give operations in the other folds.
fn by_equal_shares(weights: &[f64], folds: Folds, observed: &Observed<'_>, spans: &[PowerSpan]) -> Vec<f64> {
    let ops = observed.ops.len();
    // Joules and seconds of each operation and, last, of the idle device, by fold.
    let mut sums = vec![vec![(0.0, 0.0); ops + 1]; folds.count];
    let mut whole = vec![(0.0, 0.0); folds.count];
    for (window, span) in spans.iter().enumerate() {
        let sum = &mut whole[folds.fold(window)];
        let seconds = span.range.duration().0 as f64 * 1e-9;
        *sum = (sum.0 + span.power.0 * seconds, sum.1 + seconds);
    }
    each_share(observed, spans, |Share { window, seconds, active }| {
        let power = spans[window].power.0;
        let sums = &mut sums[folds.fold(window)];
        let mut add = |op: usize, seconds: f64| {
            if let Some(sum) = sums.get_mut(op) {
                *sum = (sum.0 + power * seconds, sum.1 + seconds);
            }
        };
        if active.is_empty() {
            add(ops, seconds);
        }
        for (_, op) in active {
            add(observed.operation(*op).index(), seconds / active.len() as f64);
        }
    });
    // The mean powers in all folds but one.
    let totals: Vec<(f64, f64)> = (0..=ops).map(|op| sum(sums.iter().map(|sums| sums[op]))).collect();
    let total = sum(whole.iter().copied());
    for (sums, whole) in sums.iter_mut().zip(&whole) {
        let mean = (total.0 - whole.0) / (total.1 - whole.1);
        for (sum, total) in sums.iter_mut().zip(&totals) {
            let (joules, seconds) = (total.0 - sum.0, total.1 - sum.1);
            let is_known = seconds > 1e-9 * total.1 && seconds > 0.0;
            *sum = (if is_known { joules / seconds } else { mean }, 0.0);
        }
    }
    let mut predicted = vec![0.0; spans.len()];
    each_share(observed, spans, |Share { window, seconds, active }| {
        let powers = &sums[folds.fold(window)];
        let power = |op: usize| powers.get(op).map_or(0.0, |power| power.0);
        predicted[window] += match active.len() {
            0 => seconds * power(ops),
            lanes => {
                let sum: f64 = active.iter().map(|(_, op)| power(observed.operation(*op).index())).sum();
                seconds * sum / lanes as f64
            }
        };
    });
    predicted.iter().zip(weights).map(|(predicted, weight)| predicted * weight).collect()
}

fn sum(values: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    values.fold((0.0, 0.0), |sum, value| (sum.0 + value.0, sum.1 + value.1))
}

/// The statistics of windows by fold, and of all.
pub(super) fn by_fold(rows: &Rows, y: &[f64], phi: &[f64], folds: Folds) -> (Statistics, Vec<Statistics>) {
    let by_fold = gather(rows, y, phi, |window| folds.fold(window), folds.count);
    let mut total = Statistics::empty(rows.width());
    by_fold.iter().for_each(|statistics| total += statistics);
    (total, by_fold)
}
