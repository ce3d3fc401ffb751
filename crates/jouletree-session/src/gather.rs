//! What the processes of a run left behind becomes one trace: their frameworks' traces, steps, windows and models.
//!
//! A process may have been killed while it wrote. Whatever can be read is used, and what cannot causes a warning.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use jouletree_host::whole;
use jouletree_model::{ModelTree, Process, Program, Step, TimeRange, Trace, Warning, redacted};
use jouletree_run::read_file;
use jouletree_trace::{
    Progress, ReadOptions, TraceError, find_traces, merge_traces, merge_with_model, read_model, read_trace,
};
use rayon::prelude::*;

use crate::{called, noted};

/// What a process says of itself.
const PROCESS: &str = "process.json";
/// Files of a process that are not traces.
const NOTES: [&str; 5] = [PROCESS, "steps.csv", "windows.csv", "warnings.txt", called::CALLS];
/// How files that hold models begin.
const MODEL: &str = "model-";

/// What one process left behind.
struct ProcessOutput {
    program: Program,
    model: ModelTree,
    traces: Vec<PathBuf>,
    warnings: Vec<Warning>,
}

/// Gathers what all processes left below `folder`. What `shows` makes of the files and their progress lives until they
/// are read.
pub fn gather<T>(folder: &Path, shows: impl FnOnce(&[&Path], Vec<Progress>) -> T) -> Result<Trace> {
    let mut processes: Vec<PathBuf> = fs::read_dir(folder)
        .with_context(|| format!("cannot read {}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir() && name_of(path) != called::PATCHED)
        .collect();
    processes.sort();
    let left: Vec<ProcessOutput> = processes.iter().map(|process| ProcessOutput::read(process)).collect();
    let files: Vec<&Path> = left.iter().flat_map(|left| left.traces.iter().map(PathBuf::as_path)).collect();
    let progress: Vec<Progress> = files.iter().map(|_| Progress::default()).collect();
    let _shown = shows(&files, progress.clone());
    let mut unused = progress.into_iter();
    let traces: Vec<Trace> = left.into_iter().map(|left| left.trace(&mut unused)).collect();
    Ok(merge_traces(traces))
}

/// Takes the secrets out of the command lines of processes whose traces are kept. What cannot be written again is removed.
pub fn redact_commands(folder: &Path) {
    for process in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = process.path().join(PROCESS);
        let Some(mut about) = read_file(&path).ok().and_then(|text| serde_json::from_slice::<Process>(&text).ok())
        else {
            continue;
        };
        let command = redacted(&about.command);
        if command == about.command {
            continue;
        }
        about.command = command;
        let text = serde_json::to_vec(&about).ok();
        if text.is_none_or(|text| whole::write(&path, &text).is_err()) {
            let _ = fs::remove_file(&path);
        }
    }
}

impl ProcessOutput {
    fn read(folder: &Path) -> ProcessOutput {
        let mut warnings = Vec::new();
        let process: Process = read_file(&folder.join(PROCESS))
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default();
        let spans = noted::spans(folder, &mut warnings);
        let lines = read_file(&folder.join("warnings.txt")).unwrap_or_default();
        let lines = String::from_utf8_lossy(&lines);
        let about = format!("process {}", process.pid);
        warnings.extend(lines.lines().map(|line| Warning::new(about.as_str(), line)));
        let mut model = ModelTree::default();
        for file in files_in(folder).iter().filter(|file| name_of(file).starts_with(MODEL) && file.is_file()) {
            match read_model(file) {
                Ok(tree) => model.merge(tree),
                Err(error) => warnings.push(Warning::new(about.as_str(), error.to_string())),
            }
        }
        let is_trace = |file: &PathBuf| {
            let is_ours = file.parent() == Some(folder);
            !(is_ours && (NOTES.contains(&name_of(file)) || name_of(file).starts_with(MODEL)))
        };
        let traces = find_traces(folder).unwrap_or_default().into_iter().filter(is_trace).collect();
        let program = Program { processes: vec![process], spans };
        ProcessOutput { program, model, traces, warnings }
    }

    /// Reads its traces and makes one of them, in which every event knows its step.
    fn trace(self, progress: &mut impl Iterator<Item = Progress>) -> Trace {
        let ProcessOutput { program, model, traces, warnings } = self;
        let options = ReadOptions { base: None, model, census: false };
        let traces: Vec<(PathBuf, Progress)> = traces.into_iter().zip(progress).collect();
        let read: Vec<Result<Trace, TraceError>> =
            traces.par_iter().map(|(file, progress)| read_trace(file, &options, progress)).collect();
        let mut whole = Vec::new();
        let mut lost = Vec::new();
        for ((file, _), read) in traces.iter().zip(read) {
            match read {
                Ok(trace) => whole.push(trace),
                // A profiler that was on while nothing ran.
                Err(TraceError::Empty { .. }) => {}
                Err(error) => lost.push(Warning::new(file.display().to_string(), error.to_string())),
            }
        }
        let mut trace = merge_with_model(whole, options.model);
        let mut steps: Vec<(TimeRange, Step)> = program.steps().map(|step| (step.range, step.step)).collect();
        steps.sort_unstable_by_key(|(range, _)| range.start);
        if !steps.is_empty() {
            trace.lanes = trace.lanes.into_iter().map(|lane| lane.in_steps(&steps)).collect();
        }
        trace.program.merge(program);
        trace.warnings.extend(lost);
        trace.warnings.extend(warnings);
        trace
    }
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    files
}

fn name_of(file: &Path) -> &str {
    file.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}
