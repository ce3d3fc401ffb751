//! Folders that no other user can change: code that is placed there is still the same when it runs.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Write permission of the group and of all others.
const OTHERS_WRITE: u32 = 0o022;
/// In a folder with this bit only the owner of an entry can rename or remove it.
const STICKY: u32 = 0o1000;

/// The path of a folder without symbolic links, if no other user can put something else in its place.
///
/// Each folder on the path must belong to this user or to the system, and must not be writable by others, unless it
/// is sticky, as `/tmp` is.
pub fn resolved(folder: &Path) -> io::Result<PathBuf> {
    let folder = folder.canonicalize()?;
    for place in folder.ancestors() {
        let about = place.metadata()?;
        // In a user namespace the system's files belong to a user that is not root.
        let owners = [user(), 0, fs::metadata("/")?.uid()];
        if !owners.contains(&about.uid()) {
            return Err(refused(place, "belongs to another user"));
        }
        if about.mode() & OTHERS_WRITE != 0 && about.mode() & STICKY == 0 {
            return Err(refused(place, "can be written by other users"));
        }
    }
    Ok(folder)
}

/// Whether what this describes belongs to this user, and only this user can write to it.
pub fn is_private_to_write(about: &fs::Metadata) -> bool {
    about.uid() == user() && about.mode() & OTHERS_WRITE == 0
}

/// The user that this process acts for.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn refused(place: &Path, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, format!("{} {why}", place.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_folder_below_one_that_others_can_write_to_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let inner = top.path().join("shared/inner");
        fs::create_dir_all(&inner).unwrap();
        let set = |mode| {
            fs::set_permissions(top.path().join("shared"), fs::Permissions::from_mode(mode)).unwrap();
        };
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o755)).unwrap();
        let link = top.path().join("link");
        symlink(&inner, &link).unwrap();
        for (mode, is_refused) in [(0o755, false), (0o775, true), (0o757, true), (0o1777, false)] {
            set(mode);
            assert_eq!(resolved(&inner).is_err(), is_refused, "{mode:o}");
            assert_eq!(resolved(&link).is_err(), is_refused, "a link, {mode:o}");
        }
        assert_eq!(resolved(&link).unwrap(), inner.canonicalize().unwrap());
    }
}
