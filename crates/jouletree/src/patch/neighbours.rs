//! The files around a script that may import it: what they pass to its functions, or have compiled, is known then as it is when
//! the whole folder is patched.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use super::folder::skipped;
use super::roots;

/// So much is looked at: entries of folders, and files and bytes that are read.
const MOST_ENTRIES: usize = 2_000;
const MOST_FILES: usize = 200;
const MOST_BYTES: usize = 4_000_000;

/// Files of the project, or from the folder of the outermost package on, that mention a file, or one that does.
pub fn of(file: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let Some(mut top) = file.parent() else { return Vec::new() };
    while top.join("__init__.py").is_file()
        && let Some(parent) = top.parent()
    {
        top = parent;
    }
    // Whichever is further out.
    let top = roots::project(file).filter(|project| top.starts_with(project)).unwrap_or(top);
    let mut unmentioning = around(top, file);
    let mut mentioning: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    let mut names = vec![module_name(file)];
    while !names.is_empty() {
        let mentions = |(_, source): &mut (PathBuf, Vec<u8>)| {
            let text = String::from_utf8_lossy(source);
            names.iter().any(|name| text.contains(name.as_str()))
        };
        let found: Vec<_> = unmentioning.extract_if(.., mentions).collect();
        names = found.iter().map(|(path, _)| module_name(path)).collect();
        mentioning.extend(found);
    }
    mentioning
}

/// The name by which a file is imported.
fn module_name(file: &Path) -> String {
    let stem = file.file_stem().filter(|stem| *stem != "__init__");
    let name = stem.or_else(|| file.parent()?.file_name());
    name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The scripts of a folder and the folders in it, the nearest first.
fn around(top: &Path, file: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = VecDeque::from([top.to_owned()]);
    let (mut entries, mut bytes) = (0, 0);
    while let Some(folder) = folders.pop_front() {
        let mut inside: Vec<PathBuf> =
            fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        inside.sort();
        for path in inside {
            entries += 1;
            if entries > MOST_ENTRIES || found.len() >= MOST_FILES || bytes >= MOST_BYTES {
                return found;
            }
            let Ok(about) = path.symlink_metadata() else { continue };
            if about.is_dir() && skipped(&path).is_none() {
                folders.push_back(path);
            } else if about.is_file()
                && path != file
                && path.extension().is_some_and(|extension| extension == "py")
                && about.len() <= super::LONGEST
                && let Ok(source) = fs::read(&path)
            {
                bytes += source.len();
                found.push((path, source));
            }
        }
    }
    found
}
