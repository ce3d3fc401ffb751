//! `experiment-N.json`: a list of calls, each an object with one key, its name. Samples are text within the text: JSON of a
//! data frame in pandas' split layout.

use jouletree_model::{Nanos, PowerSample, SampleUnit, SampledPower};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::record::{FecomRecord, FecomSettings, FecomTimes, RawSettings, RawSizes, RawTimes, device, seconds};
use super::{FecomError, FecomKind, FecomProblem, PROJECT_LEVEL};

#[derive(Deserialize)]
#[serde(expecting = "an object with energy_data, times and settings")]
struct RawRecord {
    energy_data: RawEnergy,
    times: RawTimes,
    settings: RawSettings,
    #[serde(default)]
    input_sizes: RawSizes,
}

#[derive(Deserialize)]
#[serde(expecting = "an object with cpu, ram and gpu")]
struct RawEnergy {
    cpu: String,
    ram: String,
    gpu: String,
}

/// A data frame in pandas' split layout; its index does not matter.
#[derive(Deserialize)]
#[serde(expecting = "a data frame in split layout")]
struct Split {
    columns: Vec<String>,
    data: Vec<Vec<Option<f64>>>,
}

/// Reads the calls of an experiment; `source` is the file's name as messages should show it. Records named
/// `project-level` are whole programs, others are of `kind`.
pub fn read_experiment(
    source: &str,
    bytes: &[u8],
    project: &str,
    experiment: u32,
    kind: FecomKind,
) -> Result<Vec<FecomRecord>, FecomError> {
    let records: Vec<Map<String, Value>> = match serde_json::from_slice::<Value>(bytes) {
        Ok(Value::Array(records)) => records
            .into_iter()
            .enumerate()
            .map(|(number, record)| match record {
                Value::Object(record) if record.len() == 1 => Ok(record),
                _ => Err(at(source, number, None, form("not an object with one key, the name of a call"))),
            })
            .collect::<Result<_, _>>()?,
        Ok(_) => return Err(FecomError::whole(source, form("not a list of records"))),
        Err(error) => return Err(FecomError::whole(source, FecomProblem::Json(error.to_string()))),
    };
    let mut found = Vec::with_capacity(records.len());
    for (number, record) in records.into_iter().enumerate() {
        for (function, record) in record {
            let wrong = |problem: FecomProblem| at(source, number, Some(&function), problem);
            let raw: RawRecord = serde_json::from_value(record).map_err(|error| wrong(form(error.to_string())))?;
            let times = raw.times.understood().map_err(|problem| wrong(form(problem)))?;
            let settings = raw.settings.understood().map_err(|problem| wrong(form(problem)))?;
            let parts =
                [("cpu", &raw.energy_data.cpu), ("ram", &raw.energy_data.ram), ("gpu", &raw.energy_data.gpu)];
            let sampled = parts
                .into_iter()
                .map(|(name, text)| {
                    let inside = |problem: FecomProblem| {
                        let mut error = wrong(problem);
                        error.place = error.place.map(|place| format!("{place}: energy_data.{name}"));
                        error
                    };
                    samples(name, text, &times, &settings).map_err(inside)
                })
                .collect::<Result<_, _>>()?;
            let kind = if function == PROJECT_LEVEL { FecomKind::Project } else { kind };
            let call = u32::try_from(number).unwrap_or(u32::MAX);
            let project = project.to_owned();
            let sizes = raw.input_sizes.into();
            found.push(FecomRecord { kind, project, experiment, call, function, times, settings, sizes, sampled });
        }
    }
    Ok(found)
}

fn samples(
    name: &str,
    text: &str,
    times: &FecomTimes,
    settings: &FecomSettings,
) -> Result<SampledPower, FecomProblem> {
    let frame: Split = serde_json::from_str(text).map_err(|error| match error.is_data() {
        true => form(error.to_string()),
        false => FecomProblem::Json(error.to_string()),
    })?;
    let (unit, value) = match name {
        "gpu" => (SampleUnit::Watts, "power_draw (W)"),
        _ => (SampleUnit::Joules, "energy (J)"),
    };
    let column = |wanted: &str| frame.columns.iter().position(|column| column == wanted);
    let time = column("time_elapsed").ok_or(FecomProblem::NoColumn("time_elapsed"))?;
    let value = column(value).ok_or(FecomProblem::NoColumn(if name == "gpu" {
        "power_draw (W)"
    } else {
        "energy (J)"
    }))?;
    let field = |row: usize, column: usize| {
        let field = frame.data.get(row).and_then(|row| row.get(column)).copied().flatten();
        field.filter(|field| field.is_finite()).ok_or_else(|| {
            let name = frame.columns.get(column).map_or("?", String::as_str);
            form(format!("row {row} has no number in column `{name}`"))
        })
    };
    let mut samples: Vec<PowerSample> = Vec::with_capacity(frame.data.len());
    for row in 0..frame.data.len() {
        let stamp = seconds(field(row, time)?).ok_or(FecomProblem::Time)?;
        if samples.last().is_some_and(|last| stamp <= last.time) {
            return Err(form(format!("row {row}: time does not advance")));
        }
        samples.push(PowerSample { time: stamp, value: field(row, value)? });
    }
    // nvidia-smi prints the time of day with every sample; its own clock begins with the first one.
    let first = column("timestamp").filter(|_| name == "gpu" && !samples.is_empty());
    let began = match (name, first) {
        ("gpu", Some(column)) => {
            let first = samples.first().map_or(Nanos(0), |sample| sample.time);
            seconds(field(0, column)?).ok_or(FecomProblem::Time)? - first
        }
        ("gpu", None) => times.began_nvidia,
        _ => times.began_perf,
    };
    let device = device(name).ok_or(FecomProblem::Unknown)?;
    Ok(SampledPower { device, unit, began, interval: settings.interval, samples })
}

pub(super) fn form(problem: impl Into<String>) -> FecomProblem {
    FecomProblem::Form(problem.into())
}

/// A problem of the record with this number; the first is record 1.
pub(super) fn at(source: &str, number: usize, function: Option<&str>, problem: FecomProblem) -> FecomError {
    let name = function.map(|function| format!(" ({function})")).unwrap_or_default();
    FecomError::at(source, format!("record {}{name}", number + 1), problem)
}
