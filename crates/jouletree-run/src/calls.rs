//! `sites.parquet` and `calls.parquet`: where a program calls libraries, and every call with its times and sizes.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, StringArray, UInt32Array, UInt64Array};
use jouletree_model::{Call, CallSite, CallStability, Calls, Nanos, TimeRange};

use crate::RunError;
use crate::table::{Column, Form, Table, TableWriter};

const SITE_COLUMNS: [Column; 5] = [
    Column::new("site", Form::Id),
    Column::new("file", Form::Text),
    Column::new("line", Form::Id),
    Column::new("column", Form::Id),
    Column::new("name", Form::Text),
];

const CALL_COLUMNS: [Column; 11] = [
    Column::new("site", Form::Id),
    Column::new("number", Form::Count),
    Column::new("thread", Form::Count),
    Column::new("parent", Form::Count).or_null(),
    Column::new("start_ns", Form::Time),
    Column::new("end_ns", Form::Time),
    Column::new("argument_bytes", Form::Count).or_null(),
    Column::new("shapes", Form::Text),
    Column::new("result_bytes", Form::Count).or_null(),
    Column::new("waited_ns", Form::Time),
    Column::new("stability", Form::Text).or_null(),
];

/// The value for a stable machine; anything else says why it was not.
const STABLE: &str = "stable";

/// How many rows are turned into columns at a time: text arrays count bytes in 32 bits.
const CHUNK: usize = 1 << 14;

pub(crate) fn write_calls(sites: &Path, path: &Path, calls: &Calls) -> Result<(), RunError> {
    write_sites(sites, calls.sites())?;
    let mut table = TableWriter::create(path, &CALL_COLUMNS)?;
    for calls in calls.calls().chunks(CHUNK) {
        let site = |call: &Call| u32::try_from(call.site).unwrap_or(u32::MAX);
        let stability = |call: &Call| match &call.stability {
            CallStability::NotAsked => None,
            CallStability::Stable => Some(STABLE.to_owned()),
            CallStability::Unstable(why) => Some(why.to_string()),
        };
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt32Array::from_iter_values(calls.iter().map(site))),
            Arc::new(UInt64Array::from_iter_values(calls.iter().map(|call| call.number))),
            Arc::new(UInt64Array::from_iter_values(calls.iter().map(|call| call.thread))),
            Arc::new(calls.iter().map(|call| call.parent.map(|parent| parent as u64)).collect::<UInt64Array>()),
            Arc::new(Int64Array::from_iter_values(calls.iter().map(|call| call.range.start.0))),
            Arc::new(Int64Array::from_iter_values(calls.iter().map(|call| call.range.end.0))),
            Arc::new(calls.iter().map(|call| call.argument_bytes).collect::<UInt64Array>()),
            Arc::new(StringArray::from_iter_values(calls.iter().map(|call| &*call.shapes))),
            Arc::new(calls.iter().map(|call| call.result_bytes).collect::<UInt64Array>()),
            Arc::new(Int64Array::from_iter_values(calls.iter().map(|call| call.waited.0))),
            Arc::new(calls.iter().map(stability).collect::<StringArray>()),
        ];
        table.write(columns)?;
    }
    table.finish()
}

fn write_sites(path: &Path, sites: &[CallSite]) -> Result<(), RunError> {
    let mut table = TableWriter::create(path, &SITE_COLUMNS)?;
    for (chunk, sites) in sites.chunks(CHUNK).enumerate() {
        let number = |place: usize| u32::try_from(chunk * CHUNK + place).unwrap_or(u32::MAX);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt32Array::from_iter_values((0..sites.len()).map(number))),
            Arc::new(StringArray::from_iter_values(sites.iter().map(|site| &*site.file))),
            Arc::new(UInt32Array::from_iter_values(sites.iter().map(|site| site.line))),
            Arc::new(UInt32Array::from_iter_values(sites.iter().map(|site| site.column))),
            Arc::new(StringArray::from_iter_values(sites.iter().map(|site| &*site.name))),
        ];
        table.write(columns)?;
    }
    table.finish()
}

pub(crate) fn read_calls(sites: &Path, path: &Path) -> Result<Calls, RunError> {
    let mut calls = Calls::default();
    Table::open(sites, &SITE_COLUMNS)?.each(|rows| {
        let (numbers, files, names) = (rows.ids("site")?, rows.texts("file")?, rows.texts("name")?);
        let (lines, columns) = (rows.ids("line")?, rows.ids("column")?);
        for row in 0..rows.len() {
            let site = CallSite {
                file: files.value(row).into(),
                line: lines[row],
                column: columns[row],
                name: names.value(row).into(),
            };
            if calls.push_site(site) != numbers[row] as usize {
                return Err(rows.wrong(row, format_args!("site {} is out of order", numbers[row])));
            }
        }
        Ok(())
    })?;
    Table::open(path, &CALL_COLUMNS)?.each(|rows| {
        let (sites, numbers, threads) = (rows.ids("site")?, rows.counts("number")?, rows.counts("thread")?);
        let (parents, shapes) = (rows.optional_counts("parent")?, rows.texts("shapes")?);
        let (starts, ends, waited) = (rows.times("start_ns")?, rows.times("end_ns")?, rows.times("waited_ns")?);
        let (arguments, results) =
            (rows.optional_counts("argument_bytes")?, rows.optional_counts("result_bytes")?);
        let stability = rows.texts("stability")?;
        let count = |counts: &UInt64Array, row: usize| (!counts.is_null(row)).then(|| counts.value(row));
        for row in 0..rows.len() {
            let call = Call {
                site: sites[row] as usize,
                number: numbers[row],
                thread: threads[row],
                parent: count(parents, row).map(|parent| usize::try_from(parent).unwrap_or(usize::MAX)),
                range: TimeRange { start: Nanos(starts[row]), end: Nanos(ends[row]) },
                argument_bytes: count(arguments, row),
                shapes: shapes.value(row).into(),
                result_bytes: count(results, row),
                waited: Nanos(waited[row]),
                stability: match (!stability.is_null(row)).then(|| stability.value(row)) {
                    None => CallStability::NotAsked,
                    Some(STABLE) => CallStability::Stable,
                    Some(why) => CallStability::Unstable(why.into()),
                },
            };
            calls.push(call).map_err(|error| rows.wrong(row, error))?;
        }
        Ok(())
    })?;
    Ok(calls)
}
