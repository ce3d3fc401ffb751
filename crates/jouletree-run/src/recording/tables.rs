//! `share.parquet`, `resources.parquet` and `gpus.parquet`: what a recording knows beside energy, by the time of day. A
//! table without rows is not written.

use std::path::Path;

use arrow_array::ArrayRef;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use jouletree_model::sampling::{Anchors, GpuSample, Mono, ResourceSample, ShareSample};
use jouletree_model::{Device, DeviceClass, Warning};

use crate::RunError;
use crate::folder::{GPUS, RESOURCES};
use crate::journal::{Row, StreamIn, column, gpu_columns, optional};
use crate::table::{Column, Form, TableWriter, names};

/// A kind of row that has a table in the run.
pub(super) trait Tabled: Row {
    const TABLE: &'static str;
    const FORMS: &'static [Column];

    fn cells(rows: &[Self], times: &Times<'_>) -> Result<Vec<ArrayRef>, RunError>;
}

/// The time of day of instants.
pub(super) struct Times<'a>(&'a Anchors);

impl Times<'_> {
    fn of<R>(&self, rows: &[R], at: impl Fn(&R) -> Mono) -> ArrayRef {
        column::<Int64Type, _>(rows, |row| self.0.wall(at(row)).unwrap_or_default().0)
    }
}

/// Writes the table of one kind of row into a folder; says what was lost of it.
pub(super) fn write_table<R: Tabled>(
    run: &Path,
    folder: &Path,
    anchors: &Anchors,
) -> Result<(bool, Option<Warning>), RunError> {
    let mut stream = StreamIn::<R>::open(run);
    let mut table: Option<TableWriter> = None;
    while let Some(rows) = stream.next() {
        if rows.is_empty() {
            continue;
        }
        let table = match &mut table {
            Some(table) => table,
            none => none.insert(TableWriter::create(&folder.join(R::TABLE), R::FORMS)?),
        };
        table.write(R::cells(&rows, &Times(anchors))?)?;
    }
    let is_written = table.is_some();
    if let Some(table) = table {
        table.finish()?;
    }
    Ok((is_written, stream.warning(run)))
}

impl Tabled for ShareSample {
    const TABLE: &'static str = "share.parquet";
    const FORMS: &'static [Column] = &[
        Column::new("device", Form::Name),
        Column::new("from_ns", Form::Time),
        Column::new("t_ns", Form::Time),
        Column::new("ours", Form::Number),
        Column::new("others", Form::Number),
        Column::new("idle", Form::Number),
        Column::new("own", Form::Number),
    ];

    fn cells(rows: &[ShareSample], times: &Times<'_>) -> Result<Vec<ArrayRef>, RunError> {
        let mut sockets: Vec<u32> = rows.iter().map(|row| row.socket).collect();
        sockets.sort_unstable();
        sockets.dedup();
        let key = |row: &ShareSample| sockets.partition_point(|socket| *socket < row.socket);
        let keys = rows.iter().map(|row| i32::try_from(key(row)).unwrap_or(i32::MAX)).collect();
        let devices = sockets.iter().map(|socket| Device::new(DeviceClass::Cpu, *socket).to_string());
        Ok(vec![
            names(keys, devices)?,
            times.of(rows, |row| row.from),
            times.of(rows, |row| row.at),
            column::<Float64Type, _>(rows, |row| row.ours),
            column::<Float64Type, _>(rows, |row| row.others),
            column::<Float64Type, _>(rows, |row| row.idle),
            column::<Float64Type, _>(rows, |row| row.own),
        ])
    }
}

impl Tabled for ResourceSample {
    const TABLE: &'static str = RESOURCES;
    const FORMS: &'static [Column] = &[
        Column::new("t_ns", Form::Time),
        Column::new("cpus", Form::Number),
        Column::new("machine_busy", Form::Number).or_null(),
        Column::new("resident_bytes", Form::Count),
        Column::new("proportional_bytes", Form::Count).or_null(),
        Column::new("memory_total_bytes", Form::Count).or_null(),
        Column::new("memory_available_bytes", Form::Count).or_null(),
        Column::new("processes", Form::Count),
        Column::new("threads", Form::Count),
    ];

    fn cells(rows: &[ResourceSample], times: &Times<'_>) -> Result<Vec<ArrayRef>, RunError> {
        Ok(vec![
            times.of(rows, |row| row.at),
            column::<Float64Type, _>(rows, |row| row.cpus),
            optional::<Float64Type, _>(rows, |row| row.machine_busy),
            column::<UInt64Type, _>(rows, |row| row.resident),
            optional::<UInt64Type, _>(rows, |row| row.proportional),
            optional::<UInt64Type, _>(rows, |row| row.memory_total),
            optional::<UInt64Type, _>(rows, |row| row.memory_available),
            column::<UInt64Type, _>(rows, |row| row.processes as u64),
            column::<UInt64Type, _>(rows, |row| row.threads as u64),
        ])
    }
}

impl Tabled for GpuSample {
    const TABLE: &'static str = GPUS;
    const FORMS: &'static [Column] = &[
        Column::new("t_ns", Form::Time),
        Column::new("gpu", Form::Id),
        Column::new("busy", Form::Number).or_null(),
        Column::new("memory_busy", Form::Number).or_null(),
        Column::new("memory_used_bytes", Form::Count).or_null(),
        Column::new("memory_total_bytes", Form::Count).or_null(),
        Column::new("sm_clock_mhz", Form::Id).or_null(),
        Column::new("memory_clock_mhz", Form::Id).or_null(),
        Column::new("temperature_c", Form::Id).or_null(),
        Column::new("share", Form::Number).or_null(),
        Column::new("share_basis", Form::Text).or_null(),
    ];

    fn cells(rows: &[GpuSample], times: &Times<'_>) -> Result<Vec<ArrayRef>, RunError> {
        let mut cells = vec![times.of(rows, |row| row.at)];
        cells.extend(gpu_columns(rows));
        Ok(cells)
    }
}
