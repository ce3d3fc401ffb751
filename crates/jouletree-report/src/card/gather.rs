//! Everything in runs that a card needs. What they lack is left out, never made up.

use std::collections::{BTreeMap, BTreeSet};

use jouletree_carbon::formats::{Machine, Record};
use jouletree_carbon::settings::Settings;
use jouletree_carbon::{Context, Impact, Intensity, Location};
use jouletree_model::{Grams, Joules, KilowattHours, Kind, Warning};
use jouletree_run::{RunError, RunFolder, Scope, accounted};
use serde::Serialize;

use super::CardError;
use super::arguments::{arguments, differing};
use super::layers::layers;
use super::summary::Summary;
use crate::carbon::{cost, of_run};
use crate::{PhaseRow, ProgramEnergy, StageRow, Study, Trust, Whole, stages};

/// The card of one run, or of the runs of a study.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct Card {
    pub title: String,
    pub kind: Option<Kind>,
    pub runs: Vec<RunRow>,
    pub energy_j: Option<Summary>,
    pub time_s: Option<Summary>,
    pub carbon_g: Option<Summary>,
    #[serde(rename = "low_j")]
    pub low: Joules,
    #[serde(rename = "high_j")]
    pub high: Joules,
    pub carbon: Carbon,
    pub co2_eq_emissions: Option<Emissions>,
    pub phases: Vec<PhaseRow>,
    pub stages: Vec<StageSum>,
    pub sensitivity: Vec<Sensitivity>,
    pub layers: Vec<LayerRow>,
    pub hardware: Hardware,
    pub software: Software,
    pub meters: Vec<String>,
    pub jouletree: String,
    /// All joules of a run, as a mean: the bases of shares.
    pub whole: Whole,
    pub trust: Option<Trust>,
    pub warnings: Vec<Warning>,
}

/// One run.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct RunRow {
    pub run: String,
    pub run_id: String,
    /// Arguments of its command line that other runs do not share.
    pub arguments: BTreeMap<String, String>,
    pub duration_s: f64,
    #[serde(rename = "energy_j")]
    pub energy: Joules,
    #[serde(rename = "low_j")]
    pub low: Joules,
    #[serde(rename = "high_j")]
    pub high: Joules,
    pub kind: Option<Kind>,
    #[serde(rename = "carbon_g")]
    pub carbon: Option<Grams>,
}

/// The impact of the energy of all runs together.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct Carbon {
    pub it_energy_kwh: KilowattHours,
    pub pue: f64,
    pub energy_kwh: KilowattHours,
    pub intensity: Option<Intensity>,
    #[serde(rename = "carbon_g")]
    pub carbon: Option<Grams>,
    #[serde(rename = "carbon_low_g")]
    pub carbon_low: Option<Grams>,
    #[serde(rename = "carbon_high_g")]
    pub carbon_high: Option<Grams>,
    pub water_l: Option<f64>,
    #[serde(rename = "embodied_g")]
    pub embodied: Option<Grams>,
    pub cost: Option<f64>,
    pub currency: Option<String>,
}

/// The block that Hugging Face's model cards have at their head.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct Emissions {
    /// Grams, as they want it.
    pub emissions: f64,
    pub source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub training_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geographical_location: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware_used: Option<String>,
}

/// A stage, as a mean over the runs that have it.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct StageSum {
    pub stage: String,
    #[serde(rename = "energy_j")]
    pub energy: Joules,
}

/// Runs that share the value of an argument that others do not have.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct Sensitivity {
    pub argument: String,
    pub value: Option<String>,
    pub runs: usize,
    pub energy_j: Option<Summary>,
    pub time_s: Option<Summary>,
}

/// A part of the model, as a mean over runs.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct LayerRow {
    pub path: String,
    pub is_own: bool,
    #[serde(rename = "energy_j")]
    pub energy: Joules,
    /// The standard deviation over runs.
    #[serde(rename = "deviation_j")]
    pub deviation: Option<Joules>,
    /// The part of what all layers used.
    pub share: f64,
    /// The part of the run.
    pub run_share: f64,
}

/// What it ran on.
#[derive(Debug, Default, Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct Hardware {
    pub cpu: Option<String>,
    pub threads: Option<u64>,
    pub memory_gib: Option<f64>,
    pub gpus: Vec<String>,
}

/// With what it ran.
#[derive(Debug, Default, Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct Software {
    pub os: Option<String>,
    pub python: Option<String>,
    pub frameworks: BTreeMap<String, String>,
}

/// Reads runs and collects what they contain.
pub fn gather(
    folders: Vec<RunFolder>,
    settings: &Settings,
    context: &Context,
    training_type: Option<&str>,
) -> Result<Card, CardError> {
    let mut warnings = Vec::new();
    let mut records: Vec<Record> = Vec::new();
    let mut costs = Vec::new();
    for folder in &folders {
        let record = of_run::record(folder, settings, context.clone(), &mut warnings)?;
        let scope = if record.tracking_mode == "process" { Scope::Tree } else { Scope::Device };
        costs.push(cost(&record, Some(&accounted(folder.read_power()?, scope))));
        records.push(record);
    }
    let all_arguments: Vec<BTreeMap<String, String>> = folders.iter().map(arguments_of).collect();
    let differing = differing(&all_arguments);
    let runs: Vec<RunRow> = folders
        .iter()
        .zip(&records)
        .zip(&all_arguments)
        .map(|((folder, record), all)| RunRow::of(folder, record, all, &differing))
        .collect();
    let phases = phases(&folders)?;
    let stages = stage_sums(&folders)?;
    let software = software(&folders, &records);
    let jouletree = folders.first().map(|folder| folder.manifest().jouletree.clone()).unwrap_or_default();
    let meters = meters(&folders);
    let sensitivity = sensitivity(&runs, &differing);
    let study = Study::read_varied(folders, rayon::current_num_threads())?;
    warnings.extend(study.warnings.iter().cloned());
    let hardware = hardware(records.iter().map(|record| &record.machine));
    let carbon = carbon(&records, context, &costs);
    let co2_eq_emissions = carbon.carbon.map(|Grams(grams)| Emissions {
        emissions: grams,
        source: source(&carbon, runs.len()),
        training_type: training_type.map(str::to_owned),
        geographical_location: location(&context.place),
        hardware_used: hardware_used(&hardware),
    });
    let values = |of: fn(&RunRow) -> f64| Summary::of(&runs.iter().map(of).collect::<Vec<_>>());
    let grams: Option<Vec<f64>> = runs.iter().map(|run| Some(run.carbon?.0)).collect();
    Ok(Card {
        title: study.title.clone(),
        kind: runs.iter().filter_map(|run| run.kind).max(),
        energy_j: values(|run| run.energy.0),
        time_s: values(|run| run.duration_s),
        carbon_g: grams.and_then(|grams| Summary::of(&grams)),
        low: runs.iter().map(|run| run.low).sum(),
        high: runs.iter().map(|run| run.high).sum(),
        carbon,
        co2_eq_emissions,
        phases,
        stages,
        sensitivity,
        layers: layer_rows(&study),
        hardware,
        software,
        meters,
        jouletree,
        whole: study.whole.clone(),
        trust: study.trust.clone(),
        runs,
        warnings,
    })
}

impl RunRow {
    fn of(folder: &RunFolder, record: &Record, all: &BTreeMap<String, String>, differing: &[String]) -> RunRow {
        let (low, high) = record.parts.bounds();
        let impact = record.impact();
        let name = folder.path().file_name().map(|name| name.to_string_lossy().into_owned());
        let arguments = all.iter().filter(|(name, _)| differing.contains(name));
        RunRow {
            run: name.unwrap_or_else(|| folder.path().display().to_string()),
            run_id: record.run_id.clone(),
            arguments: arguments.map(|(name, value)| (name.clone(), value.clone())).collect(),
            duration_s: record.seconds(),
            energy: impact.it_energy,
            low,
            high,
            kind: record.parts.kind(),
            carbon: impact.carbon,
        }
    }
}

fn arguments_of(folder: &RunFolder) -> BTreeMap<String, String> {
    folder.manifest().recording.as_ref().map(|recording| arguments(&recording.command)).unwrap_or_default()
}

fn carbon(records: &[Record], context: &Context, costs: &[Option<f64>]) -> Carbon {
    let impacts: Vec<Impact> = records.iter().map(Record::impact).collect();
    let bounds = |of: fn(&Record) -> Joules| -> Option<Grams> {
        let energy = records.iter().map(of).sum();
        Impact::of(energy, context.facility, context.intensity.as_ref()).carbon
    };
    let cost = costs.iter().copied().sum::<Option<f64>>();
    Carbon {
        it_energy_kwh: impacts.iter().map(|impact| impact.it_energy.kilowatt_hours()).sum(),
        pue: context.facility.pue,
        energy_kwh: impacts.iter().map(|impact| impact.energy.kilowatt_hours()).sum(),
        intensity: context.intensity.clone(),
        carbon: impacts.iter().map(|impact| impact.carbon).sum(),
        carbon_low: bounds(|record| record.parts.bounds().0),
        carbon_high: bounds(|record| record.parts.bounds().1),
        water_l: (context.facility.wue > 0.0).then(|| impacts.iter().map(|impact| impact.water_l).sum()),
        embodied: records.iter().map(of_run::embodied).sum(),
        currency: cost.map(|_| context.currency.clone()),
        cost,
    }
}

/// Steps by what they do, as sums over runs.
fn phases(folders: &[RunFolder]) -> Result<Vec<PhaseRow>, CardError> {
    let mut sums: Vec<PhaseRow> = Vec::new();
    for folder in folders {
        let program = folder.read_program()?;
        for row in ProgramEnergy::new(&program, folder.read_power()?).phases() {
            match sums.iter_mut().find(|sum| (&sum.phase, &sum.function) == (&row.phase, &row.function)) {
                None => sums.push(row),
                Some(sum) => {
                    sum.steps += row.steps;
                    sum.recorded += row.recorded;
                    sum.recorded_energy += row.recorded_energy;
                    sum.processes = sum.processes.max(row.processes);
                    sum.energy += row.energy;
                    sum.seconds += row.seconds;
                    sum.samples = sum.samples.zip(row.samples).map(|(one, other)| one + other);
                    sum.kind = sum.kind.max(row.kind);
                }
            }
        }
    }
    for sum in &mut sums {
        sum.factor = (sum.recorded_energy.0 > 0.0).then(|| sum.energy.0 / sum.recorded_energy.0);
        sum.step = Joules(sum.energy.0 / sum.steps.max(1) as f64);
        sum.sample =
            sum.samples.filter(|samples| *samples > 0).map(|samples| Joules(sum.energy.0 / samples as f64));
    }
    Ok(sums)
}

/// Stages that programs marked, as sums over runs.
fn stage_sums(folders: &[RunFolder]) -> Result<Vec<StageSum>, CardError> {
    let mut sums: Vec<StageSum> = Vec::new();
    for folder in folders {
        let footprint = match folder.read_footprint() {
            Ok(footprint) => footprint,
            Err(RunError::OnlyRecorded(_)) => continue,
            Err(error) => return Err(error.into()),
        };
        for StageRow { stage, energy, .. } in stages(&footprint) {
            match sums.iter_mut().find(|sum| sum.stage == stage) {
                Some(sum) => sum.energy += energy,
                None => sums.push(StageSum { stage, energy }),
            }
        }
    }
    Ok(sums)
}

/// For each argument that differs, the runs by its value.
fn sensitivity(runs: &[RunRow], differing: &[String]) -> Vec<Sensitivity> {
    let mut rows = Vec::new();
    for argument in differing {
        let values: BTreeSet<Option<&String>> = runs.iter().map(|run| run.arguments.get(argument)).collect();
        for value in values {
            let with: Vec<&RunRow> = runs.iter().filter(|run| run.arguments.get(argument) == value).collect();
            let summary =
                |of: fn(&RunRow) -> f64| Summary::of(&with.iter().map(|run| of(run)).collect::<Vec<_>>());
            rows.push(Sensitivity {
                argument: argument.clone(),
                value: value.cloned(),
                runs: with.len(),
                energy_j: summary(|run| run.energy.0),
                time_s: summary(|run| run.duration_s),
            });
        }
    }
    rows
}

fn layer_rows(study: &Study) -> Vec<LayerRow> {
    let whole = study.tree.energy.0;
    let row = |layer: super::layers::Layer| LayerRow {
        share: if whole > 0.0 { layer.energy.0 / whole } else { 0.0 },
        run_share: study.whole.of_run(layer.energy),
        deviation: study.deviation_of(&layer.path).filter(|_| !layer.is_own),
        path: layer.path,
        is_own: layer.is_own,
        energy: layer.energy,
    };
    layers(&study.tree).into_iter().map(row).collect()
}

/// The machine; of several different ones all are named.
fn hardware<'a>(machines: impl Iterator<Item = &'a Machine>) -> Hardware {
    let machines: Vec<&Machine> = machines.collect();
    let mut names: Vec<&str> = machines.iter().map(|machine| machine.cpu_model.as_str()).collect();
    names.retain(|name| !name.is_empty());
    names.dedup();
    let first = machines.first();
    Hardware {
        cpu: (!names.is_empty()).then(|| names.join("; ")),
        threads: first.and_then(|machine| machine.threads),
        memory_gib: first.and_then(|machine| machine.memory_gib),
        gpus: first.map(|machine| machine.gpus.clone()).unwrap_or_default(),
    }
}

fn software(folders: &[RunFolder], records: &[Record]) -> Software {
    let processes = folders.iter().flat_map(|folder| &folder.manifest().processes);
    let mut python: Vec<&str> = Vec::new();
    let mut frameworks = BTreeMap::new();
    for process in processes {
        if !process.python.is_empty() && !python.contains(&process.python.as_str()) {
            python.push(&process.python);
        }
        frameworks.extend(process.frameworks.clone());
    }
    let os = records.first().map(|record| record.machine.os.clone()).filter(|os| !os.is_empty());
    Software { os, python: (!python.is_empty()).then(|| python.join(", ")), frameworks }
}

/// What metered the runs, and of which kind that is.
fn meters(folders: &[RunFolder]) -> Vec<String> {
    let mut meters = Vec::new();
    for folder in folders {
        let manifest = folder.manifest();
        let sensors = manifest.recording.iter().flat_map(|recording| &recording.sensors);
        let sensors = sensors.filter(|sensor| sensor.domain.is_none());
        for sensor in sensors.map(|sensor| format!("{} by {} ({})", sensor.device, sensor.source, sensor.kind)) {
            if !meters.contains(&sensor) {
                meters.push(sensor);
            }
        }
    }
    meters
}

/// `Belgium (gcp/europe-west1)`, `California, United States`, `Italy`.
fn location(place: &Location) -> Option<String> {
    let country = place.country().map(|country| country.name.clone());
    let cloud = place.cloud.map(|cloud| match cloud.region {
        Some(region) => region.zone(),
        None => cloud.provider.to_owned(),
    });
    match (place.grid, country, cloud) {
        (Some(grid), Some(country), _) => Some(format!("{}, {country}", grid.name)),
        (None, Some(country), Some(cloud)) => Some(format!("{country} ({cloud})")),
        (_, country, cloud) => country.or(cloud),
    }
}

/// `2 x NVIDIA A100; Intel Xeon`.
fn hardware_used(hardware: &Hardware) -> Option<String> {
    let gpus = hardware.gpus.first().map(|first| format!("{} x {first}", hardware.gpus.len()));
    let parts: Vec<String> = gpus.into_iter().chain(hardware.cpu.clone()).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// `jouletree 0.1.0: measured energy of 3 runs, 331 g/kWh (ITA 2023, …)`.
fn source(carbon: &Carbon, runs: usize) -> String {
    let runs = if runs == 1 { "one run".to_owned() } else { format!("{runs} runs together") };
    let intensity = carbon.intensity.as_ref().map(|intensity| format!(", {intensity}")).unwrap_or_default();
    let pue = if carbon.pue == 1.0 { String::new() } else { format!(", PUE {}", carbon.pue) };
    format!("jouletree {}: {runs}{intensity}{pue}", env!("CARGO_PKG_VERSION"))
}
