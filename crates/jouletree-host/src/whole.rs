//! Files and folders that appear whole or not at all: they are written under another name beside their own and renamed
//! when they are complete. What is not renamed is removed.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

/// Permissions of new files and folders, of which the umask takes its part.
const FILE: u32 = 0o666;
const FOLDER: u32 = 0o777;

/// Why a file or folder was not written.
#[derive(Debug, thiserror::Error)]
pub enum WholeError {
    /// The path ends in `..` or is `/`.
    #[error("{}: not the name of a file or folder", .0.display())]
    NoName(PathBuf),
    /// Something is there already, and it was not to be replaced.
    #[error("{} exists: choose another name or remove it", .0.display())]
    Exists(PathBuf),
    /// The operating system refused.
    #[error("{}: cannot {action}", .path.display())]
    Io {
        /// What was to be written.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl WholeError {
    fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> WholeError {
        move |source| WholeError::Io { path: path.to_owned(), action, source }
    }
}

impl From<WholeError> for io::Error {
    fn from(error: WholeError) -> io::Error {
        let kind = match &error {
            WholeError::NoName(_) => io::ErrorKind::InvalidInput,
            WholeError::Exists(_) => io::ErrorKind::AlreadyExists,
            WholeError::Io { source, .. } => source.kind(),
        };
        io::Error::new(kind, error)
    }
}

/// Writes a file, or replaces the one that is there.
pub fn write(path: &Path, content: &[u8]) -> Result<(), WholeError> {
    let partial = PartialFile::beside(path)?;
    partial.write(content)?;
    partial.become_whole()
}

/// A file that is being written.
#[derive(Debug)]
pub struct PartialFile {
    path: PathBuf,
    file: File,
    whole: PathBuf,
}

impl PartialFile {
    /// Begins the file that will be at `whole`.
    pub fn beside(whole: &Path) -> Result<PartialFile, WholeError> {
        PartialFile::with_mode(whole, FILE)
    }

    /// The same with these permissions, of which the umask takes its part.
    pub fn with_mode(whole: &Path, mode: u32) -> Result<PartialFile, WholeError> {
        let path = partial_name(whole)?;
        // Left by a dead process of the same number, or a link that another user put there.
        let _ = fs::remove_file(&path);
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path);
        let file = file.map_err(WholeError::io(whole, "create the file; is its folder there?"))?;
        Ok(PartialFile { path, file, whole: whole.to_owned() })
    }

    /// What is written to.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Adds content.
    pub fn write(&self, content: &[u8]) -> Result<(), WholeError> {
        (&self.file).write_all(content).map_err(WholeError::io(&self.whole, "write the file"))
    }

    /// Puts it in its place, when it has reached the disk.
    pub fn become_whole(self) -> Result<(), WholeError> {
        self.file.sync_all().map_err(WholeError::io(&self.whole, "write to the disk"))?;
        fs::rename(&self.path, &self.whole)
            .map_err(WholeError::io(&self.whole, "rename the finished file to this"))
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // After the renaming there is nothing of this name. A failure here must not hide the error that led here.
        let _ = fs::remove_file(&self.path);
    }
}

/// A folder that is being written.
#[derive(Debug)]
pub struct PartialFolder {
    path: PathBuf,
    whole: PathBuf,
}

impl PartialFolder {
    /// Begins the folder that will be at `whole`.
    pub fn beside(whole: &Path) -> Result<PartialFolder, WholeError> {
        PartialFolder::with_mode(whole, FOLDER)
    }

    /// The same with these permissions, of which the umask takes its part.
    pub fn with_mode(whole: &Path, mode: u32) -> Result<PartialFolder, WholeError> {
        let path = partial_name(whole)?;
        // Left by a process of the same number, which is dead; containers give the same numbers every time.
        let _ = remove(&path);
        let created = DirBuilder::new().mode(mode).create(&path);
        created.map_err(WholeError::io(whole, "create the folder; is the one around it there?"))?;
        Ok(PartialFolder { path, whole: whole.to_owned() })
    }

    /// The same for a folder that the caller creates at `path`, which no other process may use.
    pub fn written_at(path: PathBuf, whole: &Path) -> PartialFolder {
        PartialFolder { path, whole: whole.to_owned() }
    }

    /// Where its files are written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts it in its place, where nothing may be.
    pub fn become_whole(self) -> Result<(), WholeError> {
        sync_folder(&self.path)?;
        // Another process may have been faster; renaming never replaces a folder with something in it.
        if self.whole.symlink_metadata().is_ok() {
            return Err(WholeError::Exists(self.whole.clone()));
        }
        let renamed = fs::rename(&self.path, &self.whole);
        renamed.map_err(WholeError::io(&self.whole, "rename the finished folder to this"))?;
        sync_folder(folder_of(&self.whole))
    }

    /// Puts it in the place of what may be there, whose path exists at every instant.
    pub fn replace(self) -> Result<(), WholeError> {
        let renamed = match self.whole.symlink_metadata() {
            Ok(_) => renameat_with(CWD, &self.path, CWD, &self.whole, RenameFlags::EXCHANGE).map_err(Into::into),
            Err(_) => fs::rename(&self.path, &self.whole),
        };
        renamed.map_err(WholeError::io(&self.whole, "rename the finished folder to this"))
    }
}

impl Drop for PartialFolder {
    fn drop(&mut self) {
        // What was not renamed, or what was in its place.
        let _ = remove(&self.path);
    }
}

/// Moves finished files from one folder to another of the same file system, in their order; there they replace what is.
pub fn move_files(from: &Path, to: &Path, names: &[&str]) -> Result<(), WholeError> {
    sync_folder(from)?;
    for name in names {
        let whole = to.join(name);
        fs::rename(from.join(name), &whole).map_err(WholeError::io(&whole, "rename the finished file to this"))?;
    }
    sync_folder(to)
}

/// Makes names in a folder survive a power cut.
pub fn sync_folder(path: &Path) -> Result<(), WholeError> {
    File::open(path).and_then(|folder| folder.sync_all()).map_err(WholeError::io(path, "write to the disk"))
}

/// The folder that a path is in.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A hidden name beside a path, of this process.
fn partial_name(whole: &Path) -> Result<PathBuf, WholeError> {
    let name = whole.file_name().ok_or_else(|| WholeError::NoName(whole.to_owned()))?;
    Ok(whole.with_file_name(format!(".{}.partial-{}", name.to_string_lossy(), std::process::id())))
}

fn remove(path: &Path) -> io::Result<()> {
    fs::remove_dir_all(path).or_else(|_| fs::remove_file(path))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = entries.collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_there_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        fs::write(&path, "old").unwrap();
        let partial = PartialFile::with_mode(&path, 0o600).unwrap();
        partial.write(b"new ").unwrap();
        partial.write(b"page").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        partial.become_whole().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new page");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        drop(PartialFile::beside(&path).unwrap());
        assert_eq!(names(folder.path()), ["report.html"]);
        write(&path, b"short").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"short");
    }

    #[test]
    fn a_link_in_the_place_of_the_partial_file_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, victim) = (folder.path().join("file"), folder.path().join("victim"));
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, partial_name(&path).unwrap()).unwrap();
        write(&path, b"content").unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        assert_eq!(names(folder.path()), ["file", "victim"]);
    }

    #[test]
    fn a_folder_never_takes_the_place_of_another_unless_it_should() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        // Left by a process that died.
        fs::create_dir(partial_name(&path).unwrap()).unwrap();
        fs::write(partial_name(&path).unwrap().join("left"), "").unwrap();
        let first = PartialFolder::with_mode(&path, 0o700).unwrap();
        fs::write(first.path().join("manifest"), "first").unwrap();
        assert!(!path.exists());
        first.become_whole().unwrap();
        assert_eq!(names(&path), ["manifest"]);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);

        let second = PartialFolder::beside(&path).unwrap();
        fs::write(second.path().join("manifest"), "second").unwrap();
        assert!(matches!(second.become_whole(), Err(WholeError::Exists(there)) if there == path));
        assert_eq!(fs::read(path.join("manifest")).unwrap(), b"first");
        assert_eq!(names(folder.path()), ["run"]);

        let third = PartialFolder::beside(&path).unwrap();
        fs::write(third.path().join("manifest"), "third").unwrap();
        third.replace().unwrap();
        assert_eq!(fs::read(path.join("manifest")).unwrap(), b"third");
        assert_eq!(names(folder.path()), ["run"]);
    }

    #[test]
    fn finished_files_replace_those_that_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for path in [&from, &to] {
            fs::create_dir(path).unwrap();
            fs::write(path.join("a"), path.to_string_lossy().as_bytes()).unwrap();
        }
        fs::write(from.join("b"), "").unwrap();
        move_files(&from, &to, &["a", "b"]).unwrap();
        assert_eq!((names(&from).len(), names(&to)), (0, vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(fs::read(to.join("a")).unwrap(), from.to_string_lossy().as_bytes());
        let gone = move_files(&from, &to, &["c"]).unwrap_err();
        assert!(gone.to_string().contains("rename the finished file"), "{gone}");
    }

    #[test]
    fn what_cannot_be_is_said_with_its_path() {
        let nowhere = write(Path::new("/nowhere/at/all"), b"").unwrap_err();
        assert_eq!(nowhere.to_string(), "/nowhere/at/all: cannot create the file; is its folder there?");
        assert!(matches!(write(Path::new(".."), b""), Err(WholeError::NoName(_))));
        assert_eq!(folder_of(Path::new("file")), Path::new("."));
    }
}
