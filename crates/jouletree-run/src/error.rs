//! Why a run folder or a file of it cannot be written or read.

use std::path::{Path, PathBuf};

use jouletree_host::whole::WholeError;
use parquet::errors::ParquetError;

use crate::PowerError;

/// What is wrong with the name of a run, and what to do.
fn not_a_run(path: &Path) -> String {
    let shown = path.display();
    if path.is_dir() {
        format!("not a run folder: no manifest.json in {shown}; name a folder that jouletree wrote")
    } else if path.exists() {
        format!("not a run folder: {shown} is a file; name the folder that jouletree wrote")
    } else {
        format!("there is no folder {shown}; `jouletree run` prints the folder that it keeps a run in")
    }
}

/// Why a run folder or a file of it cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Something is there already; runs are never overwritten.
    #[error("{} exists: choose another -o or remove it", .0.display())]
    Exists(PathBuf),
    /// A folder that holds no run.
    #[error("{}", not_a_run(.0))]
    NotARun(PathBuf),
    /// The format is of the future.
    #[error(
        "{}: written by a newer jouletree (format {found}, this one reads {known}); upgrade jouletree",
        .path.display()
    )]
    Newer {
        /// The manifest.
        path: PathBuf,
        /// Its format's version.
        found: u64,
        /// The version this program writes.
        known: u64,
    },
    /// The operating system refused.
    #[error("{}: cannot {action}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// A table that cannot be written: most often a full disk.
    #[error("{}: cannot write the table", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: ParquetError,
    },
    /// A file that is no Parquet or is damaged.
    #[error("{}: not a whole Parquet file; restore it from a copy or record the run again", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: ParquetError,
    },
    /// A readable file that says what cannot be.
    #[error("{}: {problem}", .path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong and what to do.
        problem: String,
    },
    /// A recording that goes on.
    #[error("{}: still being recorded by process {pid}; wait for its end or stop it", .path.display())]
    StillRecording {
        /// The folder.
        path: PathBuf,
        /// The process that records.
        pid: u32,
    },
    /// A recording whose folder was removed while it went on.
    #[error("{}: the folder of the recording is gone, and the recording with it", .path.display())]
    Gone {
        /// The folder.
        path: PathBuf,
        /// What went wrong because of it.
        source: Box<RunError>,
    },
    /// A recording that cannot become tables now, most often for want of space.
    #[error(
        "{}: the recording is kept, but could not be finished; free some space on the disk and run: jouletree show {}",
        .path.display(), .path.display()
    )]
    Unfinished {
        /// The folder.
        path: PathBuf,
        /// What went wrong.
        source: Box<RunError>,
    },
    /// A journal in which something could not be written takes no more.
    #[error("{}: the journal has ended because it could not be written; finish the recording", .0.display())]
    JournalEnded(PathBuf),
    /// A run without operations.
    #[error(
        "{}: a recording of power without operations; to see those, account a trace with it: jouletree account TRACE \
         --power {}",
        .0.display(), .0.display()
    )]
    OnlyRecorded(PathBuf),
    /// What should be written does not fit together.
    #[error("the run cannot be written: {0}")]
    Inconsistent(String),
    /// A power file that cannot be used.
    #[error(transparent)]
    Power(#[from] PowerError),
}

impl From<WholeError> for RunError {
    fn from(error: WholeError) -> RunError {
        match error {
            WholeError::NoName(path) | WholeError::Exists(path) => RunError::Exists(path),
            WholeError::Io { path, action, source } => RunError::Io { path, action, source },
        }
    }
}

impl RunError {
    /// Why a recording is not finished: its journal is kept where its folder is still there.
    pub(crate) fn unfinished(folder: &Path, source: RunError) -> RunError {
        let (path, source) = (folder.to_owned(), Box::new(source));
        if folder.exists() { RunError::Unfinished { path, source } } else { RunError::Gone { path, source } }
    }
}

impl RunError {
    /// A complaint about the content of a file.
    pub(crate) fn content(path: &Path, problem: impl Into<String>) -> RunError {
        RunError::Content { path: path.to_owned(), problem: problem.into() }
    }

    /// Names the file and the deed for an error of the operating system.
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> RunError {
        let path = path.to_owned();
        move |source| RunError::Io { path, action, source }
    }
}
