//! The Python package, which this program carries with it: where the user's Python finds it.
//!
//! It is written once to the user's cache folder, under a name that says what it holds, and used from there by every run.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::cache;

/// The files of the package, by their path in it.
const FILES: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/package.rs"));
/// Changes with the files.
const DIGEST: &str = env!("JOULETREE_PACKAGE_DIGEST");
/// The folder in it whose `sitecustomize` Python runs at its start.
const START: &str = "jouletree/_auto";

/// The package on disk.
pub struct Package {
    folder: PathBuf,
}

impl Package {
    /// Finds the package in the user's cache, or puts it there; into `own`, a folder of this run's, where the cache
    /// cannot be used.
    pub fn placed(own: &Path) -> Result<Package> {
        // For those who work on the package.
        if let Some(folder) = env::var_os("JOULETREE_PACKAGE") {
            return Ok(Package { folder: folder.into() });
        }
        let folder = match cache::folder().context("there is no cache folder").and_then(|cache| place(&cache)) {
            Ok(folder) => folder,
            Err(_) => place(own).context("cannot write jouletree's Python package")?,
        };
        Ok(Package { folder })
    }

    /// The search path of Python with the package in front of what was there.
    pub fn search_path(&self) -> Result<OsString> {
        let before = env::var_os("PYTHONPATH").filter(|path| !path.is_empty());
        let own = [self.folder.join(START), self.folder.clone()];
        let paths = own.into_iter().chain(before.iter().flat_map(env::split_paths));
        env::join_paths(paths).context("the path of the cache folder holds a colon; set XDG_CACHE_HOME to another")
    }
}

/// Puts the package into a folder, whole or not at all.
fn place(parent: &Path) -> Result<PathBuf> {
    let folder = parent.join(format!("python-{}-{DIGEST}", env!("CARGO_PKG_VERSION")));
    if is_ours(&folder) {
        return Ok(folder);
    }
    let partial = parent.join(format!(".python-{}", std::process::id()));
    let _ = fs::remove_dir_all(&partial);
    let written = write(&partial).and_then(|()| match fs::rename(&partial, &folder) {
        // Another run was faster.
        Err(_) if is_ours(&folder) => Ok(()),
        renamed => renamed,
    });
    if let Err(error) = written {
        let _ = fs::remove_dir_all(&partial);
        return Err(error).with_context(|| format!("cannot write to {}", parent.display()));
    }
    let _ = fs::remove_dir_all(&partial);
    Ok(folder)
}

fn write(folder: &Path) -> io::Result<()> {
    for (name, content) in FILES {
        let path = folder.join("jouletree").join(name);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, content)?;
    }
    // Whatever new files are allowed here, others must not write.
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
}

/// Whether this user wrote it: nobody else's code is run in the user's name.
fn is_ours(folder: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    folder.symlink_metadata().is_ok_and(|data| data.is_dir() && data.uid() == user && data.mode() & 0o022 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_is_written_whole_and_once() {
        let parent = tempfile::tempdir().unwrap();
        let folder = place(parent.path()).unwrap();
        for (name, content) in FILES {
            assert_eq!(fs::read(folder.join("jouletree").join(name)).unwrap(), *content, "{name}");
        }
        assert!(folder.join(START).join("sitecustomize.py").is_file());
        fs::write(folder.join("mark"), "").unwrap();
        assert_eq!(place(parent.path()).unwrap(), folder);
        assert!(folder.join("mark").exists());
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_not_trusted() {
        let parent = tempfile::tempdir().unwrap();
        let folder = place(parent.path()).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(place(parent.path()).is_err());
    }
}
