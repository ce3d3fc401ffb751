//! How busy a machine and a process tree on it were: `resources.parquet` and `gpus.parquet`, read back.

use std::path::Path;

use arrow_array::Array;
use jouletree_model::Nanos;

use crate::RunError;
use crate::table::{Column, Form, Table};

/// A process tree and its machine at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resources {
    /// When.
    pub at: Nanos,
    /// The CPUs that the tree kept busy since the row before.
    pub cpus: f64,
    /// The part of all CPUs that was busy since the row before, from 0 to 1.
    pub machine_busy: Option<f64>,
    /// Bytes of memory of the tree; what its processes share is counted once where that is known.
    pub memory: u64,
    /// All bytes of memory of the machine.
    pub memory_total: Option<u64>,
    /// What of them could be used without swapping.
    pub memory_available: Option<u64>,
}

/// A GPU at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GpuBusy {
    /// When.
    pub at: Nanos,
    /// Its number.
    pub gpu: u32,
    /// The part of the time in which it was busy, from 0 to 1, where its driver reports it.
    pub busy: Option<f64>,
}

impl Resources {
    /// Bytes of memory of the machine that are in use.
    pub fn memory_used(&self) -> Option<u64> {
        Some(self.memory_total?.saturating_sub(self.memory_available?))
    }
}

pub(crate) fn read_resources(path: &Path) -> Result<Vec<Resources>, RunError> {
    let columns = [
        Column::new("t_ns", Form::Time),
        Column::new("cpus", Form::Number),
        Column::new("machine_busy", Form::Number).or_null(),
        Column::new("resident_bytes", Form::Count),
        Column::new("proportional_bytes", Form::Count).or_null(),
        Column::new("memory_total_bytes", Form::Count).or_null(),
        Column::new("memory_available_bytes", Form::Count).or_null(),
    ];
    let mut read = Vec::new();
    Table::open(path, &columns)?.each(|rows| {
        let (times, cpus) = (rows.times("t_ns")?, rows.joules("cpus")?);
        let (busy, resident) = (rows.optional_numbers("machine_busy")?, rows.counts("resident_bytes")?);
        let proportional = rows.optional_counts("proportional_bytes")?;
        let total = rows.optional_counts("memory_total_bytes")?;
        let available = rows.optional_counts("memory_available_bytes")?;
        read.extend((0..rows.len()).map(|row| Resources {
            at: Nanos(times[row]),
            cpus: cpus[row],
            machine_busy: busy.is_valid(row).then(|| busy.value(row)),
            memory: if proportional.is_valid(row) { proportional.value(row) } else { resident[row] },
            memory_total: total.is_valid(row).then(|| total.value(row)),
            memory_available: available.is_valid(row).then(|| available.value(row)),
        }));
        Ok(())
    })?;
    Ok(read)
}

pub(crate) fn read_gpu_busy(path: &Path) -> Result<Vec<GpuBusy>, RunError> {
    let columns = [
        Column::new("t_ns", Form::Time),
        Column::new("gpu", Form::Id),
        Column::new("busy", Form::Number).or_null(),
    ];
    let mut read = Vec::new();
    Table::open(path, &columns)?.each(|rows| {
        let (times, gpus, busy) = (rows.times("t_ns")?, rows.ids("gpu")?, rows.optional_numbers("busy")?);
        read.extend((0..rows.len()).map(|row| GpuBusy {
            at: Nanos(times[row]),
            gpu: gpus[row],
            busy: busy.is_valid(row).then(|| busy.value(row)),
        }));
        Ok(())
    })?;
    Ok(read)
}
