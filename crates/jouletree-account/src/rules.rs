//! Rules: how a meter's readings become energy over time.

use jouletree_model::{
    EnergySeries, Joules, Nanos, PowerRecord, PowerSample, PowerUnit, Rule, SeriesError, Warning,
};

/// Why a rule cannot be applied to a record.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RuleError {
    /// The counter rule was asked for, but the meter gave watts.
    #[error(
        "{source_name}: {device}: the rule `counter` needs cumulative joules, and these are watts; use --rule recency"
    )]
    NotACounter {
        /// The file.
        source_name: String,
        /// The device.
        device: String,
    },
    /// A value breaks the series.
    #[error("{source_name}: {device}: {error}")]
    Series {
        /// The file.
        source_name: String,
        /// The device.
        device: String,
        /// What is wrong with it.
        error: SeriesError,
    },
}

/// The rule that suits a unit: counters are linear, readings hold.
pub fn rule_for_unit(unit: PowerUnit) -> Rule {
    match unit {
        PowerUnit::Watts => Rule::Recency,
        PowerUnit::Joules => Rule::Counter,
    }
}

/// A reading is stale when the next one is this many usual periods away …
const STALE_PERIODS: i64 = 100;
/// … and at least this far.
const STALE_AT_LEAST: Nanos = Nanos(1_000_000_000);

/// The energy of `record` by `rule`. The last reading is extended by `hold`, nothing else is: what no reading covers
/// is a gap. `source` names the file in warnings.
pub fn energy_series(
    record: &PowerRecord,
    rule: Rule,
    hold: Nanos,
    source: &str,
    warnings: &mut Vec<Warning>,
) -> Result<EnergySeries, RuleError> {
    let context = Context { record, source };
    match (rule, record.unit) {
        (Rule::Recency, PowerUnit::Watts) => context.readings_hold(&record.samples, hold, warnings),
        (Rule::Recency, PowerUnit::Joules) => context.readings_hold(&rates(&record.samples), hold, warnings),
        (Rule::Counter, PowerUnit::Joules) => context.linear_between_changes(hold, warnings),
        (Rule::Counter, PowerUnit::Watts) => {
            Err(RuleError::NotACounter { source_name: source.to_owned(), device: record.device.to_string() })
        }
    }
}

/// The power that a counter's growth shows at each of its readings but the first.
fn rates(counter: &[PowerSample]) -> Vec<PowerSample> {
    let rate = |pair: &[PowerSample]| {
        let power = Joules(pair[1].value - pair[0].value) / (pair[1].time - pair[0].time);
        PowerSample { time: pair[1].time, value: power.0 }
    };
    counter.windows(2).map(rate).collect()
}

/// A record and where it came from, for messages.
struct Context<'a> {
    record: &'a PowerRecord,
    source: &'a str,
}

impl Context<'_> {
    fn push(&self, series: &mut EnergySeries, time: Nanos, joules: Joules, gap: bool) -> Result<(), RuleError> {
        series.push(time, joules, gap).map_err(|error| RuleError::Series {
            source_name: self.source.to_owned(),
            device: self.record.device.to_string(),
            error,
        })
    }

    fn warn(&self, warnings: &mut Vec<Warning>, reading: usize, time: Nanos, message: String) {
        let position = format!("{} reading {} (epoch_ns {})", self.record.device, reading + 1, time.0);
        warnings.push(Warning::new(self.source, message).at(position));
    }

    fn readings_hold(
        &self,
        samples: &[PowerSample],
        hold: Nanos,
        warnings: &mut Vec<Warning>,
    ) -> Result<EnergySeries, RuleError> {
        let period = usual_period(samples);
        let mut series = EnergySeries::default();
        let mut energy = Joules::ZERO;
        for (index, sample) in samples.iter().enumerate() {
            let power = jouletree_model::Watts(sample.value);
            self.push(&mut series, sample.time, energy, false)?;
            let held = match samples.get(index + 1) {
                Some(next) if is_stale(next.time - sample.time, period) => {
                    let message = format!(
                        "no reading for {} after this one; the reading holds for one usual period ({period}) and \
                         the rest of the gap counts as unknown",
                        next.time - sample.time
                    );
                    self.warn(warnings, index, sample.time, message);
                    period
                }
                Some(next) => {
                    energy += power * (next.time - sample.time);
                    continue;
                }
                None => hold,
            };
            if held > Nanos(0) {
                energy += power * held;
                self.push(&mut series, sample.time + held, energy, true)?;
            }
        }
        Ok(series)
    }

    fn linear_between_changes(&self, hold: Nanos, warnings: &mut Vec<Warning>) -> Result<EnergySeries, RuleError> {
        let samples = &self.record.samples;
        let period = usual_period(samples);
        let mut series = EnergySeries::default();
        let mut last: Option<PowerSample> = None;
        let mut power = None;
        for (index, sample) in samples.iter().enumerate() {
            if let Some(last) = last {
                if sample.value == last.value {
                    continue;
                }
                let elapsed = sample.time - last.time;
                if is_stale(elapsed, period) {
                    let message = format!(
                        "the counter did not change for {elapsed} before this reading; its energy is spread evenly over that time"
                    );
                    self.warn(warnings, index, sample.time, message);
                }
                power = Some(Joules(sample.value - last.value) / elapsed);
            }
            self.push(&mut series, sample.time, Joules(sample.value), false)?;
            last = Some(*sample);
        }
        if let (Some(last), Some(power)) = (last, power)
            && hold > Nanos(0)
        {
            self.push(&mut series, last.time + hold, Joules(last.value) + power * hold, true)?;
        }
        Ok(series)
    }
}

/// The median distance between readings.
fn usual_period(samples: &[PowerSample]) -> Nanos {
    let mut periods: Vec<Nanos> = samples.windows(2).map(|pair| pair[1].time - pair[0].time).collect();
    if periods.is_empty() {
        return Nanos(0);
    }
    let middle = periods.len() / 2;
    *periods.select_nth_unstable(middle).1
}

fn is_stale(elapsed: Nanos, period: Nanos) -> bool {
    elapsed > STALE_AT_LEAST && elapsed.0 > period.0.saturating_mul(STALE_PERIODS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jouletree_model::{Device, DeviceClass, Kind};

    fn record(unit: PowerUnit, samples: &[(i64, f64)]) -> PowerRecord {
        let samples = samples.iter().map(|(ms, value)| PowerSample { time: Nanos(ms * 1_000_000), value: *value });
        PowerRecord {
            device: Device::new(DeviceClass::Cpu, 0),
            domain: None,
            kind: Kind::Measured,
            unit,
            samples: samples.collect(),
        }
    }

    fn points(record: &PowerRecord, rule: Rule, hold_ms: i64) -> (Vec<(i64, f64, bool)>, usize) {
        let mut warnings = Vec::new();
        let series = energy_series(record, rule, Nanos(hold_ms * 1_000_000), "power.csv", &mut warnings).unwrap();
        let points = series.points().map(|(time, joules, gap)| (time.0 / 1_000_000, joules.0, gap)).collect();
        (points, warnings.len())
    }

    #[test]
    fn a_reading_holds_until_the_next_and_the_last_only_if_asked() {
        let readings = record(PowerUnit::Watts, &[(0, 10.0), (4, 20.0), (8, 30.0)]);
        let (got, warnings) = points(&readings, Rule::Recency, 0);
        assert_eq!(got, [(0, 0.0, false), (4, 0.04, false), (8, 0.12, false)]);
        assert_eq!(warnings, 0);
        let (held, _) = points(&readings, Rule::Recency, 2);
        assert_eq!(held.last(), Some(&(10, 0.18, true)));
    }

    #[test]
    fn a_counter_is_linear_between_changes_whatever_is_read_in_between() {
        let counter = record(PowerUnit::Joules, &[(0, 5.0), (1, 5.0), (2, 5.0), (3, 8.0), (4, 8.0)]);
        let (got, _) = points(&counter, Rule::Counter, 0);
        assert_eq!(got, [(0, 5.0, false), (3, 8.0, false)]);
    }

    #[test]
    fn recency_on_a_counter_holds_the_power_of_the_interval_before() {
        let counter = record(PowerUnit::Joules, &[(0, 0.0), (4, 0.04), (8, 0.12), (12, 0.12)]);
        let (got, _) = points(&counter, Rule::Recency, 0);
        assert_eq!(got.iter().map(|point| point.0).collect::<Vec<_>>(), [4, 8, 12]);
        assert!((got[1].1 - 0.04).abs() < 1e-12 && (got[2].1 - 0.12).abs() < 1e-12, "{got:?}");
    }

    #[test]
    fn a_stale_reading_is_not_held_over_a_gap() {
        let billion_seconds = 1_000_000_000_000;
        let readings = record(PowerUnit::Watts, &[(0, 10.0), (4, 10.0), (8, 10.0), (billion_seconds, 10.0)]);
        let (got, warnings) = points(&readings, Rule::Recency, 0);
        assert_eq!(warnings, 1);
        let (last_known, energy, gap) = got[3];
        assert_eq!((last_known, gap), (12, true));
        assert!((energy - 0.12).abs() < 1e-12);
    }

    #[test]
    fn watts_are_not_a_counter() {
        let readings = record(PowerUnit::Watts, &[(0, 10.0), (4, 20.0)]);
        let error = energy_series(&readings, Rule::Counter, Nanos(0), "p.csv", &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("--rule recency"), "{error}");
    }
}
