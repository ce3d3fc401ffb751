//! Files of a run folder: they are their owner's unless the folder is shared, and only regular files are opened.
//!
//! A folder is created for its owner alone, whatever the umask. [`share`] opens it. Every file that is written later is
//! as open as the folder it is in, so that whatever finishes a run keeps what its owner chose.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use jouletree_host::whole::folder_of;
use rustix::fs::{Mode, OFlags};
use rustix::process::umask;

/// Permissions of folders and files that only their owner may use.
pub(crate) const OWN_FOLDER: u32 = 0o700;
const OWN_FILE: u32 = 0o600;
/// The same where others may read, of which the umask takes its part.
const SHARED_FOLDER: u32 = 0o755;
const SHARED_FILE: u32 = 0o644;
/// All permissions of others.
const OTHERS: u32 = 0o077;

/// Opens a file for reading. What is no regular file is refused: a pipe would wait for a writer.
pub fn open_file(path: &Path) -> io::Result<File> {
    check(&path.metadata()?)?;
    // It may have been replaced since.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// The content of a file, under the same condition.
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open_file(path)?.read_to_end(&mut content)?;
    Ok(content)
}

fn check(about: &Metadata) -> io::Result<()> {
    match about.is_file() {
        true => Ok(()),
        false => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file; restore it from a copy"))
        }
    }
}

/// Lets others read a run folder and what is in it, as far as the umask allows.
pub fn share(path: &Path) -> io::Result<()> {
    // The one way to learn it is to set it. For an instant this process makes files for their owner alone.
    let mask = umask(Mode::from_raw_mode(OTHERS));
    umask(mask);
    open_up(path, mask.as_raw_mode())
}

fn open_up(path: &Path, mask: u32) -> io::Result<()> {
    let about = path.symlink_metadata()?;
    if about.is_dir() {
        for entry in fs::read_dir(path)? {
            open_up(&entry?.path(), mask)?;
        }
        // Last, so that the folder is closed while its files are opened.
        fs::set_permissions(path, Permissions::from_mode(SHARED_FOLDER & !mask | OWN_FOLDER))
    } else if about.is_file() {
        fs::set_permissions(path, Permissions::from_mode(SHARED_FILE & !mask | OWN_FILE))
    } else {
        Ok(())
    }
}

/// Creates a folder that only its owner may enter.
pub(crate) fn create_own_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(OWN_FOLDER).create(path)
}

/// Creates a folder that is as open as the one it is in.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    match is_own(path) {
        true => create_own_folder(path),
        false => DirBuilder::new().mode(SHARED_FOLDER).create(path),
    }
}

/// Creates a file, which must be new, that is as open as its folder.
pub(crate) fn create_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create_new(true).mode(mode_in_folder(path)).open(path)
}

/// The permissions of a file that is as open as its folder.
pub(crate) fn mode_in_folder(path: &Path) -> u32 {
    if is_own(path) { OWN_FILE } else { SHARED_FILE }
}

/// Whether only its owner may enter the folder that this path is in.
fn is_own(path: &Path) -> bool {
    let folder = folder_of(path);
    // A folder that cannot be looked at lets nothing be created either.
    folder.metadata().is_ok_and(|about| about.mode() & OTHERS == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o777
    }

    #[test]
    fn what_is_created_is_the_owners_until_it_is_shared() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        create_own_folder(&run).unwrap();
        create_folder(&run.join("journal")).unwrap();
        create_file(&run.join("journal/samples")).unwrap();
        assert_eq!(
            [mode(&run), mode(&run.join("journal")), mode(&run.join("journal/samples"))],
            [0o700, 0o700, 0o600]
        );
        open_up(&run, 0o027).unwrap();
        assert_eq!(
            [mode(&run), mode(&run.join("journal")), mode(&run.join("journal/samples"))],
            [0o750, 0o750, 0o640]
        );
        // What comes later follows the folder, and the umask of this process.
        create_file(&run.join("manifest.json")).unwrap();
        let plain = File::create(folder.path().join("plain")).unwrap().metadata().unwrap().mode();
        assert_eq!(mode(&run.join("manifest.json")), plain & SHARED_FILE);
        // An owner keeps access, whatever the umask is.
        open_up(&run, 0o777).unwrap();
        assert_eq!([mode(&run), mode(&run.join("journal/samples"))], [0o700, 0o600]);
    }

    #[test]
    fn only_regular_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("ops.parquet");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600), 0)
            .unwrap();
        for path in [pipe.as_path(), folder.path(), Path::new("/dev/zero")] {
            let refused = open_file(path).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "{}", path.display());
        }
        fs::write(folder.path().join("file"), "text").unwrap();
        assert_eq!(read_file(&folder.path().join("file")).unwrap(), b"text");
    }
}
