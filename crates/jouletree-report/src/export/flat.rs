//! The footprint as one flat table, the largest consumer first: CSV for spreadsheets, Parquet for data frames.

use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use jouletree_account::{Labels, label, named};
use jouletree_model::{Footprint, OpEnergy, in_spreadsheet};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use serde::Serialize;

use super::ExportError;

/// How many rows are turned into columns at a time: text arrays count bytes in 32 bits.
const CHUNK: usize = 1 << 12;

/// What one operation used on one device during one stage.
#[derive(Serialize)]
struct Row<'a> {
    device: &'a str,
    path: &'a str,
    /// As in every list of operations: no other of its pass and device has it.
    label: Cow<'a, str>,
    op_type: &'a str,
    name: &'a str,
    pass: &'static str,
    stage: Option<&'a str>,
    /// `None` where nothing metered the device.
    energy_j: Option<f64>,
    busy_ns: i64,
    /// `None` where the operation was never active on the device.
    power_w: Option<f64>,
    count: u64,
    kind: Option<&'static str>,
}

const COLUMNS: [(&str, DataType, bool); 12] = [
    ("device", DataType::Utf8, false),
    ("path", DataType::Utf8, false),
    ("label", DataType::Utf8, false),
    ("op_type", DataType::Utf8, false),
    ("name", DataType::Utf8, false),
    ("pass", DataType::Utf8, false),
    ("stage", DataType::Utf8, true),
    ("energy_j", DataType::Float64, true),
    ("busy_ns", DataType::Int64, false),
    ("power_w", DataType::Float64, true),
    ("count", DataType::UInt64, false),
    ("kind", DataType::Utf8, true),
];

pub(super) fn write_csv(footprint: &Footprint, output: &mut dyn Write) -> Result<(), ExportError> {
    let (devices, labels) = (device_names(footprint), Labels::of(&footprint.ops));
    let mut table = csv::WriterBuilder::new().has_headers(false).from_writer(output);
    // A table without rows has a header, too.
    table.write_record(COLUMNS.map(|(name, _, _)| name))?;
    for charged in ranked(footprint) {
        if let Some(row) = row(footprint, &devices, &labels, charged) {
            let [device, path, op_type, name] = [row.device, row.path, row.op_type, row.name].map(in_spreadsheet);
            let label = in_spreadsheet(&row.label).into_owned().into();
            let stage = row.stage.map(in_spreadsheet);
            let (device, path, op_type, name, stage) = (&*device, &*path, &*op_type, &*name, stage.as_deref());
            table.serialize(Row { device, path, label, op_type, name, stage, ..row })?;
        }
    }
    Ok(table.flush()?)
}

pub(super) fn write_parquet(footprint: &Footprint, output: &mut (dyn Write + Send)) -> Result<(), ExportError> {
    let (devices, labels) = (device_names(footprint), Labels::of(&footprint.ops));
    let fields: Vec<Field> = COLUMNS.map(|(name, form, is_nullable)| Field::new(name, form, is_nullable)).into();
    let schema = Arc::new(Schema::new(fields));
    let compression = Compression::ZSTD(ZstdLevel::try_new(1)?);
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut table = ArrowWriter::try_new(output, schema.clone(), Some(properties))?;
    for chunk in ranked(footprint).chunks(CHUNK) {
        let rows: Vec<Row<'_>> =
            chunk.iter().filter_map(|charged| row(footprint, &devices, &labels, charged)).collect();
        let batch = RecordBatch::try_new(schema.clone(), columns(&rows)).map_err(ParquetError::from)?;
        table.write(&batch)?;
    }
    table.close()?;
    Ok(())
}

fn columns(rows: &[Row<'_>]) -> Vec<ArrayRef> {
    fn text<'a>(values: impl Iterator<Item = &'a str>) -> ArrayRef {
        Arc::new(StringArray::from_iter_values(values))
    }
    vec![
        text(rows.iter().map(|row| row.device)),
        text(rows.iter().map(|row| row.path)),
        text(rows.iter().map(|row| &*row.label)),
        text(rows.iter().map(|row| row.op_type)),
        text(rows.iter().map(|row| row.name)),
        text(rows.iter().map(|row| row.pass)),
        Arc::new(rows.iter().map(|row| row.stage).collect::<StringArray>()),
        Arc::new(rows.iter().map(|row| row.energy_j).collect::<Float64Array>()),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.busy_ns))),
        Arc::new(rows.iter().map(|row| row.power_w).collect::<Float64Array>()),
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.count))),
        Arc::new(rows.iter().map(|row| row.kind).collect::<StringArray>()),
    ]
}

fn device_names(footprint: &Footprint) -> Vec<String> {
    footprint.devices.iter().map(|balance| balance.device.to_string()).collect()
}

/// What was charged, the most first; what is equal stays in the order of the footprint.
fn ranked(footprint: &Footprint) -> Vec<&OpEnergy> {
    let mut ranked: Vec<&OpEnergy> = footprint.energies.iter().collect();
    ranked.sort_by(|a, b| b.energy.0.total_cmp(&a.energy.0));
    ranked
}

fn row<'a>(
    footprint: &'a Footprint,
    devices: &'a [String],
    labels: &Labels,
    charged: &OpEnergy,
) -> Option<Row<'a>> {
    let op = footprint.ops.get(charged.op)?;
    let balance = footprint.devices.get(charged.device)?;
    let is_metered = balance.total.is_some();
    Some(Row {
        device: devices.get(charged.device)?,
        path: &op.path,
        label: label(named(&op.path, &op.name, &op.op_type), labels.mark(charged.op)),
        op_type: &op.op_type,
        name: &op.name,
        pass: op.pass.as_str(),
        stage: footprint.stages.get(charged.stage).map(|stage| &*stage.name),
        energy_j: is_metered.then_some(charged.energy.0),
        busy_ns: charged.busy.0,
        power_w: charged.power().filter(|_| is_metered).map(|power| power.0),
        count: charged.count,
        kind: balance.kind.map(|kind| kind.as_str()),
    })
}
