//! The end of a run: what its processes left is gathered, accounted and kept in the run's folder.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use jouletree_account::Attribution;
use jouletree_model::MeteredSeries;
use jouletree_run::{RunFolder, Scope, accounted};
use jouletree_trace::Progress;
use tracing::info;

use crate::accounting::{Accounted, Method, account};
use crate::timings::Timings;
use crate::{called, gather};

/// Where the processes of a run leave their traces, in its folder.
pub const TRACES: &str = "traces";

/// A run that has been accounted, with all that was read for it: its page and report need no file again.
pub struct Finished {
    /// The run, whole.
    pub run: RunFolder,
    /// All that was metered, by device, domain and process tree.
    pub power: Vec<MeteredSeries>,
    /// What was accounted, and the result.
    pub accounted: Accounted,
}

/// Accounts a recording and keeps the result in its folder; `shows` gets the progress of reading.
pub fn finish<T>(
    recording: &RunFolder,
    attribution: Attribution,
    timings: &mut Timings,
    shows: impl FnOnce(&[&Path], Vec<Progress>) -> T,
) -> Result<Finished> {
    let began = Instant::now();
    let power = recording.read_power()?;
    info!(series = power.len(), took = ?began.elapsed(), "power read");
    timings.stage("power", None);
    let traces = recording.path().join(TRACES);
    let began = Instant::now();
    let mut trace = gather::gather(&traces, shows)?;
    info!(processes = trace.program.processes.len(), events = trace.event_count(), took = ?began.elapsed(), "traces gathered");
    let (calls, warnings) = called::gather(&traces);
    trace.warnings.extend(warnings);
    timings.stage("read", Some(format!("{} events", trace.event_count())));
    let accounted = account(trace, accounted(power.clone(), Scope::Tree), Method::recorded(attribution))?;
    timings.stage("align", Some(format!("{} operations", accounted.footprint.energies.len())));
    if !calls.is_empty() {
        recording.write_calls(&calls)?;
        // The program as it ran is kept beside its calls; where that fails, only a copy is lost.
        let _ = fs::rename(traces.join(called::PATCHED), recording.path().join(called::PATCHED));
    }
    let run = accounted.complete(recording)?;
    timings.stage("keep", None);
    Ok(Finished { run, power, accounted })
}

/// Opens a run; one whose recorder was killed before it could account is accounted first.
pub fn open<T>(path: &Path, shows: impl FnOnce(&[&Path], Vec<Progress>) -> T) -> Result<RunFolder> {
    let run = RunFolder::open(path)?;
    if run.manifest().accounting.is_none() && path.join(TRACES).is_dir() {
        return finish(&run, Attribution::default(), &mut Timings::start(), shows).map(|finished| finished.run);
    }
    Ok(run)
}
