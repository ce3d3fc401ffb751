//! Inputs: trace files, run folders and power files as the user names them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use jouletree_account::{Rule, energy_series};
use jouletree_model::{Nanos, Trace, Warning};
use jouletree_run::{MeteredSeries, PowerInput, RunFolder, read_power};
use jouletree_trace::{Progress, read_trace};
use rayon::prelude::*;

use crate::progress::ReadingBar;

/// Reads traces, several at once, and makes one of them.
pub fn traces(paths: &[PathBuf]) -> Result<Trace> {
    let mut seen = BTreeSet::new();
    for path in paths {
        // A path that cannot be resolved is reported when it is read.
        if !seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
            bail!("{}: given twice; its events would count twice", path.display());
        }
    }
    let progress: Vec<Progress> = paths.iter().map(|_| Progress::default()).collect();
    let _bar = ReadingBar::over(paths, progress.clone());
    let traces: Vec<Result<Trace>> =
        paths.par_iter().zip(&progress).map(|(path, progress)| one_trace(path, progress)).collect();
    let mut merged = Trace::default();
    for trace in traces {
        merged.merge(trace?);
    }
    Ok(merged)
}

fn one_trace(path: &Path, progress: &Progress) -> Result<Trace> {
    if path.is_dir() {
        return Ok(RunFolder::open(path)?.read_trace(rayon::current_num_threads())?);
    }
    Ok(read_trace(path, progress)?)
}

/// Reads the energy of every device from power files, and from the run folders among `traces` if there are none.
pub fn power(
    files: &[PathBuf],
    traces: &[PathBuf],
    rule: Option<Rule>,
    hold: Nanos,
) -> Result<(Vec<MeteredSeries>, Vec<Warning>)> {
    let own: Vec<PathBuf> = traces.iter().filter(|path| path.is_dir()).cloned().collect();
    let files = if files.is_empty() { &own } else { files };
    if files.is_empty() {
        bail!("there is no power to account: give --power FILE, a CSV with time, device and watts or joules");
    }
    let mut series: Vec<MeteredSeries> = Vec::new();
    let mut warnings = Vec::new();
    for file in files {
        for metered in metered(read_power(file)?, file, rule, hold, &mut warnings)? {
            let known =
                series.iter().any(|known| known.device == metered.device && known.domain == metered.domain);
            if known {
                bail!(
                    "{}: {} has power from another file already; give each device's power once",
                    file.display(),
                    metered.device
                );
            }
            series.push(metered);
        }
    }
    Ok((series, warnings))
}

fn metered(
    input: PowerInput,
    file: &Path,
    rule: Option<Rule>,
    hold: Nanos,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<MeteredSeries>> {
    let file = file.display().to_string();
    match input {
        PowerInput::Series(series) => {
            if rule.is_some() || hold > Nanos(0) {
                let message = "--rule and --hold do not apply: a run keeps energy, not readings";
                warnings.push(Warning::new(file, message));
            }
            Ok(series)
        }
        PowerInput::Records(power) => {
            warnings.extend(power.warnings);
            let series = power.records.into_iter().map(|record| {
                let rule = rule.unwrap_or_else(|| Rule::for_unit(record.unit));
                let series = energy_series(&record, rule, hold, &file, warnings)?;
                Ok(MeteredSeries { device: record.device, domain: record.domain, kind: record.kind, series })
            });
            series.collect()
        }
    }
}
