//! `footprint.parquet`, `steps.parquet` and `charges.parquet`: what each operation and each step used, and what each
//! operation used in each part of the program's time, as one table each that answers questions without a join.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, StringArray, UInt32Array, UInt64Array};
use jouletree_model::{
    Device, DeviceEnergy, Footprint, Joules, Nanos, Op, OpEnergy, OpId, Part, PartCharge, PartEnergy, StageEnergy,
    Step, StepEnergy,
};

use crate::RunError;
use crate::ops::{pass_key, pass_names};
use crate::table::{Column, Form, Rows, Table, TableWriter, names};

const DEVICE: Column = Column::new("device", Form::Name);
const OP: Column = Column::new("op_id", Form::Id);
const PATH: Column = Column::new("path", Form::Text);
const TYPE: Column = Column::new("type", Form::Text);
const NAME: Column = Column::new("name", Form::Text);
const PASS: Column = Column::new("pass", Form::Name);
const STAGE: Column = Column::new("stage", Form::Name);
const PART: Column = Column::new("part", Form::Name);
const PHASE: Column = Column::new("phase", Form::Name);
const FUNCTION: Column = Column::new("function", Form::Name);
const STEP: Column = Column::new("step", Form::Id).or_null();
const ENERGY: Column = Column::new("energy_j", Form::Joules);
const ERROR: Column = Column::new("standard_error_j", Form::Joules).or_null();
const BUSY: Column = Column::new("busy_ns", Form::Time);
const COUNT: Column = Column::new("count", Form::Count);

/// How many rows are turned into columns at a time: text arrays count bytes in 32 bits.
const CHUNK: usize = 1 << 12;

pub(crate) fn write_energies(path: &Path, footprint: &Footprint) -> Result<(), RunError> {
    let has_errors = footprint.energies.iter().any(|entry| entry.standard_error.is_some());
    let mut table = TableWriter::create(path, &energy_columns(footprint, has_errors))?;
    for entries in footprint.energies.chunks(CHUNK) {
        table.write(energy_arrays(footprint, entries, has_errors)?)?;
    }
    table.finish()
}

pub(crate) fn write_charges(path: &Path, footprint: &Footprint) -> Result<(), RunError> {
    let has_errors = footprint.charges.iter().any(|charge| charge.charged.standard_error.is_some());
    let columns = [vec![PART, PHASE, FUNCTION], energy_columns(footprint, has_errors)].concat();
    let mut table = TableWriter::create(path, &columns)?;
    for charges in footprint.charges.chunks(CHUNK) {
        let entries: Vec<OpEnergy> = charges.iter().map(|charge| charge.charged).collect();
        let names_of = |name: fn(&Part) -> &str| {
            let keys = charges.iter().map(|charge| i32::try_from(charge.part).unwrap_or(i32::MAX)).collect();
            names(keys, footprint.parts.iter().map(|part| name(&part.part)))
        };
        let mut columns = vec![
            names_of(|part| part.kind.as_str())?,
            names_of(|part| &part.phase)?,
            names_of(|part| &part.function)?,
        ];
        columns.extend(energy_arrays(footprint, &entries, has_errors)?);
        table.write(columns)?;
    }
    table.finish()
}

fn energy_columns(footprint: &Footprint, has_errors: bool) -> Vec<Column> {
    // A run without stages has no such column, nor one whose policy knows no standard errors.
    let stage = (!footprint.stages.is_empty()).then_some(STAGE);
    let error = has_errors.then_some(ERROR);
    [DEVICE, OP, PATH, TYPE, NAME, PASS, ENERGY, BUSY, COUNT].into_iter().chain(stage).chain(error).collect()
}

fn energy_arrays(
    footprint: &Footprint,
    entries: &[OpEnergy],
    has_errors: bool,
) -> Result<Vec<ArrayRef>, RunError> {
    let ops: Vec<&Op> = entries
        .iter()
        .map(|entry| {
            let unknown = || RunError::Inconsistent(format!("operation {} is not in the table", entry.op.0));
            footprint.ops.get(entry.op).ok_or_else(unknown)
        })
        .collect::<Result<_, _>>()?;
    let mut columns: Vec<ArrayRef> = vec![
        device_names(footprint, entries.iter().map(|entry| entry.device))?,
        Arc::new(UInt32Array::from_iter_values(entries.iter().map(|entry| entry.op.0))),
        Arc::new(StringArray::from_iter_values(ops.iter().map(|op| &op.path))),
        Arc::new(StringArray::from_iter_values(ops.iter().map(|op| &op.op_type))),
        Arc::new(StringArray::from_iter_values(ops.iter().map(|op| &op.name))),
        pass_names(ops.iter().map(|op| pass_key(op.pass)).collect())?,
        Arc::new(Float64Array::from_iter_values(entries.iter().map(|entry| entry.energy.0))),
        Arc::new(Int64Array::from_iter_values(entries.iter().map(|entry| entry.busy.0))),
        Arc::new(UInt64Array::from_iter_values(entries.iter().map(|entry| entry.count))),
    ];
    if !footprint.stages.is_empty() {
        let keys = entries.iter().map(|entry| i32::try_from(entry.stage).unwrap_or(i32::MAX)).collect();
        columns.push(names(keys, footprint.stages.iter().map(|stage| &*stage.name))?);
    }
    if has_errors {
        let errors = entries.iter().map(|entry| entry.standard_error.map(|error| error.0));
        columns.push(Arc::new(errors.collect::<Float64Array>()));
    }
    Ok(columns)
}

pub(crate) fn write_steps(path: &Path, footprint: &Footprint) -> Result<(), RunError> {
    let mut table = TableWriter::create(path, &[DEVICE, STEP, ENERGY, BUSY])?;
    for entries in footprint.steps.chunks(CHUNK) {
        let columns: Vec<ArrayRef> = vec![
            device_names(footprint, entries.iter().map(|entry| entry.device))?,
            Arc::new(entries.iter().map(|entry| entry.step.number()).collect::<UInt32Array>()),
            Arc::new(Float64Array::from_iter_values(entries.iter().map(|entry| entry.energy.0))),
            Arc::new(Int64Array::from_iter_values(entries.iter().map(|entry| entry.busy.0))),
        ];
        table.write(columns)?;
    }
    table.finish()
}

/// What the first `ops` operations used on `devices` during `stages`.
pub(crate) fn read_energies(
    path: &Path,
    devices: &[DeviceEnergy],
    stages: &[StageEnergy],
    ops: usize,
) -> Result<Vec<OpEnergy>, RunError> {
    let mut energies = Vec::new();
    let numbers = device_numbers(devices);
    let table = Table::open(path, &read_columns(stages))?.with_optional(ERROR)?;
    let has_errors = table.has(ERROR);
    table.each(|rows| {
        energies.append(&mut energies_of(rows, &numbers, stages, ops, has_errors)?);
        Ok(())
    })?;
    Ok(energies)
}

/// What the first `ops` operations used in `parts`.
pub(crate) fn read_charges(
    path: &Path,
    devices: &[DeviceEnergy],
    stages: &[StageEnergy],
    parts: &[PartEnergy],
    ops: usize,
) -> Result<Vec<PartCharge>, RunError> {
    let mut charges = Vec::new();
    let numbers = device_numbers(devices);
    let key = |part: &PartEnergy| (part.part.kind.as_str(), part.part.phase.clone(), part.part.function.clone());
    let known: HashMap<_, usize> = parts.iter().enumerate().map(|(number, part)| (key(part), number)).collect();
    let columns = [vec![PART, PHASE, FUNCTION], read_columns(stages)].concat();
    let table = Table::open(path, &columns)?.with_optional(ERROR)?;
    let has_errors = table.has(ERROR);
    table.each(|rows| {
        let (kinds, phases) = (rows.texts(PART.name)?, rows.texts(PHASE.name)?);
        let functions = rows.texts(FUNCTION.name)?;
        for (row, charged) in energies_of(rows, &numbers, stages, ops, has_errors)?.into_iter().enumerate() {
            let key = (kinds.value(row), phases.value(row).into(), functions.value(row).into());
            let unknown =
                || rows.wrong(row, format_args!("part `{}` of `{}` is not in the manifest", key.0, key.1));
            charges.push(PartCharge { part: *known.get(&key).ok_or_else(unknown)?, charged });
        }
        Ok(())
    })?;
    Ok(charges)
}

fn read_columns(stages: &[StageEnergy]) -> Vec<Column> {
    let stage = (!stages.is_empty()).then_some(STAGE);
    [DEVICE, OP, ENERGY, BUSY, COUNT].into_iter().chain(stage).collect()
}

fn energies_of(
    rows: &Rows<'_>,
    numbers: &HashMap<Device, usize>,
    stages: &[StageEnergy],
    ops: usize,
    has_errors: bool,
) -> Result<Vec<OpEnergy>, RunError> {
    let errors = has_errors.then(|| rows.optional_numbers(ERROR.name)).transpose()?;
    let (op_ids, counts) = (rows.ids(OP.name)?, rows.counts(COUNT.name)?);
    let (joules, busy) = (rows.joules(ENERGY.name)?, rows.times(BUSY.name)?);
    let energy = |row: usize| {
        let op = OpId(op_ids[row]);
        if op.index() >= ops {
            return Err(rows.wrong(row, format_args!("op_id is {}, there are only {ops} operations", op.0)));
        }
        let device = device_number(rows, row, numbers)?;
        let (energy, busy) = (Joules(joules[row]), Nanos(busy[row]));
        let stage = if stages.is_empty() { 0 } else { stage_number(rows, row, stages)? };
        let standard_error = errors.filter(|errors| errors.is_valid(row)).map(|errors| Joules(errors.value(row)));
        Ok(OpEnergy { device, op, stage, energy, busy, count: counts[row], standard_error })
    };
    (0..rows.len()).map(energy).collect()
}

/// What the steps used on `devices`.
pub(crate) fn read_steps(path: &Path, devices: &[DeviceEnergy]) -> Result<Vec<StepEnergy>, RunError> {
    let numbers = device_numbers(devices);
    let mut energies = Vec::new();
    Table::open(path, &[DEVICE, STEP, ENERGY, BUSY])?.each(|rows| {
        let (steps, joules, busy) =
            (rows.optional_ids(STEP.name)?, rows.joules(ENERGY.name)?, rows.times(BUSY.name)?);
        for row in 0..rows.len() {
            let step = if steps.is_null(row) { Step::NONE } else { Step(steps.value(row)) };
            let device = device_number(rows, row, &numbers)?;
            energies.push(StepEnergy { device, step, energy: Joules(joules[row]), busy: Nanos(busy[row]) });
        }
        Ok(())
    })?;
    Ok(energies)
}

fn stage_number(rows: &Rows<'_>, row: usize, stages: &[StageEnergy]) -> Result<usize, RunError> {
    let name = rows.texts(STAGE.name)?.value(row);
    let number = stages.iter().position(|stage| &*stage.name == name);
    number.ok_or_else(|| rows.wrong(row, format_args!("stage `{name}` is not in the manifest")))
}

fn device_names(footprint: &Footprint, devices: impl Iterator<Item = usize>) -> Result<ArrayRef, RunError> {
    let keys = devices.map(|device| i32::try_from(device).unwrap_or(i32::MAX)).collect();
    names(keys, footprint.devices.iter().map(|device| device.device.to_string()))
}

fn device_numbers(devices: &[DeviceEnergy]) -> HashMap<Device, usize> {
    devices.iter().enumerate().map(|(number, device)| (device.device.clone(), number)).collect()
}

fn device_number(rows: &Rows<'_>, row: usize, numbers: &HashMap<Device, usize>) -> Result<usize, RunError> {
    let name = rows.texts(DEVICE.name)?.value(row);
    let device: Device = name.parse().map_err(|error| rows.wrong(row, error))?;
    numbers.get(&device).copied().ok_or_else(|| rows.wrong(row, format_args!("{device} is not in the manifest")))
}
