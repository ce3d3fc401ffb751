//! A run in the files of other trackers.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use jouletree_carbon::formats::{
    Cell, Mode, Record, boamps, carbontracker, codecarbon, eco2ai, impact_tracker, write_row_or_report,
    write_side_file,
};
use jouletree_carbon::sci;
use jouletree_carbon::settings::{Key, Layer, Settings};
use jouletree_model::{DeviceClass, Kind, Nanos, TimeRange, Warning};
use jouletree_run::{MeteredSeries, Resources, RunFolder, Scope, accounted};
use serde_json::{Value, json};

use super::{ExportArgs, Target, name_of};
use crate::carbon::{self, of_run};
use crate::{print, print_warnings};

/// Whose files are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracker {
    CodeCarbon,
    Eco2ai,
    CarbonLog,
    ImpactSamples,
    Boamps,
    Sci,
}

/// How long a sample of experiment-impact-tracker is.
const SAMPLE: Nanos = Nanos(1_000_000_000);

/// Writes what a tracker would have written of this run.
pub fn run(tracker: Tracker, run: &RunFolder, arguments: &ExportArgs) -> Result<ExitCode> {
    let settings = settings(run, arguments)?;
    let mut warnings = Vec::new();
    let record = of_run::record(run, &settings, arguments.carbon.context()?, &mut warnings)?;
    let power = run.read_power()?;
    let cost = || carbon::cost(&record, Some(&power));
    let output = arguments.output.as_deref();
    match tracker {
        Tracker::CodeCarbon => {
            if record.context.intensity.is_none() {
                bail!(
                    "a row of emissions.csv needs the carbon intensity: {}; or --allow-world-average",
                    carbon::WHERE
                );
            }
            let path = output.map_or_else(|| settings.emissions_csv(), Path::to_owned);
            let row = codecarbon::row(&record, of_run::utilization(run)?);
            if let Some(path) = add_row(&path, &row, "run_id", &mut warnings)? {
                write_side_file(&path, &record)?;
            }
        }
        Tracker::Eco2ai => {
            let path = output.map_or_else(|| PathBuf::from("emission.csv"), Path::to_owned);
            let description = settings.text(Key::Experiment).unwrap_or_default();
            add_row(&path, &eco2ai::row(&record, &description, "", cost()), "id", &mut warnings)?;
        }
        Tracker::CarbonLog => {
            write(arguments, "_carbontracker_output.log", &carbontracker::log(&record, 1))?;
        }
        Tracker::ImpactSamples => {
            let samples = samples(&record, &power, &run.read_resources()?);
            write(arguments, ".impact.jsonl", &impact_tracker::lines(&samples))?;
        }
        Tracker::Boamps => {
            write(arguments, ".boamps.json", &crate::json::written(&boamps::report(&record))?)?;
        }
        Tracker::Sci => write(arguments, ".sci.json", &crate::json::written(&score(&record, arguments.units))?)?,
    }
    if record.context.intensity.is_none() {
        warnings.push(Warning::new(name_of(&arguments.run), format!("its carbon is unknown: {}", carbon::WHERE)));
    }
    print_warnings(&warnings);
    Ok(ExitCode::SUCCESS)
}

/// The settings; a project without a name has that of the program, so that tables keep programs apart.
fn settings(run: &RunFolder, arguments: &ExportArgs) -> Result<Settings> {
    let mut settings = arguments.carbon.settings()?;
    if let Some(name) = &arguments.project_name {
        settings.set(Key::Project, name.as_str(), Layer::Flag("--project-name".to_owned()));
    } else if settings.value(Key::Project).is_none_or(|value| value.layer == Layer::Default) {
        let name = jouletree_report::program_name(run).unwrap_or_else(|| name_of(&arguments.run));
        settings.set(Key::Project, name, Layer::Default);
    }
    Ok(settings)
}

/// Adds a row to a table, or prints it below its columns; says where it went.
fn add_row(
    path: &Path,
    row: &[(&'static str, Cell)],
    key: &'static str,
    warnings: &mut Vec<Warning>,
) -> Result<Option<PathBuf>> {
    if path == Path::new("-") {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(row.iter().map(|(column, _)| *column))?;
        writer.write_record(row.iter().map(|(_, cell)| cell.text()))?;
        print(&String::from_utf8(writer.into_inner()?)?)?;
        return Ok(None);
    }
    let mut complaints = Vec::new();
    let written = write_row_or_report(path, row, Mode::Update(key), &mut complaints);
    warnings.extend(complaints.into_iter().map(|complaint| Warning::new(path.display().to_string(), complaint)));
    if written.is_none() {
        print_warnings(warnings);
    }
    let written = written.context("the row was not written")?;
    writeln_stderr!("jouletree: one row in {}", written.display());
    Ok(Some(written))
}

/// Writes a new file.
fn write(arguments: &ExportArgs, suffix: &str, text: &str) -> Result<()> {
    let target = Target::new(arguments.output.as_deref(), &name_of(&arguments.run), suffix, false)?;
    target.write(|output| Ok(output.write_all(text.as_bytes())?))
}

/// A run second by second: all power and the program's part, and what it used of processors and memory.
fn samples(record: &Record, power: &[MeteredSeries], resources: &[Resources]) -> Vec<impact_tracker::Sample> {
    let (whole, ours) = (accounted(power.to_vec(), Scope::Device), accounted(power.to_vec(), Scope::Tree));
    let kind = record.parts.kind().unwrap_or(Kind::Estimated);
    let watts = |series: &[MeteredSeries], range: TimeRange, is_gpu: bool| -> f64 {
        let chosen = series.iter().filter(|metered| metered.is_whole() && of_class(metered, is_gpu));
        let joules = chosen.flat_map(|metered| metered.series.spans_within(range));
        // The sum of nothing is minus zero.
        let joules =
            joules.map(|span| span.power.0 * span.range.duration().seconds()).fold(0.0, |sum, one| sum + one);
        joules / range.duration().seconds().max(1e-9)
    };
    // The meters may have been heard a little before and after.
    let extents = || whole.iter().filter_map(|metered| metered.series.extent());
    let mut start = extents().map(|extent| extent.start).fold(record.start, Nanos::min);
    let last = extents().map(|extent| extent.end).fold(record.end, Nanos::max);
    let mut samples = Vec::new();
    while start < last {
        let range = TimeRange { start, end: (start + SAMPLE).min(last) };
        let within: Vec<&Resources> =
            resources.iter().filter(|row| range.start < row.at && row.at <= range.end).collect();
        let mean = |of: &dyn Fn(&Resources) -> Option<f64>| of_run::mean(within.iter().filter_map(|row| of(row)));
        let of = |part: f64, whole: f64| (whole > 0.0).then(|| (part / whole).min(1.0));
        let threads = record.machine.threads.map(|threads| threads as f64);
        samples.push(impact_tracker::Sample {
            timestamp: range.end.0 as f64 * 1e-9,
            rapl_power_draw_absolute: watts(&whole, range, false),
            rapl_estimated_attributable_power_draw: watts(&ours, range, false),
            nvidia_draw_absolute: watts(&whole, range, true),
            nvidia_estimated_attributable_power_draw: watts(&ours, range, true),
            absolute_cpu_utilization: mean(&|row| Some(row.cpus)),
            average_relative_cpu_utilization: mean(&|row| of(row.cpus, row.machine_busy? * threads?)),
            absolute_mem_usage: mean(&|row| Some(row.memory as f64)),
            absolute_mem_percent_usage: mean(&|row| of(row.memory as f64, row.memory_total? as f64)),
            relative_mem_usage: mean(&|row| of(row.memory as f64, row.memory_used()? as f64)),
            realtime_carbon_intensity: record.context.intensity.as_ref().map(|intensity| intensity.value.0),
            kind: kind.to_string(),
        });
        start = range.end;
    }
    samples
}

/// Whether a series is of a GPU, or of a processor and its memory.
fn of_class(metered: &MeteredSeries, is_gpu: bool) -> bool {
    match metered.device.class() {
        DeviceClass::Gpu => is_gpu,
        DeviceClass::Cpu | DeviceClass::Dram => !is_gpu,
        DeviceClass::Machine => false,
    }
}

/// Operational and embodied grams for one unit of use; the score is null without units or without an intensity.
fn score(record: &Record, units: Option<f64>) -> Value {
    let (impact, embodied) = (record.impact(), of_run::embodied(record));
    let score = units.and_then(|units| sci(impact.carbon?, embodied.unwrap_or_default(), units));
    json!({
        "standard": "ISO/IEC 21031",
        "energy_kwh": impact.energy.kilowatt_hours(),
        "intensity": record.context.intensity,
        "operational_g": impact.carbon,
        "embodied_g": embodied,
        "units": units,
        "sci_g_per_unit": score,
        "kind": record.parts.kind(),
    })
}
