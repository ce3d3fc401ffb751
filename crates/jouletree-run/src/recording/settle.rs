//! A journal becomes a run: tables, then the manifest, and only then is the journal removed.
//!
//! Everything is written inside the journal's folder and renamed when it is whole. Whatever happens on the way, the
//! journal is still there and all of it can be done again, with the same result.

use std::fs;
use std::path::Path;

use jouletree_host::whole::move_files;
use jouletree_model::sampling::{Anchor, Anchors, GpuSample, Mono, ResourceSample, ShareSample, What};
use jouletree_model::{Nanos, Warning};

use super::meters::{Metered, write_power};
use super::tables::{Tabled, write_table};
use super::{Balance, Clocks, IncidentRecord, Recording};
use crate::folder::{MANIFEST, POWER, RunFolder};
use crate::journal::{
    BatchRow, EndingRecord, HEADER, IncidentRow, JOURNAL, RecordingHeader, SensorRecord, StreamIn, lock,
};
use crate::manifest::{Manifest, replace_json};
use crate::{RunError, files};

/// At most so many incidents are kept.
const MOST_INCIDENTS: usize = 100;
/// Periods in a file are believed in these bounds.
const PERIODS: (i64, i64) = (1_000_000, 60_000_000_000);

/// Finishes the recording at `path`, whose recorder died or could not finish it. Everything up to the first damage is
/// used, and the warnings of its manifest say what was lost.
pub fn recover(path: &Path) -> Result<RunFolder, RunError> {
    let header = RecordingHeader::read(path)?;
    let _held = lock(path, &header)?;
    if path.join(MANIFEST).is_file() {
        // Another process was faster.
        return RunFolder::open_whole(path);
    }
    settle(path).map_err(|source| RunError::unfinished(path, source))
}

/// The same for a recording that this process holds.
pub(crate) fn settle(run: &Path) -> Result<RunFolder, RunError> {
    let header = RecordingHeader::read(run)?;
    let mut warnings = Vec::new();
    let about = run.display().to_string();
    let ending = EndingRecord::read(run).unwrap_or_else(|error| {
        warnings.push(Warning::new(about.as_str(), format!("its end is not known: {error}")));
        None
    });
    if ending.is_none() {
        let message = "the recorder was cut off before its end; what it had written is shown";
        warnings.push(Warning::new(about.as_str(), message));
    }
    let journal = run.join(JOURNAL);
    if !journal.is_dir() {
        files::create_folder(&journal).map_err(RunError::io(&journal, "create the folder"))?;
    }
    let (anchors, clocks) = anchors(run, &header, &mut warnings);
    let sensors = sensors(&header, ending.as_ref());
    let period = Nanos(header.period_ns.clamp(PERIODS.0, PERIODS.1));
    let power = fresh(&journal, POWER)?;
    let metered = write_power(run, &power, &sensors, period, &anchors, header.pid.is_some())?;
    let Metered { meters, samples, latest, warnings: more } = metered;
    warnings.extend(more);
    let ended = ending.as_ref().map(|ending| Mono(ending.ended_mono_ns)).max(latest);
    let length = ended.map_or(Nanos(0), |ended| ended - header.anchor().mono).max(Nanos(0));
    let balance = meters.into_iter().map(|meter| Balance::of(meter, length)).collect::<Result<_, _>>()?;
    let mut tables = vec![POWER];
    tables.extend(table::<ShareSample>(run, &anchors, None)?);
    tables.extend(table::<ResourceSample>(run, &anchors, Some(&mut warnings))?);
    tables.extend(table::<GpuSample>(run, &anchors, None)?);
    let (incidents, incidents_left_out) = incidents(run, &sensors, &anchors, &mut warnings);
    let lost_samples = lost(run, &mut warnings);
    warnings.extend(missing(&about, ending.as_ref(), samples, lost_samples));
    let recording = Recording {
        command: header.command,
        pid: header.pid,
        host: header.host,
        began_ns: header.began_ns,
        duration_ns: length.0,
        exit: ending.as_ref().and_then(|ending| ending.exit),
        complete: ending.is_some(),
        period_ns: header.period_ns,
        share_source: header.share_source,
        sensors,
        balance,
        clocks,
        samples,
        lost_samples,
        sampler: ending.as_ref().map(|ending| ending.sampler.clone()),
        tree_time_ns: ending.as_ref().map(|ending| ending.tree_time_ns),
        own_time_ns: ending.as_ref().map(|ending| ending.own_time_ns),
        incidents,
        incidents_left_out,
        remarks: ending.map(|ending| ending.remarks).unwrap_or_default(),
    };
    let manifest = Manifest::of_recording(recording, warnings);
    replace_json(&journal.join(MANIFEST), &manifest)?;
    // The journal goes only for what can be read.
    Manifest::read(&journal.join(MANIFEST))?;
    become_whole(run, &tables)
}

/// Moves the finished files to their place, the manifest last: with it the folder is a run.
fn become_whole(run: &Path, tables: &[&str]) -> Result<RunFolder, RunError> {
    let journal = run.join(JOURNAL);
    move_files(&journal, run, tables)?;
    move_files(&journal, run, &[MANIFEST])?;
    clear_journal(run);
    RunFolder::open_whole(run)
}

/// Removes what a run needs no more. What cannot be removed does no harm.
pub(crate) fn clear_journal(run: &Path) {
    let _ = fs::remove_dir_all(run.join(JOURNAL));
    let _ = fs::remove_file(EndingRecord::file(run));
    let _ = fs::remove_file(run.join(HEADER));
}

fn table<R: Tabled>(
    run: &Path,
    anchors: &Anchors,
    warnings: Option<&mut Vec<Warning>>,
) -> Result<Option<&'static str>, RunError> {
    let journal = run.join(JOURNAL);
    fresh(&journal, R::TABLE)?;
    let (is_written, warning) = write_table::<R>(run, &journal, anchors)?;
    // Samples were worked through with shares and GPUs beside them: their warnings are given already.
    if let Some(warnings) = warnings {
        warnings.extend(warning);
    }
    Ok(is_written.then_some(R::TABLE))
}

/// The path of a file that is to be written, where an attempt that failed may have left one.
fn fresh(folder: &Path, name: &str) -> Result<std::path::PathBuf, RunError> {
    let path = folder.join(name);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(RunError::io(&path, "remove what is left of an attempt")(error))
        }
        _ => Ok(path),
    }
}

/// All ties between the clocks, one a second or so: they are few enough to be kept.
fn anchors(run: &Path, header: &RecordingHeader, warnings: &mut Vec<Warning>) -> (Anchors, Clocks) {
    let first = header.anchor();
    let (mut anchors, mut last, mut count) = (Anchors::default(), first, 1);
    anchors.push(first);
    let mut stream = StreamIn::<Anchor>::open(run);
    while let Some(rows) = stream.next() {
        for anchor in rows.into_iter().filter(|anchor| anchor.mono != first.mono) {
            if anchor.mono > last.mono {
                anchors.push(anchor);
                last = anchor;
                count += 1;
            }
        }
    }
    warnings.extend(stream.warning(run));
    let drift = (last.wall - first.wall) - (last.mono - first.mono);
    (anchors, Clocks { anchors: count, drift_ns: drift.0 })
}

/// The sensors as they were known at the end, or at the beginning where the end is not known.
fn sensors(header: &RecordingHeader, ending: Option<&EndingRecord>) -> Vec<SensorRecord> {
    let known = ending.map(|ending| &ending.sensors).filter(|sensors| sensors.len() >= header.sensors.len());
    known.unwrap_or(&header.sensors).clone()
}

fn incidents(
    run: &Path,
    sensors: &[SensorRecord],
    anchors: &Anchors,
    warnings: &mut Vec<Warning>,
) -> (Vec<IncidentRecord>, u64) {
    let (mut records, mut left_out) = (Vec::new(), 0);
    // One incident for all readings that were skipped, where the first of them was.
    let (mut late, mut skipped, mut longest) = (None, 0_u64, Nanos(0));
    let mut stream = StreamIn::<IncidentRow>::open(run);
    while let Some(rows) = stream.next() {
        for row in rows {
            if let Some((missed, worst)) = row.late() {
                (skipped, longest) = (skipped.saturating_add(missed), longest.max(worst));
                if late.is_some() {
                    continue;
                }
                late = Some(records.len());
            }
            if records.len() >= MOST_INCIDENTS {
                left_out += 1;
                continue;
            }
            let sensor = row.sensor.and_then(|sensor| sensors.get(usize::from(sensor)));
            records.push(IncidentRecord {
                t_ns: anchors.wall(row.at).unwrap_or_default().0,
                device: sensor.map(|sensor| sensor.device.clone()),
                domain: sensor.and_then(|sensor| sensor.domain.clone()),
                kind: row.kind,
                message: row.text,
            });
        }
    }
    if let Some(late) = late.and_then(|place: usize| records.get_mut(place)) {
        late.message = What::Late { missed: skipped, worst: longest }.to_string();
    }
    warnings.extend(stream.warning(run));
    (records, left_out)
}

fn lost(run: &Path, warnings: &mut Vec<Warning>) -> u64 {
    let (mut stream, mut lost) = (StreamIn::<BatchRow>::open(run), 0_u64);
    while let Some(rows) = stream.next() {
        lost = rows.iter().map(|row| row.lost).fold(lost, u64::saturating_add);
    }
    warnings.extend(stream.warning(run));
    lost
}

/// Samples that are not there.
fn missing(about: &str, ending: Option<&EndingRecord>, samples: u64, lost: u64) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if lost > 0 {
        let message = format!("{lost} samples were lost because the recorder could not take them in time");
        warnings.push(Warning::new(about, message));
    }
    let Some(ending) = ending else { return warnings };
    let gone = ending.samples.saturating_sub(samples);
    if gone > 0 {
        warnings
            .push(Warning::new(about, format!("{gone} of {} samples are missing in its journal", ending.samples)));
    }
    if ending.unwritten > 0 {
        let message = format!("the last {} samples could not be written: the disk was full", ending.unwritten);
        warnings.push(Warning::new(about, message));
    }
    warnings
}
