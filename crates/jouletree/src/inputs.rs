//! Inputs: trace files, run folders and power files as the user names them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use jouletree_account::{Rule, Spreads, energy_series, rule_for_unit};
use jouletree_model::{Census, Nanos, Trace, Warning};
use jouletree_run::{MeteredSeries, PowerInput, Recording, RunFolder, Scope, accounted, read_power};
use jouletree_trace::{Progress, ReadOptions, TraceError, find_traces, merge_with_model, read_model, read_trace};
use rayon::prelude::*;

use crate::cli::InputArgs;
use crate::progress::ReadingBar;

/// Reads traces, several at once, and makes one of them.
pub fn traces(input: &InputArgs, census: bool) -> Result<Trace> {
    let model = input.model.as_deref().map(read_model).transpose()?.unwrap_or_default();
    let options = ReadOptions { base: input.base_ns.map(Nanos), model, census };
    let files = files(&input.traces)?;
    let progress: Vec<Progress> = files.iter().map(|_| Progress::default()).collect();
    let _bar = ReadingBar::over(files.iter().map(|file| file.path.as_path()), progress.clone());
    let traces = files.par_iter().zip(&progress).map(|(file, progress)| one_trace(file, &options, progress));
    let traces: Vec<Result<Option<Trace>>> = traces.collect();
    let traces: Vec<Trace> = traces.into_iter().filter_map(Result::transpose).collect::<Result<_>>()?;
    if traces.is_empty() {
        bail!("none of the {} files holds an operation", files.len());
    }
    Ok(merge_with_model(traces, options.model))
}

/// A file or run folder that the user means.
struct Input {
    path: PathBuf,
    /// Whether the user named it; else it was found in a folder and may turn out to hold nothing.
    is_named: bool,
}

/// The trace files and run folders that the user means; a folder that is no run means the traces in it.
fn files(paths: &[PathBuf]) -> Result<Vec<Input>> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() && !RunFolder::is_at(path) {
            files.extend(find_traces(path)?.into_iter().map(|path| Input { path, is_named: false }));
        } else {
            files.push(Input { path: path.clone(), is_named: true });
        }
    }
    let mut seen = BTreeSet::new();
    for Input { path, .. } in &files {
        // A path that cannot be resolved is reported when it is read.
        if !seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
            bail!("{}: given twice; its events would count twice", path.display());
        }
    }
    Ok(files)
}

/// Reads one of them; `None` when it was found in a folder and holds nothing.
fn one_trace(
    Input { path, is_named }: &Input,
    options: &ReadOptions,
    progress: &Progress,
) -> Result<Option<Trace>> {
    if path.is_dir() {
        let mut trace = RunFolder::open(path)?.read_trace(rayon::current_num_threads())?;
        if options.census {
            trace.census = Census::of_operations(&trace);
        }
        return Ok(Some(trace));
    }
    match read_trace(path, options, progress) {
        Err(TraceError::Empty { .. }) if !is_named => Ok(None),
        read => Ok(Some(read?)),
    }
}

/// Reads the energy of every device from power files, and from the run folders among `traces` if there are none.
pub fn power(
    files: &[PathBuf],
    traces: &[PathBuf],
    rule: Option<Rule>,
    hold: Nanos,
    of: Scope,
) -> Result<(Vec<MeteredSeries>, Vec<Warning>)> {
    let files = power_files(files, traces);
    if files.is_empty() {
        bail!("there is no power to account: give --power FILE, a CSV with time, device and watts or joules");
    }
    let same = |one: &MeteredSeries, other: &MeteredSeries| {
        (&one.device, &one.domain, one.scope) == (&other.device, &other.domain, other.scope)
    };
    let mut series: Vec<MeteredSeries> = Vec::new();
    let mut warnings = Vec::new();
    for file in &files {
        let input = read_power(file)?;
        if file.is_dir() {
            warnings.extend(jouletree_report::lasting_warnings(&RunFolder::open(file)?));
        }
        for metered in metered(input, file, rule, hold, &mut warnings)? {
            if series.iter().any(|known| same(known, &metered)) {
                bail!(
                    "{}: {} has power from another file already; give each device's power once",
                    file.display(),
                    metered.device
                );
            }
            series.push(metered);
        }
    }
    Ok((accounted(series, of), warnings))
}

/// Where power is read: the run folders among the traces bring their own.
fn power_files(files: &[PathBuf], traces: &[PathBuf]) -> Vec<PathBuf> {
    match files {
        [] => traces.iter().filter(|path| RunFolder::is_at(path)).cloned().collect(),
        files => files.to_vec(),
    }
}

/// By what the energies of devices may be off whose power was recorded by jouletree; of other power nothing is known.
pub fn spreads(files: &[PathBuf], traces: &[PathBuf]) -> Spreads {
    let files = power_files(files, traces);
    // What cannot be opened was reported when its power was read.
    let runs = files.iter().filter(|file| RunFolder::is_at(file)).filter_map(|file| RunFolder::open(file).ok());
    let known = |run: RunFolder| run.manifest().recording.iter().flat_map(|one| one.spreads()).collect::<Vec<_>>();
    runs.flat_map(known).collect()
}

/// The recording that the power is of, if all of it is of one.
pub fn recording(files: &[PathBuf], traces: &[PathBuf]) -> Option<Recording> {
    let files = power_files(files, traces);
    let [only] = files.as_slice() else { return None };
    RunFolder::is_at(only).then(|| RunFolder::open(only).ok()?.manifest().recording.clone()).flatten()
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
                let rule = rule.unwrap_or_else(|| rule_for_unit(record.unit));
                let series = energy_series(&record, rule, hold, &file, warnings)?;
                Ok(MeteredSeries {
                    device: record.device,
                    domain: record.domain,
                    scope: Scope::Device,
                    kind: record.kind,
                    series,
                })
            });
            series.collect()
        }
    }
}
