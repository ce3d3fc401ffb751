//! The energy between any two instants of a series, found without going through it.

use jouletree_model::{EnergySeries, Joules, Nanos, PowerSpan, TimeRange};

/// A series made ready to be asked about many stretches of time.
#[derive(Debug, Clone, Default)]
pub struct EnergyIndex {
    spans: Vec<PowerSpan>,
    /// The energy before each span.
    before: Vec<Joules>,
}

impl EnergyIndex {
    /// The energy during `range`, as far as it is known.
    pub fn between(&self, range: TimeRange) -> Joules {
        if range.is_empty() { Joules::ZERO } else { self.by(range.end) - self.by(range.start) }
    }

    /// The energy during all of `ranges`, which do not overlap.
    pub fn within(&self, ranges: &[TimeRange]) -> Joules {
        ranges.iter().map(|range| self.between(*range)).sum()
    }

    /// The stretches of constant power that have an instant in common with `range`.
    pub(crate) fn spans_meeting(&self, range: TimeRange) -> &[PowerSpan] {
        let from = self.spans.partition_point(|span| span.range.end <= range.start);
        let to = self.spans.partition_point(|span| span.range.start < range.end);
        self.spans.get(from..to).unwrap_or_default()
    }

    /// The energy until an instant.
    fn by(&self, instant: Nanos) -> Joules {
        let begun = self.spans.partition_point(|span| span.range.start <= instant);
        let Some((span, before)) =
            begun.checked_sub(1).and_then(|last| self.spans.get(last).zip(self.before.get(last)))
        else {
            return Joules::ZERO;
        };
        *before + span.power * (instant.min(span.range.end) - span.range.start)
    }
}

impl From<&EnergySeries> for EnergyIndex {
    fn from(series: &EnergySeries) -> EnergyIndex {
        let spans: Vec<PowerSpan> = series.spans().collect();
        let mut total = Joules::ZERO;
        let before = spans.iter().map(|span| {
            let before = total;
            total += span.power * span.range.duration();
            before
        });
        let before = before.collect();
        EnergyIndex { spans, before }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_energy_of_any_stretch() {
        let mut series = EnergySeries::default();
        for (time, joules, gap) in [(0, 5.0, false), (10, 25.0, true), (20, 100.0, false), (30, 110.0, false)] {
            series.push(Nanos(time), Joules(joules), gap).unwrap();
        }
        let index = EnergyIndex::from(&series);
        let between = |start, end| index.between(TimeRange { start: Nanos(start), end: Nanos(end) }).0;
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(close(between(-5, 50), 30.0) && close(between(5, 10), 10.0) && close(between(5, 25), 15.0));
        assert!(close(between(12, 18), 0.0) && close(between(30, 31), 0.0) && close(between(7, 7), 0.0));
        assert!(close(between(8, 3), 0.0) && close(EnergyIndex::default().between(TimeRange::ALL).0, 0.0));
    }
}
