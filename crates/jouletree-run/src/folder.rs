//! The run folder: everything about one run, as plain files that other programs open, too. It appears whole or not
//! at all and is never overwritten.

use std::fs;
use std::path::{Path, PathBuf};

use jouletree_host::whole::{PartialFolder, folder_of, move_files, sync_folder};
use jouletree_model::{Calls, Census, DeviceTable, Footprint, Lane, MeteredSeries, ModelTree, Program, Trace};

use crate::intervals::{read_intervals, write_intervals};
use crate::journal::HEADER;
use crate::manifest::{Manifest, replace_json, write_json};
use crate::power_parquet::{read_power_parquet, write_power_parquet};
use crate::recording::clear_journal;
use crate::resources::{GpuBusy, Resources, read_gpu_busy, read_resources};
use crate::{Accounting, RunError, calls, events, files, footprint, ops, program, recover};

pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const POWER: &str = "power.parquet";
const EVENTS: &str = "events.parquet";
const OPS: &str = "ops.parquet";
const FOOTPRINT: &str = "footprint.parquet";
const STEPS: &str = "steps.parquet";
const CHARGES: &str = "charges.parquet";
const SPANS: &str = "spans.parquet";
const TREE: &str = "tree.json";
const INTERVALS: &str = "intervals.parquet";
const CALLS: &str = "calls.parquet";
const SITES: &str = "sites.parquet";
pub(crate) const RESOURCES: &str = "resources.parquet";
pub(crate) const GPUS: &str = "gpus.parquet";
/// Where tables of an accounting are until all of them are written.
const ATTEMPT: &str = ".accounting";

/// A run on disk.
#[derive(Debug, Clone)]
pub struct RunFolder {
    path: PathBuf,
    manifest: Manifest,
}

/// What a run folder is made of.
#[derive(Debug, Clone)]
pub struct RunContents<'a> {
    /// How the run was accounted.
    pub accounting: Accounting,
    /// What ran when.
    pub trace: &'a Trace,
    /// The energy of each device over time.
    pub power: &'a [MeteredSeries],
    /// Where the energy went; its operations are those of the trace.
    pub footprint: &'a Footprint,
}

impl RunFolder {
    /// Writes a new run at `path`.
    pub fn create(path: &Path, contents: &RunContents<'_>) -> Result<RunFolder, RunError> {
        if !contents.trace.ops.iter().eq(contents.footprint.ops.iter()) {
            let problem = "the footprint's operations are not those of the trace".to_owned();
            return Err(RunError::Inconsistent(problem));
        }
        let manifest = Manifest::of(contents)?;
        if path.symlink_metadata().is_ok() || path.file_name().is_none() {
            return Err(RunError::Exists(path.to_owned()));
        }
        let parent = folder_of(path);
        fs::create_dir_all(parent).map_err(RunError::io(parent, "create the folder"))?;
        let partial = PartialFolder::with_mode(path, files::OWN_FOLDER)?;
        write_power_parquet(&partial.path().join(POWER), contents.power)?;
        write_tables(partial.path(), contents)?;
        write_json(&partial.path().join(MANIFEST), &manifest)?;
        partial.become_whole()?;
        Ok(RunFolder { path: path.to_owned(), manifest })
    }

    /// Adds the accounting to a run that holds a recording of power alone; its recording stays as it is. What is there
    /// already, of an attempt that failed or an accounting before, is replaced.
    pub fn complete(&self, contents: &RunContents<'_>) -> Result<RunFolder, RunError> {
        let recorded = &self.manifest;
        let mut manifest = Manifest { recording: recorded.recording.clone(), ..Manifest::of(contents)? };
        manifest.warnings.extend(recorded.warnings.iter().cloned());
        let attempt = self.path.join(ATTEMPT);
        let _ = fs::remove_dir_all(&attempt);
        files::create_folder(&attempt).map_err(RunError::io(&attempt, "create the folder"))?;
        let tables = write_tables(&attempt, contents)?;
        move_files(&attempt, &self.path, &tables)?;
        // With the manifest the accounting is a part of the run.
        replace_json(&self.path.join(MANIFEST), &manifest)?;
        sync_folder(&self.path)?;
        let _ = fs::remove_dir_all(&attempt);
        Ok(RunFolder { path: self.path.clone(), manifest })
    }

    /// Opens the run at `path`. A recording whose recorder died before its end is finished first.
    pub fn open(path: &Path) -> Result<RunFolder, RunError> {
        if !RunFolder::is_at(path) {
            return Err(RunError::NotARun(path.to_owned()));
        }
        if !path.join(MANIFEST).is_file() {
            return recover(path);
        }
        if path.join(HEADER).is_file() {
            // The process that finished it was stopped while tidying up.
            clear_journal(path);
        }
        RunFolder::open_whole(path)
    }

    /// Opens the run at `path`, which is whole.
    pub(crate) fn open_whole(path: &Path) -> Result<RunFolder, RunError> {
        let manifest = Manifest::read(&path.join(MANIFEST))?;
        Ok(RunFolder { path: path.to_owned(), manifest })
    }

    /// Whether `path` is a folder that holds a run, be it one that is not finished.
    pub fn is_at(path: &Path) -> bool {
        path.join(MANIFEST).is_file() || path.join(HEADER).is_file()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it is and how it was accounted.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// What ran when, read by at most `threads` threads.
    pub fn read_trace(&self, threads: usize) -> Result<Trace, RunError> {
        self.check_accounted()?;
        let header = &self.manifest.trace;
        let ops = ops::read_ops(&self.file(OPS))?;
        let events = events::read_events(&self.file(EVENTS), header.lanes.len(), ops.len(), threads)?;
        let devices: DeviceTable = header.devices.iter().collect();
        let lanes = header.lanes.iter().zip(events).map(|(lane, events)| {
            let device = devices.number_of(&lane.device).ok_or_else(|| {
                let problem =
                    format!("lane `{}` is on {}, which is not among the devices", lane.label, lane.device);
                RunError::content(&self.file(MANIFEST), problem)
            })?;
            Ok(Lane::new(device, lane.label.as_str(), events))
        });
        Ok(Trace {
            lanes: lanes.collect::<Result<_, RunError>>()?,
            sources: self.manifest.sources.clone(),
            devices,
            ops,
            model: self.read_model()?,
            program: self.read_program()?,
            census: Census::default(),
            warnings: header.warnings.clone(),
        })
    }

    /// The energy of each device over time.
    pub fn read_power(&self) -> Result<Vec<MeteredSeries>, RunError> {
        read_power_parquet(&self.file(POWER))
    }

    /// Where the energy went.
    pub fn read_footprint(&self) -> Result<Footprint, RunError> {
        self.check_accounted()?;
        let devices = self.manifest.devices.clone();
        let ops = ops::read_ops(&self.file(OPS))?;
        let (steps, charges, intervals) = (self.file(STEPS), self.file(CHARGES), self.file(INTERVALS));
        let (stages, parts) = (&self.manifest.stages, &self.manifest.parts);
        Ok(Footprint {
            sources: self.manifest.sources.clone(),
            energies: footprint::read_energies(&self.file(FOOTPRINT), &devices, stages, ops.len())?,
            charges: match parts.as_slice() {
                [] => Vec::new(),
                parts => footprint::read_charges(&charges, &devices, stages, parts, ops.len())?,
            },
            stages: stages.clone(),
            parts: parts.clone(),
            steps: if steps.exists() { footprint::read_steps(&steps, &devices)? } else { Vec::new() },
            intervals: if intervals.exists() { read_intervals(&intervals)? } else { Vec::new() },
            model: self.read_model()?,
            warnings: self.manifest.warnings.clone(),
            errors: Vec::new(),
            devices,
            ops,
        })
    }

    /// What the program reported about itself.
    pub fn read_program(&self) -> Result<Program, RunError> {
        let path = self.file(SPANS);
        let spans = if path.exists() { program::read_spans(&path)? } else { Vec::new() };
        Ok(Program { processes: self.manifest.processes.clone(), spans })
    }

    /// How busy the machine and the process tree were; nothing where it was not sampled.
    pub fn read_resources(&self) -> Result<Vec<Resources>, RunError> {
        let path = self.file(RESOURCES);
        if path.exists() { read_resources(&path) } else { Ok(Vec::new()) }
    }

    /// How busy its GPUs were; nothing where it was not sampled.
    pub fn read_gpu_busy(&self) -> Result<Vec<GpuBusy>, RunError> {
        let path = self.file(GPUS);
        if path.exists() { read_gpu_busy(&path) } else { Ok(Vec::new()) }
    }

    /// The calls of library functions that were recorded; none where they were not asked for.
    pub fn read_calls(&self) -> Result<Calls, RunError> {
        let (sites, path) = (self.file(SITES), self.file(CALLS));
        if path.exists() { calls::read_calls(&sites, &path) } else { Ok(Calls::default()) }
    }

    /// Keeps the calls of library functions; replaces those that are there.
    pub fn write_calls(&self, calls: &Calls) -> Result<(), RunError> {
        let attempt = self.path.join(ATTEMPT);
        let _ = fs::remove_dir_all(&attempt);
        files::create_folder(&attempt).map_err(RunError::io(&attempt, "create the folder"))?;
        calls::write_calls(&attempt.join(SITES), &attempt.join(CALLS), calls)?;
        // Calls name sites by number: the sites of both tables are there before the calls.
        move_files(&attempt, &self.path, &[SITES, CALLS])?;
        let _ = fs::remove_dir_all(&attempt);
        Ok(())
    }

    /// The model that ran, as far as it is known.
    pub fn read_model(&self) -> Result<ModelTree, RunError> {
        let path = self.file(TREE);
        let text = files::read_file(&path).map_err(RunError::io(&path, "read the file"))?;
        serde_json::from_slice(&text).map_err(|error| {
            RunError::content(&path, format!("not a model tree ({error}); restore it from a copy"))
        })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn check_accounted(&self) -> Result<(), RunError> {
        let only_recorded = || RunError::OnlyRecorded(self.path.clone());
        self.manifest.accounting.as_ref().map(drop).ok_or_else(only_recorded)
    }
}

/// Writes the tables of an accounting; returns their names.
fn write_tables(folder: &Path, contents: &RunContents<'_>) -> Result<Vec<&'static str>, RunError> {
    let RunContents { trace, footprint, .. } = contents;
    let file = |name: &str| folder.join(name);
    let mut written = vec![EVENTS, OPS, FOOTPRINT, TREE];
    events::write_events(&file(EVENTS), trace)?;
    ops::write_ops(&file(OPS), &trace.ops, &trace.model)?;
    footprint::write_energies(&file(FOOTPRINT), footprint)?;
    write_json(&file(TREE), &trace.model)?;
    if !footprint.steps.is_empty() {
        footprint::write_steps(&file(STEPS), footprint)?;
        written.push(STEPS);
    }
    if !footprint.parts.is_empty() {
        footprint::write_charges(&file(CHARGES), footprint)?;
        written.push(CHARGES);
    }
    if !footprint.intervals.is_empty() {
        write_intervals(&file(INTERVALS), &footprint.intervals)?;
        written.push(INTERVALS);
    }
    if !trace.program.is_empty() {
        program::write_spans(&file(SPANS), &trace.program)?;
        written.push(SPANS);
    }
    Ok(written)
}
