//! A folder of programs: scripts and notebooks are patched, everything else is copied, into a folder that appears whole
//! or not at all.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use jouletree_host::whole::PartialFolder;
use jouletree_patch::{Options, Patched, Project};

use super::sites::Listing;
use super::{Disk, PatchArgs, add, is_notebook, located, read, refuse_existing, unpatched};
use crate::print;

/// The table of sites in a patched folder.
const TABLE: &str = "jouletree-sites.json";
/// More errors than these are counted, not listed.
const MOST_ERRORS: usize = 20;

/// Patches a folder, or removes the hooks of one.
pub fn run(arguments: &PatchArgs, undo: bool) -> Result<()> {
    let from = &arguments.input;
    let mut files = Vec::new();
    collect(from, Path::new(""), &mut files)?;
    let options = arguments.options();
    let mut listing = Listing::new(&options);
    let changed = if undo { originals(from, &files)? } else { patches(from, &files, &options, &mut listing)? };
    if arguments.list {
        return print(&listing.written(arguments.format, true)?);
    }
    let output =
        arguments.output.clone().unwrap_or_else(|| beside(from, if undo { "original" } else { "patched" }));
    refuse_existing(&[&output])?;
    refuse_inside(from, &output)?;
    let partial = PartialFolder::beside(&output)?;
    for (file, content) in files.iter().zip(&changed) {
        if undo && file == Path::new(TABLE) {
            continue;
        }
        let (old, new) = (from.join(file), partial.path().join(file));
        if let Some(parent) = new.parent() {
            fs::create_dir_all(parent)
                .with_context(|| format!("{}: cannot create the folder", parent.display()))?;
        }
        // A copy keeps permissions, also of what is then written over.
        fs::copy(&old, &new).with_context(|| format!("{}: cannot copy it to {}", old.display(), new.display()))?;
        if let Some(content) = content {
            fs::write(&new, content).with_context(|| format!("{}: cannot write the file", new.display()))?;
        }
    }
    if !undo {
        let table = partial.path().join(TABLE);
        fs::write(&table, listing.json()?)
            .with_context(|| format!("{}: cannot write the file", table.display()))?;
    }
    partial.become_whole()?;
    print(&if undo { format!("the original is {}\n", output.display()) } else { listing.summary(&output) })
}

fn is_script(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "py") || is_notebook(path)
}

/// New contents of the files that are patched. They are analysed together, as one imports another.
fn patches(
    from: &Path,
    files: &[PathBuf],
    options: &Options,
    listing: &mut Listing,
) -> Result<Vec<Option<Vec<u8>>>> {
    let root = fs::canonicalize(from).with_context(|| format!("{}", from.display()))?;
    let mut project = Project::new(&Disk, options);
    project.search(&root);
    packages(&root, files).iter().for_each(|folder| project.search(folder));
    for file in files.iter().filter(|file| is_script(file)) {
        add(&mut project, &root.join(file), &file.to_string_lossy(), &read(&from.join(file))?);
    }
    let mut patched: HashMap<&Path, Patched<'_>> =
        project.patched().into_iter().map(|one| (one.path, one)).collect();
    each(files, |file| {
        let path = from.join(file);
        let one =
            patched.remove(root.join(file).as_path()).context("no file").map_err(|error| error.to_string())?;
        let patch = one.patch.map_err(|error| located(&path, &error))?;
        patch.notes.iter().for_each(|note| writeln_stderr!("note: {}: {note}", path.display()));
        listing.add(&file.to_string_lossy(), &patch);
        Ok(patch.applied(one.source))
    })
}

/// The folders in which the folder's packages are: `src`, if there is `src/package/__init__.py`.
fn packages(root: &Path, files: &[PathBuf]) -> Vec<PathBuf> {
    let is_package = |folder: &Path| files.binary_search(&folder.join("__init__.py")).is_ok();
    let initial = files.iter().filter(|file| file.file_name().is_some_and(|name| name == "__init__.py"));
    let mut around: Vec<PathBuf> = initial
        .filter_map(|file| file.parent()?.parent())
        .filter(|folder| !is_package(folder))
        .map(|folder| root.join(folder))
        .collect();
    around.sort();
    around.dedup();
    around
}

fn originals(from: &Path, files: &[PathBuf]) -> Result<Vec<Option<Vec<u8>>>> {
    each(files, |file| {
        let path = from.join(file);
        let source = read(&path).map_err(|error| format!("{error:#}"))?;
        unpatched(&path, &source).map_err(|error| located(&path, &error))
    })
}

/// Changes every script and notebook, or reports all that cannot be changed.
fn each(
    files: &[PathBuf],
    mut change: impl FnMut(&Path) -> Result<Vec<u8>, String>,
) -> Result<Vec<Option<Vec<u8>>>> {
    let mut contents = Vec::with_capacity(files.len());
    let mut errors = Vec::new();
    for file in files {
        let content = if is_script(file) {
            match change(file) {
                Ok(content) => Some(content),
                Err(error) => {
                    errors.push(error);
                    None
                }
            }
        } else {
            None
        };
        contents.push(content);
    }
    match errors.as_slice() {
        [] => Ok(contents),
        [only] => bail!("{only}"),
        [first, rest @ ..] => {
            rest.iter().take(MOST_ERRORS).for_each(|error| writeln_stderr!("error: {error}"));
            bail!("{first} (and {} more; nothing was written)", rest.len())
        }
    }
}

/// The files of a folder, in order, without what no program needs.
fn collect(root: &Path, inside: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let folder = root.join(inside);
    let context = || format!("{}: cannot read the folder", folder.display());
    let mut entries =
        fs::read_dir(&folder).with_context(context)?.collect::<Result<Vec<_>, _>>().with_context(context)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = inside.join(entry.file_name());
        let kind = entry.file_type().with_context(context)?;
        let path = entry.path();
        if kind.is_dir() {
            match skipped(&path) {
                Some(why) => writeln_stderr!("note: {}: left out: {why}", path.display()),
                None => collect(root, &name, files)?,
            }
        } else if kind.is_file() || path.is_file() {
            files.push(name);
        } else {
            writeln_stderr!("note: {}: left out: not a file", path.display());
        }
    }
    Ok(())
}

/// Why a folder is left out.
pub fn skipped(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_string_lossy();
    if name.starts_with('.') {
        Some("hidden")
    } else if name == "__pycache__" {
        Some("compiled code of the originals")
    } else if name == "site-packages" || path.join("pyvenv.cfg").is_file() {
        Some("a Python environment")
    } else {
        None
    }
}

fn beside(folder: &Path, word: &str) -> PathBuf {
    // `.` and `project/` have a name, too.
    let full = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let name = full.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.strip_suffix(".patched").unwrap_or(&name);
    full.with_file_name(format!("{name}.{word}"))
}

fn refuse_inside(from: &Path, output: &Path) -> Result<()> {
    let from = fs::canonicalize(from).with_context(|| format!("{}", from.display()))?;
    let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let parent =
        fs::canonicalize(parent).with_context(|| format!("{}: there is no such folder", parent.display()))?;
    if parent.starts_with(&from) {
        bail!("{}: lies inside of the folder that is patched; name one outside of it with -o", output.display());
    }
    Ok(())
}
