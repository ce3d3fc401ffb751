//! The sensor's shape and lag by profile likelihood: for each candidate a ridge regression on coarse roles, whose noise is
//! profiled out.
//!
//! Shape and coarse lag come from the first windows; finer lags from several stretches of the run. Where these lie on a line, the
//! clocks drift.

use std::borrow::Cow;
use std::cmp::Ordering;

use jouletree_model::Lane;
use nalgebra::DMatrix;

use super::columns::{Activity, Catalog, NONE};
use super::kernel::Kernel;
use super::linear::{Cholesky, add_gram, dot};
use super::rows::visit_rows;
use super::windows::Windows;

/// How many windows a stretch has.
const STRETCH: usize = 2000;

/// How many stretches finer lags are looked for in.
const STRETCHES: usize = 4;

/// How many roles are distinguished: those that ran longest.
const ROLES: usize = 60;

/// How many coarse lags of a shape are refined.
const PEAKS: usize = 3;

/// How much likelier than a plain sensor one must be, beyond what the best of many is by chance.
const LEAST_GAIN: f64 = 4.0;

/// A table of activity has at most so many instants.
const INSTANTS: usize = 64_000;

/// At which points of its period a counter that moves by itself is looked at.
const BLUR_POINTS: usize = 8;

/// What is looked for.
#[derive(Debug, Clone)]
pub(super) struct Range {
    /// The shapes of sensors; their lags are not looked at.
    pub(super) shapes: Vec<Kernel>,
    /// The least and the largest lag, in seconds.
    pub(super) lags: (f64, f64),
}

/// What was run and read.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) lanes: &'a [&'a Lane],
    pub(super) windows: &'a Windows,
    pub(super) catalog: &'a Catalog,
    pub(super) activity: &'a Activity,
}

/// The shape and lag that explain the readings best.
pub(super) fn find(seen: Seen<'_>, range: &Range) -> Kernel {
    let (of, columns) = coarse_columns(seen.catalog, seen.activity);
    let usual = seen.windows.usual_duration();
    let step = (usual / 8.0).clamp(0.25e-3, 2e-3);
    let count = seen.windows.len();
    let length = count.min(STRETCH);
    let number = (count / STRETCH).clamp(1, STRETCHES);
    let stretch = |number_of: usize| {
        let from = (number_of as f64 * (count - length) as f64 / (number.max(2) - 1) as f64).round() as usize;
        let windows = seen.windows.part(from..from + length);
        Stretch::new(seen.lanes, windows, (&of, columns), (step / 4.0).min(usual / 16.0), range.lags)
    };
    let stretches: Vec<Stretch> = (0..number).map(stretch).collect();
    // Shapes are compared at their best lags: beside it, one that blurs would win.
    let best = range.shapes.iter().filter_map(|shape| best_of_shape(&stretches, shape, range.lags, step));
    let Some((likelihood, best)) = best.max_by(better) else { return Kernel::default() };
    // Of many candidates one fits by chance: it must be better than no lag and no blur by more than that.
    let plain: f64 = stretches.iter().map(|stretch| stretch.rated(&stretch.active, Kernel::default()).0).sum();
    let candidates = range.shapes.len() as f64 * ((range.lags.1 - range.lags.0) / step + 1.0);
    if likelihood - plain > candidates.ln() + LEAST_GAIN { best } else { Kernel::default() }
}

/// The best lag of a shape, or line of lags, with its likelihood over all stretches.
fn best_of_shape(stretches: &[Stretch], shape: &Kernel, lags: (f64, f64), step: f64) -> Option<(f64, Kernel)> {
    let at = |lag: f64| Kernel { lag, rate: 0.0, ..*shape };
    let (first, others) = stretches.split_first()?;
    let table = first.table(shape);
    let lags = (lags.0 / step).trunc() as i64..=(lags.1 / step).trunc() as i64;
    let mut rated: Vec<(f64, Kernel)> = lags.map(|lag| first.rated(&table, at(lag as f64 * step))).collect();
    rated.sort_by(|a, b| better(b, a));
    let peaks = peaks(&rated, 1.5 * step).into_iter().map(|(_, kernel)| first.refined(&table, kernel, step));
    let (likelihood, best) = peaks.max_by(better)?;
    if others.is_empty() {
        return Some((likelihood, best));
    }
    let mut found = vec![(first.middle(), best.lag)];
    for stretch in others {
        let table = stretch.table(shape);
        found.push((stretch.middle(), stretch.refined(&table, best, step).1.lag));
    }
    let (lag, rate) = line(&found, step / 3.0);
    let best = Kernel { lag, rate, ..best };
    let likelihood = |stretch: &Stretch| {
        let here = Kernel { lag: lag + rate * stretch.middle(), rate: 0.0, ..best };
        stretch.rated(&stretch.table(shape), here).0
    };
    Some((stretches.iter().map(likelihood).sum(), best))
}

/// Of two candidates the likelier; of equals the one with the smaller lag.
fn better(a: &(f64, Kernel), b: &(f64, Kernel)) -> Ordering {
    a.0.total_cmp(&b.0).then(b.1.lag.abs().total_cmp(&a.1.lag.abs()))
}

/// The best candidates that are not neighbours; the best comes first in `rated`.
fn peaks(rated: &[(f64, Kernel)], apart: f64) -> Vec<(f64, Kernel)> {
    let mut peaks: Vec<(f64, Kernel)> = Vec::new();
    for candidate in rated {
        if peaks.len() < PEAKS && peaks.iter().all(|peak| (peak.1.lag - candidate.1.lag).abs() > apart) {
            peaks.push(*candidate);
        }
    }
    peaks
}

/// A line through lags where the last differs from the first by more than `least`, their mean otherwise.
fn line(found: &[(f64, f64)], least: f64) -> (f64, f64) {
    let n = found.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| found.iter().map(of).sum::<f64>() / n;
    let (middle, lag) = (mean(|found| found.0), mean(|found| found.1));
    let apart = found.first().zip(found.last()).map_or(0.0, |(first, last)| (last.1 - first.1).abs());
    if found.len() < 3 || apart <= least {
        return (lag, 0.0);
    }
    let along: f64 = found.iter().map(|(at, of)| (at - middle) * (of - lag)).sum();
    let rate = along / found.iter().map(|(at, _)| (at - middle).powi(2)).sum::<f64>();
    (lag - rate * middle, rate)
}

/// The column of each operation: its role among the longest, one for all others.
fn coarse_columns(catalog: &Catalog, activity: &Activity) -> (Vec<u32>, usize) {
    let roles = catalog.role.iter().max().map_or(0, |most| *most as usize + 1);
    let mut seconds = vec![0.0; roles];
    for (role, of_op) in catalog.role.iter().zip(&activity.seconds) {
        seconds[*role as usize] += of_op;
    }
    let mut longest: Vec<usize> = (0..roles).collect();
    longest.sort_by(|a, b| seconds[*b].total_cmp(&seconds[*a]));
    longest.truncate(ROLES);
    let mut of_role = vec![longest.len() as u32; roles];
    longest.iter().zip(0..).for_each(|(role, column)| of_role[*role] = column);
    let of = catalog.role.iter().zip(&activity.count);
    let of = of.map(|(role, count)| if *count > 0 { of_role[*role as usize] } else { NONE });
    (of.collect(), longest.len() + 1)
}

/// Windows in a row, and what was active until every instant around them.
struct Stretch {
    windows: Windows,
    columns: usize,
    mean: f64,
    /// The first instant of the table, and the distance of instants.
    from: f64,
    step: f64,
    /// Seconds of each column until each instant, instant by instant.
    active: Vec<f64>,
}

impl Stretch {
    fn new(
        lanes: &[&Lane],
        windows: Windows,
        (of, columns): (&[u32], usize),
        step: f64,
        lags: (f64, f64),
    ) -> Stretch {
        let (begin, end) = (windows.ranges.first(), windows.ranges.last());
        let (begin, end) = begin.zip(end).map_or((0.0, 0.0), |(begin, end)| (begin.0, end.1));
        let (from, to) = (begin - lags.1.max(0.0) - 0.02, end - lags.0.min(0.0) + 0.01);
        let step = step.max((to - from) / INSTANTS as f64);
        let instants = ((to - from) / step).ceil() as usize + 1;
        let edge = |index: usize| from + index as f64 * step;
        let grid = Windows {
            origin: windows.origin,
            ranges: (0..instants).map(|index| (edge(index), edge(index + 1))).collect(),
            joules: Vec::new(),
        };
        let mut active = vec![0.0; (instants + 1) * columns];
        let mut sums = vec![0.0; columns];
        visit_rows(lanes, &grid, &Kernel::default(), (of, columns), |index, row| {
            row.iter().for_each(|(column, seconds)| sums[*column as usize] += seconds);
            active[(index + 1) * columns..][..columns].copy_from_slice(&sums);
        });
        let mean = windows.mean_power();
        Stretch { windows, columns, mean, from, step, active }
    }

    /// The middle of its time.
    fn middle(&self) -> f64 {
        let ends = self.windows.ranges.first().zip(self.windows.ranges.last());
        ends.map_or(0.0, |(first, last)| (first.0 + last.1) / 2.0)
    }

    /// What a sensor of this shape has seen until each instant: a low-pass lags behind by what it still holds.
    fn table(&self, shape: &Kernel) -> Cow<'_, [f64]> {
        if shape.low_pass == 0.0 {
            return Cow::Borrowed(&self.active);
        }
        let decay = (-self.step / shape.low_pass).exp();
        let mut table = self.active.clone();
        let mut held = vec![0.0; self.columns];
        let pairs = self.active.chunks_exact(self.columns).zip(self.active.chunks_exact(self.columns).skip(1));
        for (row, (before, after)) in table.chunks_exact_mut(self.columns).skip(1).zip(pairs) {
            for ((seen, held), (before, after)) in row.iter_mut().zip(&mut held).zip(before.iter().zip(after)) {
                let level = (after - before) / self.step;
                *held = level + (*held - level) * decay;
                *seen -= shape.low_pass * *held;
            }
        }
        Cow::Owned(table)
    }

    /// Adds `weight` times what was seen until an instant.
    fn add(&self, table: &[f64], instant: f64, weight: f64, to: &mut [f64]) {
        let last = table.len() / self.columns - 2;
        let place = ((instant - self.from) / self.step).clamp(0.0, last as f64);
        let index = (place as usize).min(last);
        let part = place - index as f64;
        let (before, after) = table[index * self.columns..][..2 * self.columns].split_at(self.columns);
        for ((to, before), after) in to.iter_mut().zip(before).zip(after) {
            *to += weight * (before * (1.0 - part) + after * part);
        }
    }

    /// A kernel with its likelihood.
    fn rated(&self, table: &[f64], kernel: Kernel) -> (f64, Kernel) {
        (self.likelihood(table, &kernel), kernel)
    }

    /// The best of finer lags around a kernel's, in steps of a third and of a ninth.
    fn refined(&self, table: &[f64], kernel: Kernel, step: f64) -> (f64, Kernel) {
        let mut best = self.rated(table, kernel);
        for step in [step / 3.0, step / 9.0] {
            let middle = best.1.lag;
            let tried = [-3.0, -2.0, -1.0, 1.0, 2.0, 3.0];
            let tried = tried.map(|steps| self.rated(table, Kernel { lag: middle + steps * step, ..kernel }));
            best = tried.into_iter().fold(best, |best, tried| if tried.0 > best.0 { tried } else { best });
        }
        best
    }

    /// The profile log likelihood of a kernel.
    fn likelihood(&self, table: &[f64], kernel: &Kernel) -> f64 {
        let count = self.windows.len();
        let inner = 4.min(count / 4)..count - 4.min(count / 4);
        let width = self.columns + 2;
        let mut rows = DMatrix::<f64>::zeros(inner.len(), width);
        let mut row = vec![0.0; self.columns];
        for (place, (from, to)) in self.windows.ranges[inner.clone()].iter().enumerate() {
            row.fill(0.0);
            let to_seen = to - kernel.lag;
            let from_seen = to_seen - kernel.duty * (to - from);
            let points = if kernel.blur > 0.0 { BLUR_POINTS } else { 1 };
            for point in 0..points {
                let shift = kernel.blur * (point as f64 + 0.5) / points as f64;
                let weight = 1.0 / (points as f64 * kernel.duty);
                self.add(table, to_seen - shift, weight, &mut row);
                self.add(table, from_seen - shift, -weight, &mut row);
            }
            for (column, value) in row.iter().enumerate() {
                rows[(place, column)] = value * 0.35 * self.mean;
            }
            rows[(place, self.columns)] = row.iter().sum::<f64>() * 2.0 * self.mean;
            rows[(place, self.columns + 1)] = (to - from) * 0.4 * self.mean;
        }
        let y = self.windows.joules.get(inner).unwrap_or_default();
        ridge_likelihood(&rows, y).unwrap_or(f64::NEG_INFINITY)
    }
}

/// The log marginal likelihood of a regression with unit prior, its noise being the best.
fn ridge_likelihood(rows: &DMatrix<f64>, y: &[f64]) -> Option<f64> {
    let (count, width) = rows.shape();
    let n = count as f64;
    let mut gram = DMatrix::zeros(width, width);
    add_gram(&mut gram, rows, count);
    super::linear::mirror(&mut gram);
    let cross: Vec<f64> = rows.as_slice().chunks_exact(count.max(1)).map(|column| dot(column, y)).collect();
    let square = dot(y, y);
    let mut noise = 0.02 * 0.02 * square / n;
    let mut likelihood = f64::NEG_INFINITY;
    for _ in 0..6 {
        let mut hessian = &gram / noise;
        (0..width).for_each(|column| hessian[(column, column)] += 1.0);
        let factor = Cholesky::of(hessian)?;
        let u = factor.solve(&cross.iter().map(|cross| cross / noise).collect::<Vec<_>>());
        let predicted = dot(&u, &super::linear::times(&gram, &u));
        let squares = (square - 2.0 * dot(&u, &cross) + predicted).max(1e-14 * square);
        let inverse = factor.inverse();
        let free = width as f64 - dot(inverse.as_slice(), inverse.as_slice());
        noise = squares / (n - free).max(1.0);
        let penalty = dot(&u, &u);
        likelihood = -0.5 * (n * noise.ln() + 2.0 * factor.log_diagonal() + squares / noise + penalty);
    }
    likelihood.is_finite().then_some(likelihood)
}
