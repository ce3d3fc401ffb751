//! The tail of a call: the power that stays up after its end, as clocks and caches of a device wind down.

use jouletree_model::{DeviceClass, EnergySeries, Joules, Nanos, TimeRange, Watts};

use super::net::Baseline;
use crate::EnergyIndex;

/// When a tail is over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TailRule {
    /// The power must be this much over its baseline …
    pub over: Watts,
    /// … and so many standard errors of a mean over `mean`.
    pub deviations: f64,
    /// The power at an instant is that of this time from then on.
    pub mean: Nanos,
    /// It is not followed for longer.
    pub at_most: Nanos,
}

/// The tail of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tail {
    /// From the end of the call to the end of its tail.
    pub range: TimeRange,
    /// What was used in it.
    pub gross: Joules,
    /// What of that is over the baseline.
    pub net: Joules,
    /// Whether it was not over when something else began or nothing more is known.
    pub is_cut: bool,
}

impl TailRule {
    /// What suits a class of devices: graphics processors stay at 2 W and more over idling, others may do with any amount
    /// that is neither noise nor rounding.
    pub fn for_class(class: DeviceClass) -> TailRule {
        let over = if class == DeviceClass::Gpu { Watts(2.0) } else { Watts(0.1) };
        TailRule { over, deviations: 3.0, mean: Nanos(2_500_000_000), at_most: Nanos(60_000_000_000) }
    }
}

/// The tail after `end`, followed until `until` at most.
pub(super) fn tail(
    series: &EnergySeries,
    index: &EnergyIndex,
    rule: &TailRule,
    baseline: &Baseline,
    end: Nanos,
    until: Option<Nanos>,
) -> Option<Tail> {
    let last = series.extent()?.end;
    let limit = (end + rule.at_most).min(until.unwrap_or(Nanos::MAX)).min(last);
    if limit <= end {
        return None;
    }
    let noise = baseline.deviation.0 * (baseline.block.seconds() / rule.mean.seconds().max(1e-9)).sqrt();
    let threshold = baseline.power.0 + rule.over.0 + rule.deviations * noise;
    let mut over = end;
    let mut is_cut = true;
    for span in series.spans_within(TimeRange { start: end, end: limit }) {
        if span.range.start > over {
            // Nothing is known for a while.
            break;
        }
        let ahead = TimeRange { start: span.range.start, end: (span.range.start + rule.mean).min(last) };
        if (index.between(ahead) / ahead.duration()).0 < threshold {
            is_cut = false;
            break;
        }
        over = span.range.end;
    }
    let range = TimeRange { start: end, end: over };
    let gross = index.between(range);
    Some(Tail { range, gross, net: gross - baseline.power * range.duration(), is_cut })
}
