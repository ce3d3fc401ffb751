//! What a run cost, hour by hour where its power is known by time.

use jiff::tz::TimeZone;
use jouletree_carbon::formats::Record;
use jouletree_model::{Joules, Nanos, TimeRange};
use jouletree_run::MeteredSeries;

/// What a run cost, in the currency of its tariff; none where the tariff is not set.
///
/// Its energy is spread over its time as its power was, or evenly where that is not known.
pub fn cost(record: &Record, power: Option<&[MeteredSeries]>) -> Option<f64> {
    let tariff = record.context.tariff.as_ref()?;
    let (energy, start, end) = (record.impact().energy, record.start, record.end);
    let used = |from: Nanos, until: Nanos| -> f64 {
        let range = TimeRange { start: from, end: until };
        let wholes = power.unwrap_or_default().iter().filter(|metered| metered.is_whole());
        wholes
            .flat_map(|metered| metered.series.spans_within(range))
            .map(|span| span.power.0 * span.range.duration().seconds())
            .sum()
    };
    let whole = used(start, end);
    let part = |from: Nanos, until: Nanos| match whole > 0.0 {
        true => used(from, until) / whole,
        false => (until - from).seconds() / (end - start).seconds(),
    };
    if end <= start {
        return Some(0.0);
    }
    Some(tariff.cost(start, end, &TimeZone::system(), |from, until| Joules(energy.0 * part(from, until))))
}
