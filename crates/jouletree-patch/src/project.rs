//! The files of a program, analysed together: imports are followed from file to file as Python would, as far as the files
//! are the program's own. What cannot be read or parsed is unknown to the others.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use crate::links::{Links, dotted, reached};
use crate::patch::Patch;
use crate::source::SourceFile;
use crate::tree::{Counts, Import};
use crate::walk::{self, Found, Program};
use crate::{Level, Mode, Options, PatchError};

/// So many files are read because others import them, and so many bytes; those that are nearest come first.
const MOST_FILES: usize = 500;
const MOST_BYTES: usize = 4_000_000;

/// Where files come from that others import.
pub trait Files {
    /// The content of a file.
    fn read(&self, path: &Path) -> Option<Vec<u8>>;

    /// Whether there is such a file.
    fn is_file(&self, path: &Path) -> bool {
        self.read(path).is_some()
    }
}

/// No files: what a program imports is left alone.
#[derive(Debug, Clone, Copy)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &Path) -> Option<Vec<u8>> {
        None
    }
}

/// What became of a file.
#[derive(Debug)]
pub struct Patched<'p> {
    /// Where it is.
    pub path: &'p Path,
    /// Its bytes.
    pub source: &'p [u8],
    /// Whether it was found by following imports.
    pub is_followed: bool,
    /// What to insert, or why nothing can be.
    pub patch: Result<Patch, PatchError>,
}

/// Why a file is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Added,
    /// It may import a file that was added.
    Neighbour,
    /// Another file imports it.
    Imported,
}

/// A file and its part in the program.
struct Member {
    path: PathBuf,
    role: Role,
    file: SourceFile,
}

/// Files of a program. Paths are absolute, or all relative to the same folder.
pub struct Project<'f> {
    files: &'f dyn Files,
    options: &'f Options,
    /// Folders in which modules are looked for.
    roots: Vec<PathBuf>,
    members: Vec<Member>,
    /// Files that were added and are no programs.
    refused: Vec<(PathBuf, Vec<u8>, PatchError)>,
    /// Members by path; nothing where a file cannot be read.
    places: FxHashMap<PathBuf, Option<usize>>,
    /// Modules by the path of their file or folder.
    modules: FxHashMap<PathBuf, u32>,
    is_file: FxHashMap<PathBuf, bool>,
    links: Links,
    counts: Counts,
    followed_files: usize,
    followed_bytes: usize,
}

impl<'f> Project<'f> {
    /// A program without files. `files` are asked for those that others import.
    #[must_use]
    pub fn new(files: &'f dyn Files, options: &'f Options) -> Project<'f> {
        Project {
            files,
            options,
            roots: Vec::new(),
            members: Vec::new(),
            refused: Vec::new(),
            places: FxHashMap::default(),
            modules: FxHashMap::default(),
            is_file: FxHashMap::default(),
            links: Links::default(),
            counts: Counts::default(),
            followed_files: 0,
            followed_bytes: 0,
        }
    }

    /// Has modules looked for in a folder, after those that were named before.
    pub fn search(&mut self, folder: &Path) {
        if !self.roots.iter().any(|root| root == folder) {
            self.roots.push(folder.to_owned());
        }
    }

    /// Adds a script that is to be patched. `name` is what the runtime knows it by.
    pub fn add_script(&mut self, name: &str, path: &Path, source: &[u8]) {
        self.add(SourceFile::script, name, path, source);
    }

    /// Adds a notebook that is to be patched.
    pub fn add_notebook(&mut self, name: &str, path: &Path, source: &[u8]) {
        self.add(SourceFile::notebook, name, path, source);
    }

    fn add(&mut self, reader: Reader, name: &str, path: &Path, source: &[u8]) {
        let place = match reader(name, source, &mut self.counts) {
            Ok(file) => Some(self.join(path, Role::Added, file)),
            Err(error) => {
                self.refused.push((path.to_owned(), source.to_vec(), error));
                None
            }
        };
        self.places.insert(path.to_owned(), place);
    }

    /// Adds a script that may import what is to be patched, and so say something about it. It matters only if it does.
    pub fn add_neighbour(&mut self, path: &Path, source: &[u8]) {
        if self.places.contains_key(path) {
            return;
        }
        let file = SourceFile::script("", source, &mut self.counts).ok();
        let place = file.map(|file| self.join(path, Role::Neighbour, file));
        self.places.insert(path.to_owned(), place);
    }

    fn join(&mut self, path: &Path, role: Role, file: SourceFile) -> usize {
        self.members.push(Member { path: path.to_owned(), role, file });
        self.members.len() - 1
    }

    /// Patches every file that was added, in any order, and every one that these import.
    pub fn patched(&mut self) -> Vec<Patched<'_>> {
        let mut found = if self.options.level == Level::Method && self.options.mode == Mode::Full {
            self.follow();
            self.found()
        } else {
            Vec::new()
        };
        let is_followed = reached(&self.added(), self.members.len(), |file| self.links.needed(file));
        let mut results = Vec::with_capacity(self.members.len());
        for (number, member) in self.members.iter().enumerate() {
            if is_followed.get(number) == Some(&true) {
                let found = found.get_mut(number).map(std::mem::take).unwrap_or_default();
                results.push(Patched {
                    path: &member.path,
                    source: &member.file.source,
                    is_followed: member.role != Role::Added,
                    patch: Ok(member.file.patched(found, self.options)),
                });
            }
        }
        for (path, source, error) in &self.refused {
            results.push(Patched { path, source, is_followed: false, patch: Err(error.clone()) });
        }
        results
    }

    fn added(&self) -> Vec<usize> {
        let members = self.members.iter().enumerate();
        members.filter(|(_, member)| member.role == Role::Added).map(|(number, _)| number).collect()
    }

    fn found(&self) -> Vec<Vec<Found>> {
        let takes_part = self.links.around(&self.added(), self.members.len());
        let modules = self.members.iter().map(|member| &member.file.module).collect();
        let program = Program { modules, counts: self.counts, links: &self.links };
        walk::find(&program, &self.options.libraries, &takes_part)
    }

    /// Reads what files import, and what that imports.
    fn follow(&mut self) {
        let mut at = 0;
        while let Some(member) = self.members.get_mut(at) {
            let imports = std::mem::take(&mut member.file.module.imports);
            let (path, role) = (member.path.clone(), member.role);
            let folder = path.parent().unwrap_or(Path::new("")).to_owned();
            let roots = self.roots_of(&folder, role);
            for import in &imports {
                self.import(at, &folder, &roots, import);
            }
            at += 1;
        }
    }

    /// Where a file's absolute imports are looked for. A script's own folder comes first; that of a file inside of a package,
    /// which is hardly ever a script, last.
    fn roots_of(&mut self, folder: &Path, role: Role) -> Vec<PathBuf> {
        let mut top = folder;
        while self.is_file(&top.join("__init__.py"))
            && let Some(parent) = top.parent()
        {
            top = parent;
        }
        let is_script = role != Role::Imported && top == folder;
        let own = if is_script { [folder, top] } else { [top, folder] };
        let mut roots: Vec<PathBuf> = Vec::with_capacity(self.roots.len() + 2);
        let first = own.iter().take(1).map(|one| one.to_path_buf());
        let last = own.iter().skip(1).map(|one| one.to_path_buf());
        for root in first.chain(self.roots.iter().cloned()).chain(last) {
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        roots
    }

    fn import(&mut self, from: usize, folder: &Path, roots: &[PathBuf], import: &Import) {
        let parts: Vec<&str> = import.module.split('.').filter(|part| !part.is_empty()).collect();
        let is_library = |library: &String| library.split('.').next() == parts.first().copied();
        // A library's name is the library's, whatever else has it.
        if import.level == 0 && (parts.is_empty() || self.options.libraries.iter().any(is_library)) {
            return;
        }
        let above = (1..import.level).try_fold(folder, |folder, _| folder.parent());
        let bases: Vec<&Path> = match import.level {
            0 => roots.iter().map(PathBuf::as_path).collect(),
            _ => above.into_iter().collect(),
        };
        let name = dotted(import.level, &import.module);
        // The package that relative imports begin in.
        let here = bases.first().filter(|_| import.level > 0).map(|base| self.package(from, base));
        let mut module = if parts.is_empty() { here } else { self.module(from, &bases, &parts, here) };
        for inner in &import.names {
            let inner_parts: Vec<&str> = parts.iter().copied().chain([&**inner]).collect();
            if self.module(from, &bases, &inner_parts, here).is_some() && module.is_none() {
                // A folder without a file of its own, in which there is such a module.
                module = self
                    .base_of(&bases, &inner_parts)
                    .and_then(|base| self.modules.get(&joined(base, &parts)).copied());
            }
        }
        if let Some(module) = module {
            self.links.import(from, name, module);
        }
        // `import a.b` binds `a`.
        if import.level == 0
            && import.names.is_empty()
            && let Some(top) = parts.first()
        {
            let base = self.base_of(&bases, &parts);
            let found = self.module(from, &bases, &[top], None);
            let folder = || base.and_then(|base| self.modules.get(&base.join(top)).copied());
            if let Some(module) = found.or_else(folder) {
                self.links.import(from, (*top).to_owned(), module);
            }
        }
    }

    /// The folder from which a module is found: first where its topmost package has a file of its own, as Python has it.
    fn base_of<'b>(&mut self, bases: &[&'b Path], parts: &[&str]) -> Option<&'b Path> {
        let is_name = |part: &&str| part.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
        let top = parts.first().filter(|_| parts.iter().all(is_name))?;
        let mut without_file = None;
        for base in bases {
            if self.file_of(&joined(base, parts)).is_some() {
                if self.file_of(&base.join(top)).is_some() {
                    return Some(base);
                }
                without_file = without_file.or(Some(*base));
            }
        }
        without_file
    }

    /// A module that a file imports, and the packages around it, from `around` on.
    fn module(&mut self, from: usize, bases: &[&Path], parts: &[&str], mut around: Option<u32>) -> Option<u32> {
        let mut path = self.base_of(bases, parts)?.to_owned();
        for part in parts {
            path.push(part);
            let module = self.package(from, &path);
            if let Some(package) = around {
                self.links.put(package, part, module);
            }
            around = Some(module);
        }
        around
    }

    /// The module that a path without its ending refers to: a package, a file, or a folder.
    fn package(&mut self, from: usize, path: &Path) -> u32 {
        let module = match self.modules.get(path) {
            Some(module) => *module,
            None => {
                let file = self.file_of(path).and_then(|file| self.load(&file));
                let module = self.links.add(file);
                self.modules.insert(path.to_owned(), module);
                module
            }
        };
        self.links.need(from, module);
        module
    }

    /// The file of a module, by its path without an ending.
    fn file_of(&mut self, path: &Path) -> Option<PathBuf> {
        let package = path.join("__init__.py");
        if self.is_file(&package) {
            return Some(package);
        }
        let mut name = path.file_name()?.to_owned();
        name.push(".py");
        let file = path.with_file_name(name);
        self.is_file(&file).then_some(file)
    }

    fn is_file(&mut self, path: &Path) -> bool {
        if let Some(is_file) = self.is_file.get(path) {
            return *is_file;
        }
        let is_file = self.places.contains_key(path) || self.files.is_file(path);
        self.is_file.insert(path.to_owned(), is_file);
        is_file
    }

    /// Reads a file that another imports.
    fn load(&mut self, path: &Path) -> Option<usize> {
        if let Some(place) = self.places.get(path) {
            return *place;
        }
        if self.followed_bytes >= MOST_BYTES || self.followed_files >= MOST_FILES {
            return None;
        }
        let source = self.files.read(path)?;
        self.followed_bytes += source.len();
        self.followed_files += 1;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let file = SourceFile::script(&name, &source, &mut self.counts).ok();
        let place = file.map(|file| self.join(path, Role::Imported, file));
        self.places.insert(path.to_owned(), place);
        place
    }
}

/// How a file is read.
pub(crate) type Reader = fn(&str, &[u8], &mut Counts) -> Result<SourceFile, PatchError>;

/// Patches a file as if there were no other.
pub(crate) fn alone(reader: Reader, name: &str, source: &[u8], options: &Options) -> Result<Patch, PatchError> {
    let mut project = Project::new(&NoFiles, options);
    project.add(reader, name, Path::new(name), source);
    let only = project.patched().pop().map(|only| only.patch);
    only.unwrap_or_else(|| Ok(Patch::default()))
}

fn joined(base: &Path, parts: &[&str]) -> PathBuf {
    parts.iter().fold(base.to_owned(), |path, part| path.join(part))
}
