//! The journal of a recording that goes on.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jouletree_host::whole::{folder_of, sync_folder};
use jouletree_model::sampling::{Anchor, Batch, Ending, GpuSample, ResourceSample, Sample, ShareSample};

use super::JOURNAL;
use super::ending::{EndingRecord, Exit};
use super::header::{HEADER, RecordingHeader, lock};
use super::incident::{BatchRow, IncidentRow};
use super::write::StreamOut;
use crate::folder::RunFolder;
use crate::manifest::replace_json;
use crate::recording::settle;
use crate::{RunError, files};

/// Rows wait no longer than this before the system gets them.
const LONGEST_WAIT: Duration = Duration::from_millis(900);
/// Nor do more samples than this wait.
const MOST_WAITING: usize = 1 << 15;

/// Writes the journal of a recording.
pub struct JournalWriter {
    run: PathBuf,
    samples: StreamOut<Sample>,
    shares: StreamOut<ShareSample>,
    resources: StreamOut<ResourceSample>,
    gpus: StreamOut<GpuSample>,
    anchors: StreamOut<Anchor>,
    incidents: StreamOut<IncidentRow>,
    batches: StreamOut<BatchRow>,
    flushed: Instant,
    /// Whether something could not be written.
    failed: bool,
    /// Shows other processes that the recording goes on.
    _lock: File,
}

impl JournalWriter {
    /// Begins a recording in the new folder `run`.
    pub fn create(run: &Path, header: &RecordingHeader) -> Result<JournalWriter, RunError> {
        if run.symlink_metadata().is_ok() {
            return Err(RunError::Exists(run.to_owned()));
        }
        let journal = run.join(JOURNAL);
        fs::create_dir_all(folder_of(run)).map_err(RunError::io(folder_of(run), "create the folder"))?;
        files::create_own_folder(run).map_err(RunError::io(run, "create the folder"))?;
        files::create_folder(&journal).map_err(RunError::io(&journal, "create the folder"))?;
        let (samples, shares, resources) =
            (StreamOut::create(run)?, StreamOut::create(run)?, StreamOut::create(run)?);
        let (gpus, anchors, incidents) =
            (StreamOut::create(run)?, StreamOut::create(run)?, StreamOut::create(run)?);
        let batches = StreamOut::create(run)?;
        // The header comes last: a reader that sees it finds all files.
        replace_json(&run.join(HEADER), header)?;
        sync_folder(run)?;
        let flushed = Instant::now();
        let _lock = lock(run, header)?;
        let run = run.to_owned();
        Ok(JournalWriter {
            run,
            samples,
            shares,
            resources,
            gpus,
            anchors,
            incidents,
            batches,
            flushed,
            failed: false,
            _lock,
        })
    }

    /// The folder of the recording.
    pub fn path(&self) -> &Path {
        &self.run
    }

    /// Adds a batch. After an error (a full disk) everything that was written stays readable, and no more is taken:
    /// finish the recording, or leave it to [`recover`](crate::recover).
    pub fn append(&mut self, batch: &Batch) -> Result<(), RunError> {
        if self.failed {
            return Err(RunError::JournalEnded(self.run.clone()));
        }
        self.samples.add(batch.samples.iter().copied());
        self.shares.add(batch.shares.iter().copied());
        self.resources.add(batch.resources.iter().copied());
        self.gpus.add(batch.gpus.iter().copied());
        self.anchors.add(batch.anchors.iter().copied());
        self.incidents.add(batch.incidents.iter().map(IncidentRow::from));
        self.batches.add([BatchRow { number: batch.number, lost: batch.lost }]);
        if self.flushed.elapsed() >= LONGEST_WAIT || self.samples.waiting() >= MOST_WAITING {
            self.flush()?;
        }
        Ok(())
    }

    /// Hands everything to the system now.
    pub fn flush(&mut self) -> Result<(), RunError> {
        self.flushed = Instant::now();
        let flushed = self.flush_all();
        self.failed |= flushed.is_err();
        flushed
    }

    /// Ends the recording: the journal becomes tables. When that fails, for want of disk space, the journal stays
    /// as it is, and whatever opens the folder next tries again.
    pub fn finish(mut self, ending: &Ending, exit: Option<Exit>) -> Result<RunFolder, RunError> {
        let flushed = self.flush().and_then(|()| self.sync());
        let (written, waiting) = (self.samples.written(), self.samples.waiting() as u64);
        let written = EndingRecord::of(ending, exit, written, waiting).write(&self.run);
        let settled = flushed.and(written).and_then(|()| settle(&self.run));
        settled.map_err(|source| RunError::unfinished(&self.run, source))
    }

    fn flush_all(&mut self) -> Result<(), RunError> {
        // What places and explains samples goes before them.
        self.anchors.flush()?;
        self.incidents.flush()?;
        self.batches.flush()?;
        self.shares.flush()?;
        self.gpus.flush()?;
        self.resources.flush()?;
        self.samples.flush()
    }

    fn sync(&self) -> Result<(), RunError> {
        self.anchors.sync()?;
        self.incidents.sync()?;
        self.batches.sync()?;
        self.shares.sync()?;
        self.gpus.sync()?;
        self.resources.sync()?;
        self.samples.sync()
    }
}
