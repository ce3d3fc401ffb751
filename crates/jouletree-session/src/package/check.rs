//! Checking the package before it is used: it is code that runs in the user's name.
//!
//! Every file must have the content that this program carries, and nothing else that Python would import may be there.
//! Compiled modules were written by the user's own Python: they must belong to the user alone, in folders to which no
//! other user can write.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::write::{COMPILED, folders};
use super::{FILES, NAME};
use crate::trusted;

/// Whether the package in this folder is as it was written.
pub fn is_intact(top: &Path) -> bool {
    changed(top).is_ok_and(|change| change.is_none())
}

/// The first path in the package that is not as it was written.
fn changed(top: &Path) -> io::Result<Option<PathBuf>> {
    let folders = folders();
    let mut missing: BTreeSet<PathBuf> = FILES.iter().map(|(name, _)| Path::new(NAME).join(name)).collect();
    for folder in [PathBuf::new()].iter().chain(&folders) {
        // Joined with nothing, a path ends with a slash, and a link would be followed.
        let path = if folder.as_os_str().is_empty() { top.to_owned() } else { top.join(folder) };
        let about = path.symlink_metadata()?;
        if !about.is_dir() || !trusted::is_private_to_write(&about) {
            return Ok(Some(path));
        }
        for entry in fs::read_dir(&path)? {
            let name = folder.join(entry?.file_name());
            if folders.binary_search(&name).is_ok() {
                continue;
            }
            let is_as_written = match content(&name) {
                Some(content) => is_ours(&top.join(&name)) && fs::read(top.join(&name))? == content,
                None => is_compiled(&name) && is_ours(&top.join(&name)),
            };
            if !is_as_written {
                return Ok(Some(top.join(name)));
            }
            missing.remove(&name);
        }
    }
    Ok(missing.into_iter().next())
}

/// What a file of the package holds.
fn content(name: &Path) -> Option<&'static [u8]> {
    let inner = name.strip_prefix(NAME).ok()?.to_str()?;
    FILES.iter().find(|(name, _)| *name == inner).map(|(_, content)| *content)
}

/// A file that only this user can write, under no other name.
fn is_ours(path: &Path) -> bool {
    let is_alone = |about: &fs::Metadata| about.is_file() && about.nlink() == 1;
    path.symlink_metadata().is_ok_and(|about| is_alone(&about) && trusted::is_private_to_write(&about))
}

/// Whether this is the name of a compiled form of a file of the package: `__pycache__/x.cpython-312.pyc`, also while it
/// is written, or `x.pyc` of Python 2.
fn is_compiled(name: &Path) -> bool {
    let (Some(folder), Some(file)) = (name.parent(), name.file_name().and_then(OsStr::to_str)) else {
        return false;
    };
    let Some((module, rest)) = file.split_once('.') else { return false };
    let is_apart = folder.file_name() == Some(OsStr::new(COMPILED));
    let sources = if is_apart { folder.parent().unwrap_or(folder) } else { folder };
    let has_source = content(&sources.join(format!("{module}.py"))).is_some();
    let is_name = match is_apart {
        true => rest.contains("pyc"),
        false => rest == "pyc" || rest == "pyo",
    };
    has_source && is_name
}
