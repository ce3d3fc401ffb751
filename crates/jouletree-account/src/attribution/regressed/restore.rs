//! When energy was used: a meter's readings moved to where the sensor's lag and blur took them from.

use jouletree_model::{EnergySeries, Joules, Lane};

use super::columns::Columns;
use super::fit::Fit;
use super::kernel::Kernel;
use super::rows::visit_rows;
use super::shares::happened;
use super::windows::Windows;

/// What the model says each window used, in joules, as the sensor sees it.
fn modelled(lanes: &[&Lane], windows: &Windows, kernel: &Kernel, columns: &Columns, fit: &Fit) -> Vec<f64> {
    let idle = fit.powers.last().copied().unwrap_or_default();
    let mut modelled: Vec<f64> = windows.durations().map(|duration| idle * duration).collect();
    visit_rows(lanes, windows, kernel, (&columns.of, columns.len()), |window, row| {
        let sum: f64 = row.iter().map(|(column, seconds)| fit.powers[*column as usize] * seconds).sum();
        modelled[window] += sum;
    });
    modelled
}

/// The energy over time when it was used. Each window's part of the model is scaled to what was read where it is seen; all
/// windows without a gap between them keep their sum. `None` where windows would not follow each other.
pub(super) fn restored(
    lanes: &[&Lane],
    windows: &Windows,
    kernel: &Kernel,
    (columns, fit): (&Columns, &Fit),
    block: usize,
) -> Option<EnergySeries> {
    let joules = energies(lanes, windows, kernel, (columns, fit), block);
    let restored = Windows { joules, ..windows.clone() };
    let spans = happened(&restored, kernel);
    let mut series = EnergySeries::default();
    let mut total = 0.0;
    for (index, (span, joules)) in spans.iter().zip(&restored.joules).enumerate() {
        if !windows.follows(index) {
            series.push(span.range.start, Joules(total), false).ok()?;
        }
        total += joules;
        let is_last = index + 1 == spans.len() || !windows.follows(index + 1);
        series.push(span.range.end, Joules(total), is_last).ok()?;
    }
    Some(series)
}

fn energies(
    lanes: &[&Lane],
    windows: &Windows,
    kernel: &Kernel,
    (columns, fit): (&Columns, &Fit),
    block: usize,
) -> Vec<f64> {
    let is_plain = kernel.blur == 0.0 && kernel.low_pass == 0.0;
    if is_plain && kernel.duty == 1.0 {
        return windows.joules.clone();
    }
    let seen = modelled(lanes, windows, &kernel.whole(), columns, fit);
    if is_plain {
        // A part-time sensor extrapolates: its windows are scaled in blocks, within a stretch without gaps.
        let mut energies = Vec::with_capacity(seen.len());
        let mut first = 0;
        while first < seen.len() {
            let length =
                (first + 1..seen.len()).take_while(|next| windows.follows(*next)).count().min(block - 1) + 1;
            let part = &seen[first..first + length];
            let read: f64 = windows.joules[first..first + length].iter().sum();
            let factor = read / part.iter().sum::<f64>();
            energies.extend(part.iter().map(|modelled| modelled * factor));
            first += length;
        }
        return energies;
    }
    let used = modelled(lanes, windows, &kernel.late_only(), columns, fit);
    let factors: Vec<f64> = windows.joules.iter().zip(&seen).map(|(read, seen)| read / seen).collect();
    let mut energies = vec![0.0; used.len()];
    // What a window leaves to later ones is scaled as they are.
    let mut later = f64::NAN;
    for index in (0..used.len()).rev() {
        let duration = windows.ranges[index].1 - windows.ranges[index].0;
        if !windows.follows(index + 1) {
            later = factors[index];
        }
        let own = if kernel.low_pass > 0.0 {
            1.0 - kernel.low_pass / duration * -(-duration / kernel.low_pass).exp_m1()
        } else {
            let blur = kernel.blur / (2.0 * duration);
            if kernel.blur <= duration { 1.0 - blur } else { duration / (2.0 * kernel.blur) }
        };
        energies[index] = used[index] * (own * factors[index] + (1.0 - own) * later);
        let kept = if kernel.low_pass > 0.0 { (-duration / kernel.low_pass).exp() } else { 0.0 };
        later = (1.0 - kept) * factors[index] + kept * later;
    }
    let mut first = 0;
    while first < energies.len() {
        let length = (first + 1..energies.len()).take_while(|next| windows.follows(*next)).count() + 1;
        let range = first..first + length;
        let read: f64 = windows.joules[range.clone()].iter().sum();
        let sum: f64 = energies[range.clone()].iter().sum();
        energies[range].iter_mut().for_each(|energy| *energy *= read / sum);
        first += length;
    }
    energies
}
