//! The estimate: from what ran and what was read to powers, their covariances and the verdict against equal shares.

use nalgebra::DMatrix;

use super::columns::{Activity, Catalog, Columns};
use super::errors::Covariance;
use super::fit::{Fit, Model, Start};
use super::kernel::Kernel;
use super::noise::{portmanteau, weights, yule_walker};
use super::options::Options;
use super::refine::{At, refined};
use super::rows::{Rows, visit_rows};
use super::search::{Range, Seen, find};
use super::shares::happened;
use super::statistics::Statistics;
use super::validate::{Fitted, Folds, Validation, by_fold, validate};
use super::windows::Windows;
use crate::attribution::Observed;
use crate::self_time::SelfTime;
use jouletree_model::TimeRange;

/// About how many entries the rows of a regression have at most, each of ten bytes.
const MOST_ENTRIES: f64 = 12e6;

/// What is known of the sensor.
#[derive(Debug, Clone)]
pub(super) struct Sensor {
    /// What it is, or where to begin.
    pub(super) kernel: Kernel,
    /// Where to look for it; `None` where it is known.
    pub(super) search: Option<Range>,
    /// The half-widths of differences of successive steps that polish it, in seconds.
    pub(super) widths: Vec<f64>,
}

/// What was learned of one device.
#[derive(Debug, Clone)]
pub(super) struct Estimate {
    pub(super) columns: Columns,
    pub(super) fit: Fit,
    pub(super) covariance: Covariance,
    pub(super) kernel: Kernel,
    /// The standard error of the lag, in seconds, where it was estimated.
    pub(super) lag_error: Option<f64>,
    pub(super) validation: Validation,
    /// The autoregression of residuals; empty where they are white.
    pub(super) phi: Vec<f64>,
    /// How far from white residuals were.
    pub(super) portmanteau: f64,
    /// How many windows were fitted.
    pub(super) windows: usize,
}

/// Why there is no estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Degenerate {
    /// A matrix was not positive definite, or a number not finite.
    Numbers,
    /// Nothing ran in any window.
    NothingRan,
}

/// How often and for how long operations ran, and what windows say about them.
pub(super) fn activity(observed: &Observed<'_>, windows: &Windows, kernel: &Kernel) -> Activity {
    let ops = observed.ops.len();
    let mut activity = Activity {
        count: vec![0; ops],
        seconds: vec![0.0; ops],
        information: information(observed, windows, kernel),
    };
    let mut segments = Vec::new();
    for lane in observed.lanes {
        let mut source = SelfTime::new(lane, TimeRange::ALL);
        loop {
            segments.clear();
            let begun = source.cut(4096, &mut segments);
            if begun.is_empty() && segments.is_empty() {
                break;
            }
            for segment in &segments {
                let op = observed.operation(segment.op).index();
                if let Some((count, seconds)) = activity.count.get_mut(op).zip(activity.seconds.get_mut(op)) {
                    (*count, *seconds) = (*count + 1, *seconds + segment.duration().0 as f64 * 1e-9);
                }
            }
        }
    }
    activity
}

/// The sum of squares over windows of each operation's seconds in them.
pub(super) fn information(observed: &Observed<'_>, windows: &Windows, kernel: &Kernel) -> Vec<f64> {
    let ops = observed.ops.len();
    let mut information = vec![0.0; ops];
    let all: Vec<u32> = (0..ops as u32).collect();
    visit_rows(observed.lanes, windows, kernel, (&all, ops), |_, row| {
        row.iter().for_each(|(op, seconds)| information[*op as usize] += seconds * seconds);
    });
    information
}

/// Estimates the power of every operation.
pub(super) fn estimate(
    observed: &Observed<'_>,
    windows: &Windows,
    catalog: &Catalog,
    sensor: &Sensor,
    options: &Options,
) -> Result<Estimate, Degenerate> {
    let mut activity = activity(observed, windows, &sensor.kernel);
    let scale = windows.mean_power();
    let mut kernel = sensor.kernel;
    if let Some(range) = &sensor.search {
        kernel = find(Seen { lanes: observed.lanes, windows, catalog, activity: &activity }, range);
    }
    // Bounds memory and time, however long the run is.
    let entries = windows.len() as f64
        * match kernel.low_pass > 0.0 {
            true => observed.ops.len().min(options.columns) as f64,
            false => 1.0 + activity.count.iter().sum::<u64>() as f64 / windows.len().max(1) as f64,
        };
    let thinned = (entries > MOST_ENTRIES).then(|| windows.thinned(MOST_ENTRIES / entries));
    let windows = thinned.as_ref().unwrap_or(windows);
    let skipped = match kernel.low_pass > 0.0 {
        true => (5.0 * kernel.low_pass / windows.usual_duration()).ceil() as usize,
        false => 0,
    };
    let skipped = skipped.min(windows.len() / 4);
    let y = windows.joules.get(skipped..).unwrap_or_default();
    let rows_at = |kernel: &Kernel, columns: &Columns| {
        Rows::of(observed.lanes, windows, kernel, (&columns.of, columns.len())).skip(skipped)
    };

    let mut columns = None;
    let mut start = Start::default();
    let mut lag_error = None;
    for width in &sensor.widths {
        if columns.is_none() {
            activity.information = information(observed, windows, &kernel);
        }
        let columns = &*columns.get_or_insert_with(|| Columns::new(catalog, &activity, options));
        let rows = rows_at(&kernel, columns);
        let statistics = Statistics::of(&rows, y);
        let model = Model { columns, scale, options };
        let steps = if start.effects.is_some() { 6 } else { 12 };
        let fit = model.fit(&statistics, start, steps, false).ok_or(Degenerate::Numbers)?;
        let root = model.root_of_covariance(&statistics, &fit).ok_or(Degenerate::Numbers)?;
        let seen = Seen { lanes: observed.lanes, windows, catalog, activity: &activity };
        let at = At { columns, fit: &fit, root: &root, rows: &rows, skipped };
        let Some((better, error)) = refined(seen, &kernel, &at, *width) else {
            start = fit.start();
            break;
        };
        (kernel, lag_error, start) = (better, Some(error), fit.start());
    }

    activity.information = information(observed, windows, &kernel);
    let columns = Columns::new(catalog, &activity, options);
    if columns.len() == 0 {
        return Err(Degenerate::NothingRan);
    }
    if start.effects.as_ref().is_some_and(|effects| effects.len() != columns.effects() + 1) {
        start = Start::default();
    }
    let model = Model { columns: &columns, scale, options };
    let mut rows = rows_at(&kernel, &columns);
    let first =
        model.fit(&Statistics::of(&rows, y), start, options.iterations, false).ok_or(Degenerate::Numbers)?;
    let predicted: Vec<f64> = (0..rows.len()).map(|window| rows.times(window, &first.powers)).collect();
    let residuals: Vec<f64> = y.iter().zip(&predicted).map(|(y, predicted)| y - predicted).collect();
    let weights = weights(&residuals, &predicted);
    rows.weigh(&weights);
    let weighted: Vec<f64> = y.iter().zip(&weights).map(|(y, weight)| y * weight).collect();
    let folds = Folds::of(weighted.len(), options);
    let refit = |phi: &[f64], from: &Fit| {
        let (total, parts) = by_fold(&rows, &weighted, phi, folds);
        let start = Start { noise: None, ..from.start() };
        let fit = model.fit(&total, start, options.iterations, false).ok_or(Degenerate::Numbers)?;
        Ok((total, parts, fit))
    };
    let residuals = |fit: &Fit| -> Vec<f64> {
        weighted.iter().enumerate().map(|(window, y)| y - rows.times(window, &fit.powers)).collect()
    };
    let (mut total, mut parts, mut fit) = refit(&[], &first)?;
    let mut phi = Vec::new();
    let mut statistic = 0.0;
    if options.order > 0 && weighted.len() > 20 * options.order {
        statistic = portmanteau(&residuals(&fit), options.order);
        if statistic > options.coloured {
            for _ in 0..2 {
                phi = yule_walker(&residuals(&fit), options.order);
                (total, parts, fit) = refit(&phi, &fit)?;
            }
        }
    }
    let root: DMatrix<f64> = model.root_of_covariance(&total, &fit).ok_or(Degenerate::Numbers)?;
    let covariance = Covariance::of(&columns, &fit, &root, options);
    let spans = happened(windows, &kernel).split_off(skipped);
    let fitted = Fitted { rows: &rows, y: &weighted, weights: &weights, phi: &phi };
    let validation = validate(&model, &fitted, (&total, parts), folds, &fit.start(), (observed, &spans))
        .ok_or(Degenerate::Numbers)?;
    let windows = weighted.len();
    Ok(Estimate { columns, fit, covariance, kernel, lag_error, validation, phi, portmanteau: statistic, windows })
}
