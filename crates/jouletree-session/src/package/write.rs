//! Writing the package: its permissions are the same whatever the umask is.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::{FILES, NAME};

/// All may read, only the owner may write.
const FOLDER: u32 = 0o755;
const FILE: u32 = 0o644;
/// Where Python keeps compiled modules.
pub const COMPILED: &str = "__pycache__";

/// The folders of the package, outer ones first, without the top.
///
/// Those for compiled modules are among them: Python would make them with the permissions of new folders, and who can
/// write there can put other code in their place.
pub fn folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for (name, _) in FILES {
        let file = Path::new(NAME).join(name);
        let above = file.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        for folder in above {
            folders.extend([folder.to_owned(), folder.join(COMPILED)]);
        }
    }
    folders.sort();
    folders.dedup();
    folders
}

/// Writes the package to a new folder.
pub fn write(top: &Path) -> io::Result<()> {
    let folders: Vec<PathBuf> =
        [top.to_owned()].into_iter().chain(folders().iter().map(|folder| top.join(folder))).collect();
    for folder in &folders {
        DirBuilder::new().mode(0o700).create(folder)?;
    }
    for (name, content) in FILES {
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(top.join(NAME).join(name))?;
        file.write_all(content)?;
        file.set_permissions(Permissions::from_mode(FILE))?;
    }
    folders.iter().try_for_each(|folder| fs::set_permissions(folder, Permissions::from_mode(FOLDER)))
}
