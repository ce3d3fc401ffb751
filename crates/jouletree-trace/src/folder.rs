//! Folders of traces: a TensorBoard log folder, the ranks of a job, the steps of a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tracing::debug;

use crate::error::TraceError;
use crate::head::Head;
use crate::source::Source;
use crate::{FORMATS, Format};

/// How deep traces may lie: `plugins/profile/<date>/<host>.xplane.pb` below a folder for each run.
const DEPTH: usize = 8;

/// The trace files in a folder and the folders below it, in order. What is no trace is passed over, and so is a file
/// that only shows again what a better one beside it holds.
pub fn find_traces(folder: &Path) -> Result<Vec<PathBuf>, TraceError> {
    let mut found: BTreeMap<PathBuf, &'static Format> = BTreeMap::new();
    search(folder, DEPTH, &mut found)?;
    let specific: Vec<PathBuf> = found
        .iter()
        .filter(|(_, format)| !format.is_fallback)
        .filter_map(|(path, _)| path.parent().map(Path::to_owned))
        .collect();
    found.retain(|path, format| {
        !format.is_fallback || path.parent().is_none_or(|parent| !specific.iter().any(|folder| folder == parent))
    });
    debug!(folder = %folder.display(), traces = found.len(), "folder searched for traces");
    if found.is_empty() {
        let known = FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ");
        let found = "it is a folder in which no file is a trace".to_owned();
        return Err(TraceError::Unrecognised { file: folder.display().to_string(), found, known });
    }
    Ok(found.into_keys().collect())
}

fn search(folder: &Path, depth: usize, found: &mut BTreeMap<PathBuf, &'static Format>) -> Result<(), TraceError> {
    let failed = |error| TraceError::Io { file: folder.display().to_string(), error };
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        let path = entry.path();
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if is_hidden {
            continue;
        }
        // A link to a folder may lead back here, so only links to files are followed.
        if kind.is_dir() {
            if depth > 0 {
                search(&path, depth - 1, found)?;
            }
        } else if path.is_file()
            && let Ok(head) = Head::of(&Source::file(&path))
            && let Some(format) = FORMATS.iter().find(|format| (format.recognises)(&head))
        {
            found.insert(path, format);
        }
    }
    Ok(())
}
