//! A folder of this process alone, for its socket and, where there is no cache, for the Python package.
//!
//! It is removed with the value. What a killed process left behind is removed by the next one of the same user: a lock
//! says whether the process still runs, also where its number means another process.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::trusted;

const PREFIX: &str = "jouletree-";
/// Held as long as the folder is used.
const LOCK: &str = "lock";
/// The socket of a recorder, by which folders are known that have no lock.
pub const SOCKET: &str = "windows";
/// The Python package. Programs may still import from it when their recorder was killed.
pub const PACKAGE: &str = "python";

/// How long a folder is kept that has no lock yet, and one that holds a package.
const NEW: Duration = Duration::from_secs(3600);
const IN_USE: Duration = Duration::from_secs(24 * 3600);
/// Upper bound of entries that are looked at, so that a crowded folder costs nothing.
const MOST_ENTRIES: usize = 10_000;

/// A folder that only this user can enter.
pub struct PrivateFolder {
    path: PathBuf,
    _lock: File,
}

impl PrivateFolder {
    /// Makes one in the first of the usual places in which it can be, if its path has at most so many bytes. Places that
    /// other users cannot change come first.
    pub fn make(longest: usize) -> io::Result<PrivateFolder> {
        let places = [std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from), Some(std::env::temp_dir())];
        let places = places.into_iter().flatten().chain([PathBuf::from("/tmp")]);
        let mut places: Vec<PathBuf> = places.filter(|place| place.is_absolute()).collect();
        places.sort_by_key(|place| trusted::resolved(place).is_err());
        let mut failed = io::Error::other("there is no folder for temporary files");
        for place in places {
            match PrivateFolder::below(&place, longest) {
                Ok(folder) => return Ok(folder),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    /// Makes one in this folder.
    pub fn below(place: &Path, longest: usize) -> io::Result<PrivateFolder> {
        let place = place.canonicalize()?;
        remove_stale(&place);
        let random = uuid::Uuid::new_v4().simple().to_string();
        let path = place.join(format!("{PREFIX}{}-{}", std::process::id(), random.get(..16).unwrap_or(&random)));
        if path.as_os_str().len() > longest {
            return Err(io::Error::new(io::ErrorKind::InvalidFilename, "the path is too long"));
        }
        // The name is new: a folder that is already there is not taken.
        DirBuilder::new().mode(0o700).create(&path)?;
        let lock = File::create_new(path.join(LOCK));
        match lock {
            Ok(lock) => {
                // A file system without locks leaves the folder to itself.
                let _ = lock.try_lock();
                Ok(PrivateFolder { path, _lock: lock })
            }
            Err(error) => {
                let _ = fs::remove_dir_all(&path);
                Err(error)
            }
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // A folder that cannot be removed is removed by the next process.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes what killed processes of this user left behind.
fn remove_stale(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten().take(MOST_ENTRIES) {
        let path = entry.path();
        if is_name(&entry.file_name().to_string_lossy()) && is_stale(&path) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// `jouletree-PID-HEX`.
fn is_name(name: &str) -> bool {
    let parts = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    parts.is_some_and(|(pid, random)| {
        let is_number = !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit());
        is_number && random.len() >= 8 && random.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

fn is_stale(path: &Path) -> bool {
    let Ok(about) = path.symlink_metadata() else { return false };
    if !about.is_dir() || about.uid() != trusted::user() {
        return false;
    }
    let age = about.modified().ok().and_then(|time| time.elapsed().ok()).unwrap_or_default();
    match File::open(path.join(LOCK)) {
        Ok(lock) => {
            let is_held = !matches!(lock.try_lock(), Ok(()));
            !is_held && (age > IN_USE || !path.join(PACKAGE).exists())
        }
        // Of a version without locks, or made this instant.
        Err(_) => match UnixStream::connect(path.join(SOCKET)) {
            Ok(_) => false,
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => true,
            Err(_) => age > NEW,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        let used = PrivateFolder::below(place.path(), 4096).unwrap();
        assert_eq!(used.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
        // Killed: the folder is there, and nothing holds its lock.
        fs::create_dir(path("jouletree-1-0123456789abcdef")).unwrap();
        fs::write(path("jouletree-1-0123456789abcdef").join(LOCK), "").unwrap();
        // Killed, of the version before: a socket at which nothing listens.
        fs::create_dir(path("jouletree-2-01234567")).unwrap();
        drop(UnixListener::bind(path("jouletree-2-01234567").join(SOCKET)).unwrap());
        // Of the version before, and it still listens.
        fs::create_dir(path("jouletree-3-01234567")).unwrap();
        let _listener = UnixListener::bind(path("jouletree-3-01234567").join(SOCKET)).unwrap();
        // Made this instant, without its lock yet; killed, with a package that programs may use; not ours.
        fs::create_dir(path("jouletree-4-0123456789abcdef")).unwrap();
        fs::create_dir_all(path("jouletree-5-0123456789abcdef").join(PACKAGE)).unwrap();
        fs::write(path("jouletree-5-0123456789abcdef").join(LOCK), "").unwrap();
        fs::create_dir(path("jouletree-monitor-6-0123456789abcdef")).unwrap();
        fs::create_dir(path("jouletree-train-20260101-010101")).unwrap();
        remove_stale(place.path());
        let mut left: Vec<String> = fs::read_dir(place.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| path(name) != used.path().canonicalize().unwrap() && path(name) != used.path())
            .collect();
        left.sort();
        assert_eq!(
            left,
            [
                "jouletree-3-01234567",
                "jouletree-4-0123456789abcdef",
                "jouletree-5-0123456789abcdef",
                "jouletree-monitor-6-0123456789abcdef",
                "jouletree-train-20260101-010101",
            ]
        );
        let used_path = used.path().to_owned();
        assert!(used_path.join(LOCK).exists());
        drop(used);
        assert!(!used_path.exists());
    }

    #[test]
    fn a_path_that_is_too_long_for_a_socket_is_not_used() {
        let place = tempfile::tempdir().unwrap();
        assert!(PrivateFolder::below(place.path(), 10).is_err());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }
}
