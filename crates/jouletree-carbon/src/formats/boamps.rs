//! BoAmps reports: the format of Boavizta for the energy of tasks of artificial intelligence.

use jouletree_model::Kind;
use serde_json::{Value, json};

use super::{Record, local_time};

/// The report of a run. What a task is about only its author knows: stage, family, algorithms and data sets are to be added.
pub fn report(record: &Record) -> Value {
    let (impact, place) = (record.impact(), &record.context.place);
    let mut components = vec![
        json!({"componentType": "cpu", "componentName": record.machine.cpu_model, "nbComponent": 1}),
        json!({"componentType": "ram", "nbComponent": 1, "memorySize": record.machine.memory_gib}),
    ];
    if let Some(name) = record.machine.gpus.first() {
        components.push(json!({
            "componentType": "gpu", "componentName": name, "nbComponent": record.machine.gpus.len(),
        }));
    }
    let cloud = place.cloud.map(|cloud| cloud.provider);
    let quality = match record.parts.kind() {
        Some(Kind::Measured | Kind::Derived) => "high",
        _ => "low",
    };
    let report = json!({
        "header": {
            "formatVersion": "0.1",
            "formatVersionSpecificationUri": "https://github.com/Boavizta/BoAmps/tree/main/model",
            "reportId": record.run_id,
            "reportDatetime": local_time(record.end, ' '),
            "reportStatus": "draft",
        },
        "measures": [{
            "measurementMethod": "jouletree",
            "version": record.version,
            "powerConsumption": impact.energy.kilowatt_hours().0,
            "measurementDuration": record.seconds(),
            "measurementDateTime": local_time(record.start, ' '),
        }],
        "system": {"os": record.machine.os},
        "software": {"language": "python", "version": record.machine.python_version},
        "infrastructure": {
            "infraType": if cloud.is_some() { "publicCloud" } else { "onPremise" },
            "cloudProvider": cloud,
            "components": components,
        },
        "environment": {
            "country": place.country().map(|country| country.name.clone()),
            "location": place.grid.map(|grid| grid.name.clone()),
            "powerSourceCarbonIntensity": record.context.intensity.as_ref().map(|intensity| intensity.value.0),
        },
        "quality": quality,
    });
    without_nulls(report)
}

/// A report leaves out what it does not know.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .filter(|(_, value)| !value.is_null() && value.as_str() != Some(""))
                .map(|(name, value)| (name, without_nulls(value)))
                .collect(),
        ),
        Value::Array(values) => Value::Array(values.into_iter().map(without_nulls).collect()),
        other => other,
    }
}
