//! `jouletree detect`: what of this machine is seen and how it is metered, in the words that users of CodeCarbon know.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use jouletree_carbon::Intensity;
use jouletree_carbon::formats::Machine;
use jouletree_meter::inventory::Inventory;
use jouletree_meter::nvml::model_in;
use jouletree_model::DeviceClass;
use jouletree_run::HostFacts;
use serde::Serialize;

use crate::carbon::{CarbonArgs, WHERE, of_run};
use crate::cli::InspectFormat;
use crate::meter_args::MeterArgs;
use crate::{json, print};

pub const EXAMPLES: &str = "\
Examples:
  jouletree detect                                 processor, memory, GPUs, meters and place
  jouletree detect --country ITA --format json
  jouletree doctor                                 more about meters, and how to get better ones";

#[derive(Args)]
pub struct DetectArgs {
    #[command(flatten)]
    carbon: CarbonArgs,
    /// How the result is written
    #[arg(long, value_enum, default_value = "table")]
    format: InspectFormat,
    #[command(flatten)]
    meters: MeterArgs,
}

#[derive(Serialize)]
struct Detected {
    cpu_model: Option<String>,
    cpu_count: Option<u64>,
    ram_total_gib: Option<f64>,
    gpu_count: usize,
    gpu_model: Option<String>,
    os: Option<String>,
    meters: Vec<MeterRow>,
    country: Option<String>,
    region: Option<String>,
    cloud: Option<String>,
    intensity: Option<Intensity>,
}

#[derive(Serialize)]
struct MeterRow {
    device: String,
    kind: String,
    source: String,
    used: bool,
    reason: Option<String>,
}

/// Runs the command.
pub fn run(arguments: &DetectArgs) -> Result<ExitCode> {
    let context = arguments.carbon.context()?;
    let sources = arguments.meters.options().sources();
    let host = HostFacts::of(&sources.roots);
    let machine = of_run::machine(&host);
    let inventory = Inventory::take(&sources);
    let sensors = jouletree_session::diagnosis::sensors(&inventory);
    // Those that a driver lists, whether they report their power or not; where there is no driver, its name is all there is.
    let gpus =
        sensors.iter().filter(|sensor| sensor.device.class() == DeviceClass::Gpu && sensor.domain.is_none());
    let gpus = gpus.filter(|sensor| sensor.usable || model_in(&sensor.source) != sensor.source);
    let gpus: Vec<String> = gpus.map(|sensor| model_in(&sensor.source).to_owned()).collect();
    let machine = Machine { gpus, ..machine };
    let meters = sensors.into_iter().map(|sensor| MeterRow {
        device: sensor.device.to_string(),
        kind: sensor.kind.to_string(),
        source: sensor.source.to_string(),
        used: sensor.usable,
        reason: sensor.reason,
    });
    let detected = Detected {
        cpu_model: host.cpu,
        cpu_count: host.cpus,
        ram_total_gib: machine.memory_gib,
        gpu_count: machine.gpus.len(),
        gpu_model: Some(machine.gpu_model()).filter(|model| !model.is_empty()),
        os: host.os,
        meters: meters.collect(),
        country: context.place.country().map(|country| format!("{} ({})", country.name, country.iso3)),
        region: context.place.grid.map(|grid| grid.name.clone()),
        cloud: context.place.cloud.map(|cloud| match cloud.region {
            Some(region) => region.zone(),
            None => cloud.provider.to_owned(),
        }),
        intensity: context.intensity,
    };
    print(&match arguments.format {
        InspectFormat::Json => json::written(&detected)?,
        InspectFormat::Table => text(&detected),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn text(detected: &Detected) -> String {
    let or_unknown = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let mut lines = vec![
        "Hardware".to_owned(),
        format!(
            "- Memory: {}",
            detected.ram_total_gib.map_or("unknown".to_owned(), |size| format!("{size:.1} GiB"))
        ),
        format!(
            "- CPU count: {}",
            detected.cpu_count.map_or("unknown".to_owned(), |count| format!("{count} thread(s)"))
        ),
        format!("- CPU model: {}", or_unknown(&detected.cpu_model)),
        format!("- GPU count: {}", detected.gpu_count),
        format!("- GPU model: {}", detected.gpu_model.as_deref().unwrap_or("none")),
        format!("- System: {}", or_unknown(&detected.os)),
        "Meters".to_owned(),
    ];
    for meter in &detected.meters {
        let state = match (&meter.reason, meter.used) {
            (_, true) => meter.kind.clone(),
            (Some(reason), _) => format!("not used: {reason}"),
            (None, _) => "not used".to_owned(),
        };
        lines.push(format!("- {}: {} ({state})", meter.device, meter.source));
    }
    lines.push("Place".to_owned());
    lines.push(format!("- Country: {}", or_unknown(&detected.country)));
    lines.push(format!("- Region: {}", or_unknown(&detected.region)));
    lines.push(format!("- Cloud: {}", detected.cloud.as_deref().unwrap_or("none")));
    lines.push(match &detected.intensity {
        Some(intensity) => format!("- Carbon intensity: {intensity}"),
        None => format!("- Carbon intensity: unknown; {WHERE}"),
    });
    lines.join("\n") + "\n"
}
