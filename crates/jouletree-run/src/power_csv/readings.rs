//! The readings of one meter: put in order, freed of doubles, and checked as a whole.

use jouletree_model::{Device, Kind, Nanos, PowerRecord, PowerSample, PowerUnit, Warning};

use super::{PowerError, PowerProblem};

/// More than a whole rack: no device draws it.
const IMPLAUSIBLE_WATTS: f64 = 100_000.0;

/// One row of the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    pub(super) time: Nanos,
    pub(super) value: f64,
    pub(super) line: u64,
}

/// All rows of one device and domain.
pub(super) struct Readings {
    device: Device,
    domain: Option<String>,
    pub(super) kind: Kind,
    rows: Vec<Reading>,
    disorder: Tally,
    implausible: Tally,
}

/// How often something happened, and where first.
#[derive(Default, Clone, Copy)]
struct Tally {
    first: u64,
    count: u64,
}

impl Tally {
    fn note(&mut self, line: u64) {
        self.first = if self.count == 0 { line } else { self.first.min(line) };
        self.count += 1;
    }

    fn warning(self, source: &str, message: impl Fn(u64) -> String) -> Option<Warning> {
        (self.count > 0).then(|| Warning::new(source, message(self.count)).at(format!("line {}", self.first)))
    }
}

impl Readings {
    pub(super) fn new(device: Device, domain: Option<String>, kind: Kind) -> Readings {
        let rows = Vec::new();
        Readings { device, domain, kind, rows, disorder: Tally::default(), implausible: Tally::default() }
    }

    /// What messages call the meter.
    pub(super) fn name(&self) -> String {
        match &self.domain {
            Some(domain) => format!("{} ({domain})", self.device),
            None => self.device.to_string(),
        }
    }

    pub(super) fn push(&mut self, reading: Reading, unit: PowerUnit) {
        if self.rows.last().is_some_and(|last| reading.time < last.time) {
            self.disorder.note(reading.line);
        }
        if unit == PowerUnit::Watts && reading.value > IMPLAUSIBLE_WATTS {
            self.implausible.note(reading.line);
        }
        self.rows.push(reading);
    }

    /// The record and what was wrong with it. A counter that falls on the line `unfinished`, which has no end, is
    /// not a reset but a number cut short: the line is left out and named in `cut`.
    pub(super) fn into_record(
        mut self,
        source: &str,
        unit: PowerUnit,
        unfinished: Option<u64>,
        cut: &mut Option<u64>,
    ) -> Result<(PowerRecord, Vec<Warning>), PowerError> {
        let name = self.name();
        if self.disorder.count > 0 {
            self.rows.sort_by_key(|reading| (reading.time, reading.line));
        }
        let (mut repeated, mut replaced) = (Tally::default(), Tally::default());
        self.rows.dedup_by(|next, kept| {
            if next.time != kept.time {
                return false;
            }
            if next.value == kept.value {
                repeated.note(next.line)
            } else {
                replaced.note(next.line)
            }
            *kept = *next;
            true
        });
        if unit == PowerUnit::Joules {
            if let Some(index) = falling(&self.rows).filter(|index| Some(self.rows[*index].line) == unfinished) {
                *cut = Some(self.rows.remove(index).line);
            }
            if let Some(index) = falling(&self.rows) {
                let [from, to] = [index - 1, index].map(|index| self.rows[index].value.to_string());
                let problem = PowerProblem::CounterFalls { meter: name, from, to };
                return Err(PowerError::at(source, self.rows[index].line, problem));
            }
        }
        let warnings = [
            self.disorder
                .warning(source, |n| format!("{name}: readings out of time order: {n}; they were sorted")),
            repeated.warning(source, |n| format!("{name}: duplicate readings: {n}; one of each was kept")),
            replaced.warning(source, |n| {
                format!(
                    "{name}: readings that contradict another of the same instant: {n}; the later line was kept"
                )
            }),
            self.implausible
                .warning(source, |n| format!("{name}: readings above 100 kW: {n}; are these milliwatts?")),
        ];
        let samples: Vec<PowerSample> =
            self.rows.iter().map(|reading| PowerSample { time: reading.time, value: reading.value }).collect();
        let record = PowerRecord { device: self.device, domain: self.domain, kind: self.kind, unit, samples };
        Ok((record, warnings.into_iter().flatten().collect()))
    }
}

/// The first reading below the one before it.
fn falling(rows: &[Reading]) -> Option<usize> {
    rows.windows(2).position(|pair| pair[1].value < pair[0].value).map(|index| index + 1)
}
