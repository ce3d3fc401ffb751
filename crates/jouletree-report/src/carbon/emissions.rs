//! What windows of a program come to, for jouletree's Python package, which asks as other trackers would compute: one JSON
//! object is the request, one is the answer, and rows are written to the files that the request names.
//!
//! Whatever is wrong with settings or files, energy is returned: what could not be done is in the warnings.

use std::path::{Path, PathBuf};

use jouletree_carbon::formats::codecarbon::{self, Utilization};
use jouletree_carbon::formats::{
    ClassEnergy, Machine, Mode, Parts, Record, eco2ai, write_row_or_report, write_side_file,
};
use jouletree_carbon::memory;
use jouletree_carbon::settings::{Key, Layer, Settings, Sources};
use jouletree_carbon::{Context, Epoch, Equivalents, Factors, Impact, Intensity, forecast};
use jouletree_model::{Device, DeviceClass, Grams, Joules, KilowattHours, Kind, Nanos, Warning};
use jouletree_run::{HostFacts, Scope};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cost;
use super::of_run::{Counted, charged, gpu_model, machine, scope_of, sum};

/// The version of the protocol.
const VERSION: u32 = 1;

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// It is no JSON, or not of this form.
    #[error("the request is not understood: {0}")]
    NotUnderstood(#[from] serde_json::Error),
    /// The package and the command are of different versions.
    #[error("the request has version {0}, and this jouletree answers {VERSION}")]
    OtherVersion(u32),
}

/// What programs of a machine are answered with.
pub struct Responder<'a> {
    /// The machine.
    pub host: &'a HostFacts,
    /// Where intensities that were fetched are kept.
    pub cache: Option<&'a Path>,
}

impl Responder<'_> {
    /// The answer to a request, as an object that can be written as JSON.
    pub fn answer(&self, request: &str) -> Result<impl Serialize + use<>, RequestError> {
        let request: Request = serde_json::from_str(request)?;
        if request.version != VERSION {
            return Err(RequestError::OtherVersion(request.version));
        }
        Ok(answer(&request, self))
    }
}

#[derive(Deserialize)]
struct Request {
    version: u32,
    /// What the program gave explicitly, under CodeCarbon's names.
    #[serde(default)]
    settings: serde_json::Map<String, Value>,
    run: RunOfProgram,
    devices: Vec<DeviceRow>,
    #[serde(default)]
    machine: MachineUse,
    #[serde(default)]
    task: Option<Task>,
    #[serde(default)]
    epochs: Option<Epochs>,
    #[serde(default)]
    write: Vec<WriteWanted>,
}

#[derive(Deserialize)]
struct RunOfProgram {
    run_id: String,
    start_ns: i64,
    end_ns: i64,
    #[serde(default)]
    python_version: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    epoch: String,
}

/// A device as the protocol of windows describes it.
#[derive(Deserialize)]
struct DeviceRow {
    device: Device,
    kind: Kind,
    energy_j: f64,
    low_j: f64,
    high_j: f64,
    ours_j: f64,
    unknown_j: f64,
    /// Where its energy is read, which names a GPU; older packages do not send it.
    #[serde(default)]
    source: Option<String>,
}

/// How busy the machine was, as far as the program looked.
#[derive(Deserialize, Default, Clone, Copy)]
struct MachineUse {
    cpu_percent: Option<f64>,
    ram_percent: Option<f64>,
    ram_gb: Option<f64>,
}

#[derive(Deserialize)]
struct Task {
    name: String,
}

#[derive(Deserialize)]
struct Epochs {
    done: Vec<EpochDone>,
    total: usize,
}

#[derive(Deserialize)]
struct EpochDone {
    duration_s: f64,
    energy_j: f64,
}

#[derive(Deserialize)]
struct WriteWanted {
    format: Format,
    path: PathBuf,
    #[serde(default)]
    mode: ModeWanted,
    /// Whether settings say where CodeCarbon's files are, whose names the package guessed: it does not read all of them.
    #[serde(default)]
    by_settings: bool,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Format {
    Codecarbon,
    CodecarbonTask,
    Eco2ai,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum ModeWanted {
    #[default]
    Append,
    Update,
}

#[derive(Serialize)]
struct Answer {
    version: u32,
    row: Value,
    energy_j: f64,
    low_j: f64,
    high_j: f64,
    kind: Option<Kind>,
    it_energy_kwh: KilowattHours,
    energy_kwh: KilowattHours,
    carbon_g: Option<Grams>,
    intensity: Option<Intensity>,
    water_l: f64,
    cost: Option<f64>,
    currency: String,
    equivalents: Option<Equivalents>,
    prediction: Option<Prediction>,
    wrote: Vec<PathBuf>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct Prediction {
    energy_j: f64,
    low_j: Option<f64>,
    high_j: Option<f64>,
    energy_kwh: KilowattHours,
    duration_s: f64,
    carbon_g: Option<Grams>,
    warm_up_epochs: usize,
}

fn answer(request: &Request, responder: &Responder) -> Answer {
    let mut warnings = Vec::new();
    let settings = settings(request, &mut warnings);
    let (context, problems) = Context::resolve_what_can_be(&settings, responder.cache);
    warnings.extend(problems);
    warnings.extend(context.warnings.clone());
    let scope = scope_of(&settings, false).unwrap_or_else(|error| {
        warnings.push(error.to_string());
        Scope::Device
    });
    let record = record(request, (&settings, responder.host), context, scope, &mut warnings);
    let row = codecarbon::row(&record, request.machine.into());
    let targets: Vec<WriteWanted> = request.write.iter().map(|wanted| wanted.settled(&settings)).collect();
    let wrote = targets.iter().flat_map(|wanted| write(wanted, request, &record, &mut warnings)).collect();
    let impact = record.impact();
    let (low, high) = record.parts.bounds();
    Answer {
        version: VERSION,
        row: codecarbon::as_json(&row),
        energy_j: impact.it_energy.0,
        low_j: low.0,
        high_j: high.0,
        kind: record.parts.kind(),
        it_energy_kwh: impact.it_energy.kilowatt_hours(),
        energy_kwh: impact.energy.kilowatt_hours(),
        carbon_g: impact.carbon,
        water_l: impact.water_l,
        cost: cost(&record, None),
        currency: record.context.currency.clone(),
        equivalents: impact.carbon.map(|grams| Equivalents::of(grams, Factors::USUAL)),
        prediction: request.epochs.as_ref().and_then(|epochs| prediction(epochs, &record)),
        intensity: record.context.intensity.clone(),
        wrote,
        warnings,
    }
}

/// Settings of this machine and folder, with what the program gave above them.
fn settings(request: &Request, warnings: &mut Vec<String>) -> Settings {
    let (mut settings, errors) = Sources::of_process().read();
    warnings.extend(errors.iter().map(ToString::to_string));
    for (name, value) in &request.settings {
        let key = Key::by_codecarbon_name(name).or_else(|| Key::by_name(name));
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Null => continue,
            other => other.to_string(),
        };
        if let Some(key) = key {
            settings.set(key, text, Layer::Flag(format!("argument {name}")));
        }
    }
    settings
}

fn record(
    request: &Request,
    (settings, host): (&Settings, &HostFacts),
    context: Context,
    scope: Scope,
    warnings: &mut Vec<String>,
) -> Record {
    let (start, end) = (Nanos(request.run.start_ns), Nanos(request.run.end_ns));
    let mut parts = parts(&request.devices, scope);
    let gpus = request.devices.iter().filter(|row| row.device.class() == DeviceClass::Gpu);
    let machine = Machine {
        python_version: request.run.python_version.clone(),
        gpus: gpus.map(gpu_name).collect(),
        ..machine(host)
    };
    let mut noted: Vec<Warning> = Vec::new();
    if let Err(error) = memory::apply(&mut parts, settings, machine.memory_gib, end - start, &mut noted) {
        warnings.push(error.to_string());
    }
    warnings.extend(noted.iter().map(ToString::to_string));
    let run_id = request.run.run_id.clone();
    Counted { run_id, start, end, parts, scope, machine }.record(settings, context)
}

fn gpu_name(row: &DeviceRow) -> String {
    row.source.as_deref().map_or_else(|| row.device.to_string(), |source| gpu_model(source).to_owned())
}

fn parts(devices: &[DeviceRow], scope: Scope) -> Parts {
    sum(devices.iter().map(|row| {
        let (energy, low, high) = (Joules(row.energy_j), Joules(row.low_j), Joules(row.high_j));
        let whole = ClassEnergy { energy, low, high, kind: row.kind };
        let users = Some((Joules(row.ours_j), Joules(row.unknown_j)));
        (row.device.class(), charged(row.device.class(), whole, users, scope))
    }))
}

impl From<MachineUse> for Utilization {
    fn from(MachineUse { cpu_percent, ram_percent, ram_gb }: MachineUse) -> Utilization {
        Utilization { cpu: cpu_percent, gpu: None, ram: ram_percent, ram_gb }
    }
}

impl WriteWanted {
    /// The same, where settings want it.
    fn settled(&self, settings: &Settings) -> WriteWanted {
        let WriteWanted { format, mode, by_settings, .. } = *self;
        let (path, mode) = match (by_settings, format, self.path.file_name()) {
            (true, Format::Codecarbon, _) => {
                let updates =
                    settings.text(Key::OnCsvWrite).is_some_and(|text| text.eq_ignore_ascii_case("update"));
                (settings.emissions_csv(), if updates { ModeWanted::Update } else { ModeWanted::Append })
            }
            (true, Format::CodecarbonTask, Some(name)) => {
                (PathBuf::from(settings.text(Key::OutputFolder).unwrap_or_default()).join(name), mode)
            }
            _ => (self.path.clone(), mode),
        };
        WriteWanted { format, path, mode, by_settings }
    }
}

/// Writes a row, and beside it what the row has no columns for.
fn write(wanted: &WriteWanted, request: &Request, record: &Record, warnings: &mut Vec<String>) -> Vec<PathBuf> {
    let used = request.machine.into();
    let (row, key) = match wanted.format {
        Format::Codecarbon => (codecarbon::row(record, used), "run_id"),
        Format::CodecarbonTask => {
            let name = request.task.as_ref().map_or("", |task| &task.name);
            (codecarbon::task_row(name, record, used), "run_id")
        }
        Format::Eco2ai => {
            let cost = cost(record, None);
            (eco2ai::row(record, &request.run.description, &request.run.epoch, cost), "id")
        }
    };
    let mode = match wanted.mode {
        ModeWanted::Append => Mode::Append,
        ModeWanted::Update => Mode::Update(key),
    };
    match write_row_or_report(&wanted.path, &row, mode, warnings) {
        Some(path) if wanted.format == Format::Codecarbon => {
            let side = write_side_file(&path, record).map_err(|error| warnings.push(error.to_string())).ok();
            [Some(path), side].into_iter().flatten().collect()
        }
        path => path.into_iter().collect(),
    }
}

/// What the whole training will come to.
fn prediction(epochs: &Epochs, record: &Record) -> Option<Prediction> {
    let epoch = |done: &EpochDone| Epoch {
        energy: Joules(done.energy_j),
        time: Nanos((done.duration_s * 1e9).round() as i64),
    };
    let done: Vec<Epoch> = epochs.done.iter().map(epoch).collect();
    let epochs_to_come = forecast(&done, epochs.total)?;
    let impact = Impact::of(epochs_to_come.energy, record.context.facility, record.context.intensity.as_ref());
    Some(Prediction {
        energy_j: epochs_to_come.energy.0,
        low_j: epochs_to_come.interval.map(|(low, _)| low.0),
        high_j: epochs_to_come.interval.map(|(_, high)| high.0),
        energy_kwh: impact.energy.kilowatt_hours(),
        duration_s: epochs_to_come.time.seconds(),
        carbon_g: impact.carbon,
        warm_up_epochs: epochs_to_come.warm_up,
    })
}
