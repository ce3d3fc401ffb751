//! Eco2AI's rows. Its column `power_consumption(kWh)` holds an energy.

use super::{Cell, Record, local_time};

/// The row of a run or of one of its epochs.
pub fn row(record: &Record, description: &str, epoch: &str, cost: Option<f64>) -> Vec<(&'static str, Cell)> {
    let impact = record.impact();
    let place = match (record.context.place.grid, record.context.place.country()) {
        (Some(grid), Some(country)) => format!("{}/{}", country.name, grid.name),
        (_, Some(country)) => country.name.clone(),
        _ => "unknown".to_owned(),
    };
    let gpus = match record.machine.gpus.first() {
        None => "0 device(s)".to_owned(),
        Some(first) => format!("{first} {} device(s)", record.machine.gpus.len()),
    };
    let threads = record.machine.threads.unwrap_or_default();
    vec![
        ("id", record.run_id.as_str().into()),
        ("project_name", record.project.as_str().into()),
        ("experiment_description", description.into()),
        ("epoch", if epoch.is_empty() { "N/A" } else { epoch }.into()),
        ("start_time", Cell::Text(local_time(record.start, ' '))),
        ("duration(s)", Cell::Number(record.seconds())),
        ("power_consumption(kWh)", Cell::Number(impact.energy.kilowatt_hours().0)),
        ("CO2_emissions(kg)", impact.carbon.map(|grams| grams.0 * 1e-3).into()),
        ("CPU_name", Cell::Text(format!("{}/{threads} device(s)", record.machine.cpu_model))),
        ("GPU_name", Cell::Text(gpus)),
        ("OS", record.machine.os.as_str().into()),
        ("region/country", Cell::Text(place)),
        ("cost", cost.into()),
    ]
}
