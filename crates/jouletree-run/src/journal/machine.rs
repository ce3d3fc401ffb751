//! Rows of what a process tree and its machine use: resources and GPUs.

use std::sync::Arc;

use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::DataType::{self, Float64, Int64, UInt32, UInt64, Utf8};
use jouletree_model::sampling::{GpuSample, GpuShare, GpuUse, Mono, ResourceSample, ShareBasis};

use super::row::{Columns, Row, cell, column, is_part, optional};
use super::samples::is_instant;

impl Row for ResourceSample {
    const NAME: &'static str = "resources";
    const COLUMNS: &'static [(&'static str, DataType, bool)] = &[
        ("mono_ns", Int64, false),
        ("cpus", Float64, false),
        ("machine_busy", Float64, true),
        ("resident_bytes", UInt64, false),
        ("proportional_bytes", UInt64, true),
        ("memory_total_bytes", UInt64, true),
        ("memory_available_bytes", UInt64, true),
        ("processes", UInt64, false),
        ("threads", UInt64, false),
    ];

    fn columns(rows: &[ResourceSample]) -> Vec<ArrayRef> {
        vec![
            column::<Int64Type, _>(rows, |row| row.at.0),
            column::<Float64Type, _>(rows, |row| row.cpus),
            optional::<Float64Type, _>(rows, |row| row.machine_busy),
            column::<UInt64Type, _>(rows, |row| row.resident),
            optional::<UInt64Type, _>(rows, |row| row.proportional),
            optional::<UInt64Type, _>(rows, |row| row.memory_total),
            optional::<UInt64Type, _>(rows, |row| row.memory_available),
            column::<UInt64Type, _>(rows, |row| row.processes as u64),
            column::<UInt64Type, _>(rows, |row| row.threads as u64),
        ]
    }

    fn rows(columns: &Columns<'_>) -> Option<Vec<ResourceSample>> {
        let (times, cpus) = (columns.numbers::<Int64Type>(0)?, columns.numbers::<Float64Type>(1)?);
        let busy = columns.optional::<Float64Type>(2)?;
        let resident = columns.numbers::<UInt64Type>(3)?;
        let bytes = |column| columns.optional::<UInt64Type>(column);
        let (proportional, total, available) = (bytes(4)?, bytes(5)?, bytes(6)?);
        let (processes, threads) = (columns.numbers::<UInt64Type>(7)?, columns.numbers::<UInt64Type>(8)?);
        let row = |row: usize| ResourceSample {
            at: Mono(times[row]),
            cpus: cpus[row],
            machine_busy: cell(busy, row),
            resident: resident[row],
            proportional: cell(proportional, row),
            memory_total: cell(total, row),
            memory_available: cell(available, row),
            processes: usize::try_from(processes[row]).unwrap_or(usize::MAX),
            threads: usize::try_from(threads[row]).unwrap_or(usize::MAX),
        };
        let can_be = |row: &ResourceSample| is_instant(row.at.0) && row.cpus.is_finite();
        Some((0..columns.len()).map(row).filter(can_be).collect())
    }
}

impl Row for GpuSample {
    const NAME: &'static str = "gpus";
    const COLUMNS: &'static [(&'static str, DataType, bool)] = &[
        ("mono_ns", Int64, false),
        ("gpu", UInt32, false),
        ("busy", Float64, true),
        ("memory_busy", Float64, true),
        ("memory_used_bytes", UInt64, true),
        ("memory_total_bytes", UInt64, true),
        ("sm_clock_mhz", UInt32, true),
        ("memory_clock_mhz", UInt32, true),
        ("temperature_c", UInt32, true),
        ("share", Float64, true),
        ("share_basis", Utf8, true),
    ];

    fn columns(rows: &[GpuSample]) -> Vec<ArrayRef> {
        let mut columns = vec![column::<Int64Type, _>(rows, |row| row.at.0)];
        columns.extend(gpu_columns(rows));
        columns
    }

    fn rows(columns: &Columns<'_>) -> Option<Vec<GpuSample>> {
        let (times, gpus) = (columns.numbers::<Int64Type>(0)?, columns.numbers::<UInt32Type>(1)?);
        let part = |column| columns.optional::<Float64Type>(column);
        let bytes = |column| columns.optional::<UInt64Type>(column);
        let number = |column| columns.optional::<UInt32Type>(column);
        let (busy, memory_busy, used, total) = (part(2)?, part(3)?, bytes(4)?, bytes(5)?);
        let (sm_clock, memory_clock, temperature) = (number(6)?, number(7)?, number(8)?);
        let (shares, bases) = (part(9)?, columns.texts(10)?);
        let row = |row: usize| {
            let basis = bases.is_valid(row).then(|| basis(bases.value(row))).flatten();
            let share = cell(shares, row).filter(|share| is_part(*share));
            GpuSample {
                at: Mono(times[row]),
                gpu: gpus[row],
                used: GpuUse {
                    busy: cell(busy, row),
                    memory_busy: cell(memory_busy, row),
                    memory_used: cell(used, row),
                    memory_total: cell(total, row),
                    sm_clock: cell(sm_clock, row),
                    memory_clock: cell(memory_clock, row),
                    temperature: cell(temperature, row),
                },
                share: share.zip(basis).map(|(share, basis)| GpuShare { share, basis }),
            }
        };
        Some((0..columns.len()).map(row).filter(|row| is_instant(row.at.0)).collect())
    }
}

/// Everything about GPUs but the time, column by column: the journal and the table have them in common.
pub(crate) fn gpu_columns(rows: &[GpuSample]) -> [ArrayRef; 10] {
    let basis = |row: &GpuSample| row.share.map(|share| name(share.basis));
    [
        column::<UInt32Type, _>(rows, |row| row.gpu),
        optional::<Float64Type, _>(rows, |row| row.used.busy),
        optional::<Float64Type, _>(rows, |row| row.used.memory_busy),
        optional::<UInt64Type, _>(rows, |row| row.used.memory_used),
        optional::<UInt64Type, _>(rows, |row| row.used.memory_total),
        optional::<UInt32Type, _>(rows, |row| row.used.sm_clock),
        optional::<UInt32Type, _>(rows, |row| row.used.memory_clock),
        optional::<UInt32Type, _>(rows, |row| row.used.temperature),
        optional::<Float64Type, _>(rows, |row| row.share.map(|share| share.share)),
        Arc::new(rows.iter().map(basis).collect::<StringArray>()),
    ]
}

fn name(basis: ShareBasis) -> &'static str {
    match basis {
        ShareBasis::Alone => "alone",
        ShareBasis::Utilisation => "utilisation",
    }
}

fn basis(name: &str) -> Option<ShareBasis> {
    match name {
        "alone" => Some(ShareBasis::Alone),
        "utilisation" => Some(ShareBasis::Utilisation),
        _ => None,
    }
}
