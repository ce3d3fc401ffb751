//! `intervals.parquet`: within which a prediction expects the energies of layers and operations to be.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, StringArray, UInt64Array};
use jouletree_model::{Interval, Joules, PREDICTION_LEVEL, PredictedInterval};

use crate::RunError;
use crate::ops::{pass_key, pass_names};
use crate::table::{Column, Form, Table, TableWriter};

const COLUMNS: [Column; 6] = [
    Column::new("path", Form::Text),
    Column::new("pass", Form::Name),
    Column::new("energy_j", Form::Joules),
    Column::new("level_percent", Form::Count),
    Column::new("low_j", Form::Joules),
    Column::new("high_j", Form::Joules),
];

/// How many rows are turned into columns at a time: text arrays count bytes in 32 bits.
const CHUNK: usize = 1 << 14;

pub(crate) fn write_intervals(path: &Path, intervals: &[PredictedInterval]) -> Result<(), RunError> {
    let mut table = TableWriter::create(path, &COLUMNS)?;
    for rows in intervals.chunks(CHUNK) {
        let joules = |of: fn(&PredictedInterval) -> Joules| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| of(row).0)))
        };
        table.write(vec![
            Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &*row.path))),
            pass_names(rows.iter().map(|row| pass_key(row.pass)).collect())?,
            joules(|row| row.energy),
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(|_| u64::from(PREDICTION_LEVEL)))),
            joules(|row| row.interval.low),
            joules(|row| row.interval.high),
        ])?;
    }
    table.finish()
}

pub(crate) fn read_intervals(path: &Path) -> Result<Vec<PredictedInterval>, RunError> {
    let mut intervals = Vec::new();
    Table::open(path, &COLUMNS)?.each(|rows| {
        let (paths, passes, levels) = (rows.texts("path")?, rows.texts("pass")?, rows.counts("level_percent")?);
        let (energies, lows, highs) = (rows.joules("energy_j")?, rows.joules("low_j")?, rows.joules("high_j")?);
        for row in 0..rows.len() {
            if levels[row] != u64::from(PREDICTION_LEVEL) {
                let problem = format_args!("level {} % is not known; upgrade jouletree", levels[row]);
                return Err(rows.wrong(row, problem));
            }
            intervals.push(PredictedInterval {
                path: paths.value(row).into(),
                pass: passes.value(row).parse().map_err(|error| rows.wrong(row, error))?,
                energy: Joules(energies[row]),
                interval: Interval { low: Joules(lows[row]), high: Joules(highs[row]) },
            });
        }
        Ok(())
    })?;
    Ok(intervals)
}
