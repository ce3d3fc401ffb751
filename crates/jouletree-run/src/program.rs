//! `spans.parquet`: the steps, windows, stages, compilation and overhead of a program.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, StringArray, UInt32Array, UInt64Array};
use jouletree_model::{Nanos, Program, ProgramSpan, SpanKind, Step, TimeRange};

use crate::RunError;
use crate::table::{Column, Form, Table, TableWriter, names};

const COLUMNS: [Column; 9] = [
    Column::new("kind", Form::Name),
    Column::new("name", Form::Text),
    Column::new("process", Form::Id),
    Column::new("start_ns", Form::Time),
    Column::new("end_ns", Form::Time),
    Column::new("step", Form::Id).or_null(),
    Column::new("recorded", Form::Truth),
    Column::new("samples", Form::Count).or_null(),
    FUNCTION,
];

/// Absent in the runs of earlier versions, whose steps had no function.
const FUNCTION: Column = Column::new("function", Form::Text);

/// How many rows are turned into columns at a time: text arrays count bytes in 32 bits.
const CHUNK: usize = 1 << 14;

pub(crate) fn write_spans(path: &Path, program: &Program) -> Result<(), RunError> {
    let mut table = TableWriter::create(path, &COLUMNS)?;
    for spans in program.spans.chunks(CHUNK) {
        let kind =
            |span: &ProgramSpan| SpanKind::ALL.iter().position(|kind| *kind == span.kind).unwrap_or(0) as i32;
        let process = |span: &ProgramSpan| u32::try_from(span.process).unwrap_or(u32::MAX);
        let columns: Vec<ArrayRef> = vec![
            names(spans.iter().map(kind).collect(), SpanKind::ALL.map(SpanKind::as_str))?,
            Arc::new(StringArray::from_iter_values(spans.iter().map(|span| &*span.name))),
            Arc::new(UInt32Array::from_iter_values(spans.iter().map(process))),
            Arc::new(Int64Array::from_iter_values(spans.iter().map(|span| span.range.start.0))),
            Arc::new(Int64Array::from_iter_values(spans.iter().map(|span| span.range.end.0))),
            Arc::new(spans.iter().map(|span| span.step.number()).collect::<UInt32Array>()),
            Arc::new(BooleanArray::from_iter(spans.iter().map(|span| Some(span.is_recorded)))),
            Arc::new(spans.iter().map(|span| span.samples).collect::<UInt64Array>()),
            Arc::new(StringArray::from_iter_values(spans.iter().map(|span| &*span.function))),
        ];
        table.write(columns)?;
    }
    table.finish()
}

pub(crate) fn read_spans(path: &Path) -> Result<Vec<ProgramSpan>, RunError> {
    let mut spans = Vec::new();
    let (required, _) = COLUMNS.split_at(COLUMNS.len() - 1);
    let table = Table::open(path, required)?.with_optional(FUNCTION)?;
    let has_functions = table.has(FUNCTION);
    table.each(|rows| {
        let functions = if has_functions { Some(rows.texts(FUNCTION.name)?) } else { None };
        let (kinds, names) = (rows.texts("kind")?, rows.texts("name")?);
        let (starts, ends) = (rows.times("start_ns")?, rows.times("end_ns")?);
        let (processes, steps) = (rows.ids("process")?, rows.optional_ids("step")?);
        let (recorded, samples) = (rows.truths("recorded")?, rows.optional_counts("samples")?);
        for row in 0..rows.len() {
            spans.push(ProgramSpan {
                kind: kinds.value(row).parse().map_err(|error| rows.wrong(row, error))?,
                name: names.value(row).into(),
                process: processes[row] as usize,
                range: TimeRange { start: Nanos(starts[row]), end: Nanos(ends[row]) },
                step: if steps.is_null(row) { Step::NONE } else { Step(steps.value(row)) },
                is_recorded: recorded.value(row),
                samples: (!samples.is_null(row)).then(|| samples.value(row)),
                function: functions.map_or("", |functions| functions.value(row)).into(),
            });
        }
        Ok(())
    })?;
    Ok(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of an earlier version, which had no column for functions.
    #[test]
    fn spans_without_functions_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spans.parquet");
        let mut table = TableWriter::create(&path, &COLUMNS[..8]).unwrap();
        let columns: Vec<ArrayRef> = vec![
            names(vec![0], ["step"]).unwrap(),
            Arc::new(StringArray::from(vec!["train"])),
            Arc::new(UInt32Array::from(vec![3])),
            Arc::new(Int64Array::from(vec![10])),
            Arc::new(Int64Array::from(vec![20])),
            Arc::new(UInt32Array::from(vec![7])),
            Arc::new(BooleanArray::from(vec![true])),
            Arc::new(UInt64Array::from(vec![Some(8)])),
        ];
        table.write(columns).unwrap();
        table.finish().unwrap();
        let spans = read_spans(&path).unwrap();
        assert_eq!((spans.len(), &*spans[0].name, &*spans[0].function), (1, "train", ""));
        assert_eq!((spans[0].process, spans[0].step, spans[0].samples), (3, Step(7), Some(8)));
    }
}
