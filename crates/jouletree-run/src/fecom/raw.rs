//! Raw samples as a CSV, one row for each sample of a device, with a JSON of the calls' times beside it.

use std::collections::BTreeMap;

use jouletree_model::{Nanos, PowerSample, SampleUnit, SampledPower};
use serde::Deserialize;
use serde_json::Value;

use super::experiment::{at, form};
use super::record::{FecomRecord, FecomTimes, RawSettings, RawSizes, RawTimes, device, seconds};
use super::rows::Fields;
use super::{FecomError, FecomKind, FecomProblem, PROJECT_LEVEL};

#[derive(Deserialize)]
#[serde(expecting = "an object with function, experiment, times and settings")]
struct RawCall {
    function: String,
    experiment: u32,
    times: RawTimes,
    settings: RawSettings,
    #[serde(default)]
    input_sizes: RawSizes,
}

/// A function, an experiment and a device, with the unit and the samples.
type Samples = BTreeMap<(Option<String>, Option<u32>), Vec<(String, SampleUnit, Vec<PowerSample>)>>;

/// Reads raw samples (`csv`) of the calls whose times are given (`times`). Where the samples do not name their call, there is
/// one.
pub fn read_raw_trace(
    source: &str,
    csv: &[u8],
    times_source: &str,
    times: &[u8],
    project: &str,
) -> Result<Vec<FecomRecord>, FecomError> {
    let calls = match serde_json::from_slice::<Value>(times) {
        Ok(Value::Array(calls)) => calls,
        Ok(call) => vec![call],
        Err(error) => return Err(FecomError::whole(times_source, FecomProblem::Json(error.to_string()))),
    };
    let mut samples = samples(source, csv)?;
    let mut numbers: BTreeMap<u32, u32> = BTreeMap::new();
    let mut records = Vec::with_capacity(calls.len());
    for (number, call) in calls.into_iter().enumerate() {
        let wrong = |problem: FecomProblem| at(times_source, number, None, problem);
        let call: RawCall = serde_json::from_value(call).map_err(|error| wrong(form(error.to_string())))?;
        let times = call.times.understood().map_err(|problem| wrong(form(problem)))?;
        let settings = call.settings.understood().map_err(|problem| wrong(form(problem)))?;
        let found = samples
            .remove(&(Some(call.function.clone()), Some(call.experiment)))
            .or_else(|| samples.remove(&(None, None)))
            .unwrap_or_default();
        let sampled = found.into_iter().filter_map(|(name, unit, samples)| {
            let began = began(&name, &times);
            Some(SampledPower { device: device(&name)?, unit, began, interval: settings.interval, samples })
        });
        let place = numbers.entry(call.experiment).or_default();
        records.push(FecomRecord {
            kind: if call.function == PROJECT_LEVEL { FecomKind::Project } else { FecomKind::Method },
            project: project.to_owned(),
            experiment: call.experiment,
            call: *place,
            times,
            settings,
            sizes: call.input_sizes.into(),
            sampled: sampled.collect(),
            function: call.function,
        });
        *place = place.saturating_add(1);
    }
    if let Some((function, experiment)) = samples.into_keys().next() {
        let (function, experiment) = (function.unwrap_or_default(), experiment.unwrap_or_default());
        let problem = FecomProblem::NoTimesOf(times_source.to_owned(), function, experiment);
        return Err(FecomError::whole(source, problem));
    }
    Ok(records)
}

fn began(name: &str, times: &FecomTimes) -> Nanos {
    if name == "gpu" { times.began_nvidia } else { times.began_perf }
}

fn samples(source: &str, csv: &[u8]) -> Result<Samples, FecomError> {
    let mut found = Samples::new();
    Fields::each(source, csv, |fields| {
        let function = fields.optional("function").map(str::to_owned);
        let experiment = fields.optional_number("experiment")?;
        let name = fields.text("device")?;
        device(name).ok_or_else(|| fields.wrong("device", "cpu, ram or gpu"))?;
        let unit = match fields.text("unit")? {
            "J" => SampleUnit::Joules,
            "W" => SampleUnit::Watts,
            _ => return Err(fields.wrong("unit", "J or W")),
        };
        let time =
            seconds(fields.number("time_s")?).ok_or_else(|| fields.wrong("time_s", "a number of seconds"))?;
        let sample = PowerSample { time, value: fields.number("value")? };
        let devices = found.entry((function, experiment)).or_default();
        match devices.iter_mut().find(|(known, known_unit, _)| known == name && *known_unit == unit) {
            Some((.., samples)) if samples.last().is_some_and(|last| time <= last.time) => {
                return Err(FecomProblem::Time);
            }
            Some((.., samples)) => samples.push(sample),
            None => devices.push((name.to_owned(), unit, vec![sample])),
        }
        Ok(())
    })?;
    Ok(found)
}
