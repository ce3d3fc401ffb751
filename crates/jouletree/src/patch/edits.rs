//! What is to be inserted into a program's files, as JSON: `jouletree run --level call` has them patched while Python loads
//! them, all at once, so that no file is analysed again for each that it imports.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use anyhow::{Result, bail};
use jouletree_patch::{Files, NoFiles, Patch, Project};
use serde::Serialize;

use super::sites::FileSites;
use super::{Disk, PatchArgs, add, full, located, of_file, read, roots};
use crate::{json, print};

#[derive(Serialize)]
struct Edits {
    /// The file itself comes first.
    files: Vec<FileEdits>,
}

/// What is inserted into one file.
#[derive(Serialize)]
struct FileEdits {
    path: String,
    /// By which one sees that the file is still what was analysed.
    size: u64,
    modified_ns: u64,
    edits: Vec<(usize, String)>,
    sites: FileSites,
}

/// Prints the edits of a script and of all that it imports.
pub fn run(arguments: &PatchArgs) -> Result<()> {
    let options = arguments.options();
    let path = full(&arguments.input)?;
    let (size, modified_ns) = marks(&path);
    let source = read(&path)?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut edits = Edits { files: Vec::new() };
    let files: &dyn Files = if arguments.alone { &NoFiles } else { &Disk };
    let mut project = Project::new(files, &options);
    path.parent().into_iter().for_each(|folder| project.search(folder));
    for folder in &arguments.search {
        project.search(folder);
    }
    roots::of(&path).iter().for_each(|folder| project.search(folder));
    add(&mut project, &path, &name, &source);
    let (own, imported): (Vec<_>, Vec<_>) = project.patched().into_iter().partition(|one| one.path == path);
    match of_file(own, &path)?.patch {
        Ok(patch) => edits.files.push(FileEdits { size, modified_ns, ..file_edits(&path, &name, &patch) }),
        Err(error) => bail!("{}", located(&arguments.input, &error)),
    }
    for one in imported {
        if let Ok(patch) = &one.patch {
            let name = one.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let file = file_edits(one.path, &name, patch);
            // Changed since it was read.
            if file.size == one.source.len() as u64 {
                edits.files.push(file);
            }
        }
    }
    print(&json::written(&edits)?)
}

fn file_edits(path: &Path, name: &str, patch: &Patch) -> FileEdits {
    let (size, modified_ns) = marks(path);
    FileEdits {
        path: path.to_string_lossy().into_owned(),
        size,
        modified_ns,
        edits: patch.edits.iter().map(|edit| (edit.at, edit.text.clone())).collect(),
        sites: FileSites::of(name, patch),
    }
}

/// The size of a file and when it was last changed.
fn marks(path: &Path) -> (u64, u64) {
    let about = fs::metadata(path).ok();
    let modified = about.as_ref().and_then(|about| about.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    (
        about.map_or(0, |about| about.len()),
        modified.and_then(|modified| u64::try_from(modified.as_nanos()).ok()).unwrap_or(0),
    )
}
