//! CodeCarbon's rows: the 38 columns of its `emissions.csv`, in its order and units.
//!
//! Two columns mean what their names say and not what CodeCarbon writes there: powers are energy by time and not a mean of
//! readings, and kilowatt-hours are exact. What is not known is empty.

use jouletree_model::Joules;
use serde_json::{Map, Value, json};

use super::{Cell, ClassEnergy, Record, local_time};

/// The columns of `emissions.csv`.
pub const COLUMNS: [&str; 38] = [
    "timestamp",
    "project_name",
    "run_id",
    "experiment_id",
    "duration",
    "emissions",
    "emissions_rate",
    "cpu_power",
    "gpu_power",
    "ram_power",
    "cpu_energy",
    "gpu_energy",
    "ram_energy",
    "energy_consumed",
    "water_consumed",
    "country_name",
    "country_iso_code",
    "region",
    "cloud_provider",
    "cloud_region",
    "os",
    "python_version",
    "codecarbon_version",
    "cpu_count",
    "cpu_model",
    "gpu_count",
    "gpu_model",
    "longitude",
    "latitude",
    "ram_total_size",
    "tracking_mode",
    "cpu_utilization_percent",
    "gpu_utilization_percent",
    "ram_utilization_percent",
    "ram_used_gb",
    "on_cloud",
    "pue",
    "wue",
];

/// Columns that the file of tasks has not.
const NOT_OF_TASKS: [&str; 3] = ["experiment_id", "pue", "wue"];

/// The version of CodeCarbon whose files these are.
const CODECARBON: &str = "3.3.2";

/// How much of the machine was used, in percent; none where it was not sampled.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Utilization {
    /// Of its processors.
    pub cpu: Option<f64>,
    /// Of its GPUs.
    pub gpu: Option<f64>,
    /// Of its memory.
    pub ram: Option<f64>,
    /// Gigabytes of memory.
    pub ram_gb: Option<f64>,
}

/// The row of a run, by column.
pub fn row(record: &Record, used: Utilization) -> Vec<(&'static str, Cell)> {
    let (impact, seconds, place) = (record.impact(), record.seconds(), &record.context.place);
    let parts = record.parts;
    let kilograms = impact.carbon.map(|grams| grams.0 * 1e-3);
    let power = |part: Option<ClassEnergy>| {
        let joules = record.kilowatt_hours(part) * Joules::PER_KILOWATT_HOUR;
        if seconds > 0.0 { joules / seconds } else { 0.0 }
    };
    let energy = |part: Option<ClassEnergy>| Cell::Number(record.kilowatt_hours(part));
    // Never empty: carbonboard takes these for text.
    let named = |name: &str| Cell::Text(if name.is_empty() { "unknown" } else { name }.to_owned());
    let region = place.grid.map_or_else(|| "unknown".to_owned(), |grid| grid.name.to_lowercase());
    let cells = [
        Cell::Text(local_time(record.end, 'T')),
        record.project.as_str().into(),
        record.run_id.as_str().into(),
        record.experiment.as_str().into(),
        Cell::Number(seconds),
        kilograms.into(),
        kilograms.filter(|_| seconds > 0.0).map(|kilograms| kilograms / seconds).into(),
        Cell::Number(power(parts.cpu)),
        Cell::Number(power(parts.gpu)),
        Cell::Number(power(parts.ram)),
        energy(parts.cpu),
        energy(parts.gpu),
        energy(parts.ram),
        Cell::Number(impact.energy.kilowatt_hours().0),
        Cell::Number(impact.water_l),
        named(record.country_name()),
        named(place.country().map_or("", |country| country.iso3.as_str())),
        Cell::Text(region),
        place.cloud.map_or(Cell::Empty, |cloud| cloud.provider.into()),
        place.cloud.and_then(|cloud| cloud.region).map_or(Cell::Empty, |region| region.region.as_str().into()),
        record.machine.os.as_str().into(),
        record.machine.python_version.as_str().into(),
        Cell::Text(format!("{CODECARBON}-compatible/jouletree {}", record.version)),
        record.machine.threads.map_or(Cell::Empty, Cell::Count),
        record.machine.cpu_model.as_str().into(),
        Cell::Count(record.machine.gpus.len() as u64),
        record.machine.gpu_model().as_str().into(),
        Cell::Empty,
        Cell::Empty,
        record.machine.memory_gib.into(),
        record.tracking_mode.as_str().into(),
        used.cpu.into(),
        used.gpu.into(),
        used.ram.into(),
        used.ram_gb.into(),
        if place.cloud.is_some() { "Y" } else { "N" }.into(),
        Cell::Number(record.context.facility.pue),
        Cell::Number(record.context.facility.wue),
    ];
    COLUMNS.into_iter().zip(cells).collect()
}

/// The row of a task within a run: its name first, and without what holds for all tasks.
pub fn task_row(task: &str, record: &Record, used: Utilization) -> Vec<(&'static str, Cell)> {
    let row = row(record, used).into_iter().filter(|(column, _)| !NOT_OF_TASKS.contains(column));
    std::iter::once(("task_name", Cell::Text(task.to_owned()))).chain(row).collect()
}

/// What the row has no columns for: joules, kinds, intervals, and where the intensity comes from.
pub fn side_file(record: &Record) -> Value {
    let impact = record.impact();
    let (low, high) = record.parts.bounds();
    let part = |part: Option<ClassEnergy>| {
        part.map(|part| json!({"energy_j": part.energy.0, "low_j": part.low.0, "high_j": part.high.0, "kind": part.kind}))
    };
    json!({
        "version": 1,
        "run_id": record.run_id,
        "jouletree": record.version,
        "start_ns": record.start.0,
        "end_ns": record.end.0,
        "tracking_mode": record.tracking_mode,
        "energy_j": impact.it_energy.0,
        "low_j": low.0,
        "high_j": high.0,
        "kind": record.parts.kind(),
        "cpu": part(record.parts.cpu),
        "gpu": part(record.parts.gpu),
        "ram": part(record.parts.ram),
        "pue": record.context.facility.pue,
        "wue": record.context.facility.wue,
        "facility_energy_j": impact.energy.0,
        "carbon_g": impact.carbon,
        "water_l": impact.water_l,
        "intensity": record.context.intensity,
    })
}

/// A row as a JSON object.
pub fn as_json(row: &[(&'static str, Cell)]) -> Value {
    Value::Object(row.iter().map(|(column, cell)| ((*column).to_owned(), cell.json())).collect::<Map<_, _>>())
}
