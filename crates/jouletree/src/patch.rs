//! `jouletree patch`: hooks around the library calls of a script, a notebook or a folder, written beside the original.

mod edits;
mod folder;
mod neighbours;
mod roots;
mod sites;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use jouletree_host::whole::PartialFile;
use jouletree_patch::{
    Files, Level, Mode, Options, PatchError, Patched, Project, unpatched_notebook, unpatched_script,
};
use sites::Listing;

use crate::cli::InspectFormat;
use crate::print;

pub const EXAMPLES: &str = "\
Examples:
  jouletree patch train.py                         writes train.patched.py, which runs as train.py does
  jouletree patch train.py --list                  every library call, and why some are left alone
  jouletree patch train.py --list --format json | jq '.[] | select(.instrumented | not)'
  jouletree patch project/ --libraries torch,torchvision -o project.measured
      all scripts and notebooks of a folder; other files are copied
  jouletree patch analysis.ipynb                   cells are patched in place; outputs and magics stay
  jouletree patch train.py --level project         one window around the whole program
  jouletree patch train.py --mode fecom --libraries tensorflow --list
      the calls that FECoM would measure, under its names
  jouletree patch train.patched.py --undo          the original, byte for byte

docs/patch.md says what is found and what is not. What exists is never overwritten.
Exit status: 0 patched, 1 a file cannot be patched (nothing is written then), 2 wrong arguments.";

#[derive(Args)]
pub struct PatchArgs {
    /// A Python script, a notebook, or a folder of them
    #[arg(value_name = "FILE")]
    pub input: PathBuf,
    /// Packages whose calls are instrumented, with everything inside of them
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', value_parser = package)]
    pub libraries: Vec<String>,
    /// The new file or folder; by default FILE with `.patched` in its name
    #[arg(short, long, value_name = "OUT", conflicts_with = "list")]
    pub output: Option<PathBuf>,
    /// What is instrumented
    #[arg(long, value_enum, default_value = "method")]
    pub level: LevelArg,
    /// Whose rules decide what a library call is
    #[arg(long, value_enum, default_value = "full")]
    pub mode: ModeArg,
    /// Only list the library calls
    #[arg(long)]
    pub list: bool,
    /// How the list is written
    #[arg(long, value_enum, default_value = "table", requires = "list")]
    pub format: InspectFormat,
    /// Remove the hooks of a patched file or folder
    #[arg(long, conflicts_with_all = ["list", "libraries"])]
    pub undo: bool,
    /// Print what is to be inserted into FILE and into every file that it imports: how `run` has programs patched
    #[arg(long, hide = true, conflicts_with_all = ["undo", "list", "output"])]
    pub edits: bool,
    /// A folder in which Python looks for modules, after that of FILE
    #[arg(long, hide = true, value_name = "FOLDER")]
    pub search: Vec<PathBuf>,
    /// Leave alone what FILE imports
    #[arg(long, hide = true)]
    pub alone: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LevelArg {
    /// Every call of a library
    Method,
    /// The program as a whole
    Project,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// Everything that names, objects, classes and arguments show
    Full,
    /// The statements that FECoM wraps, named as it names them
    Fecom,
}

/// The name of a package on the command line.
pub fn package(text: &str) -> Result<String, String> {
    let is_name = |part: &str| {
        !part.is_empty()
            && part.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
            && !part.starts_with(|first: char| first.is_ascii_digit())
    };
    if text.split('.').all(is_name) {
        Ok(text.to_owned())
    } else {
        Err("the name of a package is expected".to_owned())
    }
}

impl PatchArgs {
    fn options(&self) -> Options {
        let libraries = match (self.libraries.as_slice(), self.mode) {
            ([], ModeArg::Full) => Options::default().libraries,
            // As FECoM has it.
            ([], ModeArg::Fecom) => vec!["tensorflow".to_owned()],
            (some, _) => some.to_vec(),
        };
        Options {
            libraries,
            level: match self.level {
                LevelArg::Method => Level::Method,
                LevelArg::Project => Level::Project,
            },
            mode: match self.mode {
                ModeArg::Full => Mode::Full,
                ModeArg::Fecom => Mode::Fecom,
            },
        }
    }
}

/// Runs the command.
pub fn run(arguments: &PatchArgs) -> Result<ExitCode> {
    let about = fs::metadata(&arguments.input).with_context(|| format!("{}", arguments.input.display()))?;
    match (about.is_dir(), arguments.undo) {
        (false, false) if arguments.edits => edits::run(arguments)?,
        (false, false) => patch_file(arguments)?,
        (false, true) => undo_file(arguments)?,
        (true, undo) => folder::run(arguments, undo)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether a file is a notebook, by its name.
fn is_notebook(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"))
}

/// Files of the program as they are on disk. What is installed is not the program's.
struct Disk;

/// Longer files are data.
const LONGEST: u64 = 4_000_000;

impl Files for Disk {
    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        if self.is_file(path) { fs::read(path).ok() } else { None }
    }

    fn is_file(&self, path: &Path) -> bool {
        let is_installed = |part: &std::ffi::OsStr| part == "site-packages" || part == "dist-packages";
        fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() <= LONGEST)
            && !path.iter().any(is_installed)
    }
}

/// Adds a file that is to be patched. `name` is what it is called by the runtime and in lists.
fn add(project: &mut Project<'_>, path: &Path, name: &str, source: &[u8]) {
    if is_notebook(path) {
        project.add_notebook(name, path, source);
    } else {
        project.add_script(name, path, source);
    }
}

/// A file's name in its folder, whose path has no detours: the folders around it are those that Python sees.
fn full(path: &Path) -> Result<PathBuf> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = fs::canonicalize(parent).with_context(|| format!("{}", parent.display()))?;
    Ok(path.file_name().map_or_else(|| folder.clone(), |name| folder.join(name)))
}

/// What became of a file among those that it imports.
fn of_file<'p>(patched: Vec<Patched<'p>>, path: &Path) -> Result<Patched<'p>> {
    let found = patched.into_iter().find(|one| one.path == path);
    found.with_context(|| format!("{}: cannot be found again", path.display()))
}

fn unpatched(path: &Path, source: &[u8]) -> Result<Vec<u8>, PatchError> {
    if is_notebook(path) { unpatched_notebook(source) } else { unpatched_script(source) }
}

/// An error as editors know it: file:line:column: what.
fn located(path: &Path, error: &PatchError) -> String {
    match error {
        PatchError::Notebook { .. } | PatchError::Encoding { .. } => format!("{}: {error}", path.display()),
        _ => format!("{}:{error}", path.display()),
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("{}: cannot read the file", path.display()))
}

fn patch_file(arguments: &PatchArgs) -> Result<()> {
    let path = &arguments.input;
    let source = read(path)?;
    let options = arguments.options();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let full = full(path)?;
    let mut project = Project::new(&Disk, &options);
    roots::of(&full).iter().for_each(|folder| project.search(folder));
    add(&mut project, &full, &name, &source);
    if options.mode == Mode::Full && options.level == Level::Method {
        neighbours::of(&full).iter().for_each(|(path, source)| project.add_neighbour(path, source));
    }
    let patch = match of_file(project.patched(), &full)?.patch {
        Ok(patch) => patch,
        Err(error) => bail!("{}", located(path, &error)),
    };
    patch.notes.iter().for_each(|note| writeln_stderr!("note: {}: {note}", path.display()));
    let mut listing = Listing::new(&options);
    listing.add(&name, &patch);
    if arguments.list {
        return print(&listing.written(arguments.format, false)?);
    }
    let output = arguments.output.clone().unwrap_or_else(|| named(path, "patched"));
    let table = beside(&output, ".sites.json");
    refuse_existing(&[&output, &table])?;
    // Neither is there without the other: the hooks' numbers mean nothing without their table.
    let sites = prepared(&table, listing.json()?.as_bytes(), None)?;
    prepared(&output, &patch.applied(&source), Some(path))?.become_whole()?;
    if let Err(error) = sites.become_whole() {
        // The error that led here is what matters.
        let _ = fs::remove_file(&output);
        return Err(error.into());
    }
    print(&listing.summary(&output))
}

fn undo_file(arguments: &PatchArgs) -> Result<()> {
    let path = &arguments.input;
    let source = read(path)?;
    let original = match unpatched(path, &source) {
        Ok(original) => original,
        Err(error) => bail!("{}", located(path, &error)),
    };
    if original == source {
        bail!("{}: there is nothing to undo: it is not patched", path.display());
    }
    let output = arguments.output.clone().unwrap_or_else(|| named(path, "original"));
    refuse_existing(&[&output])?;
    prepared(&output, &original, Some(path))?.become_whole()?;
    print(&format!("the original is {}\n", output.display()))
}

/// `train.py` as `train.patched.py`; `train.patched.py` as `train.original.py`.
fn named(path: &Path, word: &str) -> PathBuf {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = stem.strip_suffix(".patched").unwrap_or(&stem);
    let extension =
        path.extension().map(|extension| format!(".{}", extension.to_string_lossy())).unwrap_or_default();
    path.with_file_name(format!("{stem}.{word}{extension}"))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!("{name}{ending}"))
}

fn refuse_existing(paths: &[&Path]) -> Result<()> {
    match paths.iter().find(|path| path.symlink_metadata().is_ok()) {
        Some(path) => bail!("{}: exists already; remove it, or name another with -o", path.display()),
        None => Ok(()),
    }
}

/// A file that is written and not there yet, with the permissions of the original.
fn prepared(path: &Path, content: &[u8], like: Option<&Path>) -> Result<PartialFile> {
    let partial = PartialFile::beside(path)?;
    partial.write(content)?;
    if let Some(about) = like.and_then(|like| fs::metadata(like).ok()) {
        partial
            .file()
            .set_permissions(about.permissions())
            .with_context(|| format!("{}: cannot set its permissions", path.display()))?;
    }
    Ok(partial)
}
