//! Rows of what happened: incidents, and the batches that were brought.

use std::sync::Arc;

use arrow_array::types::{Int64Type, UInt16Type, UInt64Type};
use arrow_array::{ArrayRef, StringArray};
use arrow_schema::DataType::{self, Int64, UInt16, UInt64, Utf8};
use jouletree_model::Nanos;
use jouletree_model::sampling::{Incident, Mono, What};

use super::row::{Columns, Row, cell, column, optional};
use super::samples::is_instant;

/// The word of incidents about skipped readings.
const LATE: &str = "late";

/// An incident in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IncidentRow {
    pub(crate) at: Mono,
    pub(crate) sensor: Option<u16>,
    /// What sort of incident it is, in one word.
    pub(crate) kind: String,
    pub(crate) text: String,
}

impl From<&Incident> for IncidentRow {
    fn from(incident: &Incident) -> IncidentRow {
        // Numbers, which are summed up at the end.
        let text = match &incident.what {
            What::Late { missed, worst } => format!("{missed} {}", worst.0),
            what => what.to_string(),
        };
        IncidentRow { at: incident.at, sensor: incident.sensor, kind: incident.what.word().to_owned(), text }
    }
}

impl IncidentRow {
    /// How many readings were skipped and the longest delay, if it is about that.
    pub(crate) fn late(&self) -> Option<(u64, Nanos)> {
        let (missed, worst) = self.text.split_once(' ').filter(|_| self.kind == LATE)?;
        Some((missed.parse().ok()?, Nanos(worst.parse().ok()?)))
    }
}

impl Row for IncidentRow {
    const NAME: &'static str = "incidents";
    const COLUMNS: &'static [(&'static str, DataType, bool)] =
        &[("mono_ns", Int64, false), ("sensor", UInt16, true), ("kind", Utf8, false), ("text", Utf8, false)];

    fn columns(rows: &[IncidentRow]) -> Vec<ArrayRef> {
        vec![
            column::<Int64Type, _>(rows, |row| row.at.0),
            optional::<UInt16Type, _>(rows, |row| row.sensor),
            Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.kind))),
            Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.text))),
        ]
    }

    fn rows(columns: &Columns<'_>) -> Option<Vec<IncidentRow>> {
        let (times, sensors) = (columns.numbers::<Int64Type>(0)?, columns.optional::<UInt16Type>(1)?);
        let (kinds, texts) = (columns.texts(2)?, columns.texts(3)?);
        let row = |row: usize| IncidentRow {
            at: Mono(times[row]),
            sensor: cell(sensors, row),
            kind: kinds.value(row).to_owned(),
            text: texts.value(row).to_owned(),
        };
        Some((0..columns.len()).map(row).filter(|row| is_instant(row.at.0)).collect())
    }
}

/// A batch that came: its number, and what was lost before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BatchRow {
    pub(crate) number: u64,
    pub(crate) lost: u64,
}

impl Row for BatchRow {
    const NAME: &'static str = "batches";
    const COLUMNS: &'static [(&'static str, DataType, bool)] =
        &[("number", UInt64, false), ("lost", UInt64, false)];

    fn columns(rows: &[BatchRow]) -> Vec<ArrayRef> {
        vec![column::<UInt64Type, _>(rows, |row| row.number), column::<UInt64Type, _>(rows, |row| row.lost)]
    }

    fn rows(columns: &Columns<'_>) -> Option<Vec<BatchRow>> {
        let (numbers, lost) = (columns.numbers::<UInt64Type>(0)?, columns.numbers::<UInt64Type>(1)?);
        let rows = numbers.iter().zip(lost).map(|(number, lost)| BatchRow { number: *number, lost: *lost });
        Some(rows.collect())
    }
}
