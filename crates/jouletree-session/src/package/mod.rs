//! The Python package, which this program carries with it: where the user's Python finds it.
//!
//! It is written once to the user's cache folder, under a name that says what it holds, and used from there by every run
//! after it was checked. Where the cache cannot be used, it is written to a folder of this run alone.

mod check;
mod write;

use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use jouletree_host::whole::PartialFolder;

use crate::private_folder::{self, PrivateFolder};
use crate::{cache, trusted};

/// The files of the package, by their path in it.
const FILES: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/package.rs"));
/// Changes with the files.
const DIGEST: &str = env!("JOULETREE_PACKAGE_DIGEST");
/// The folder of the files.
const NAME: &str = "jouletree";
/// The folder in it whose `sitecustomize` Python runs at its start.
const START: &str = "jouletree/_auto";
/// Longer paths are not possible.
const LONGEST: usize = 4096;

/// The package on disk.
pub struct Package {
    folder: PathBuf,
    /// Removed with the run, where there is no cache.
    _private: Option<PrivateFolder>,
}

impl Package {
    /// Finds the package in the user's cache, or puts it there, or into a folder of this run's.
    pub fn placed() -> Result<Package> {
        // For those who work on the package.
        if let Some(folder) = env::var_os("JOULETREE_PACKAGE") {
            return Ok(Package { folder: folder.into(), _private: None });
        }
        if let Some(folder) = cache::folder().and_then(|cache| in_cache(&cache).ok()) {
            return Ok(Package { folder, _private: None });
        }
        let private = PrivateFolder::make(LONGEST).context("cannot create a folder")?;
        let folder = trusted::resolved(private.path())?.join(private_folder::PACKAGE);
        write::write(&folder).with_context(|| format!("cannot write to {}", folder.display()))?;
        Ok(Package { folder, _private: Some(private) })
    }

    /// The search path of Python with the package in front of what was there.
    pub fn search_path(&self) -> Result<OsString> {
        let before = env::var_os("PYTHONPATH").filter(|path| !path.is_empty());
        let own = [self.folder.join(START), self.folder.clone()];
        let paths = own.into_iter().chain(before.iter().flat_map(env::split_paths));
        env::join_paths(paths).context("the path of the cache folder holds a colon; set XDG_CACHE_HOME to another")
    }
}

/// Puts the package into the cache, whole or not at all; one that is there is checked, and replaced if it is not as it
/// was written.
fn in_cache(cache: &Path) -> io::Result<PathBuf> {
    let cache = secured(cache)?;
    let folder = cache.join(format!("python-{}-{DIGEST}", env!("CARGO_PKG_VERSION")));
    if check::is_intact(&folder) {
        return Ok(folder);
    }
    // Other containers may use this cache at the same time, and have processes of the same number.
    let partial = cache.join(format!(".python-{}", uuid::Uuid::new_v4().simple()));
    let partial = PartialFolder::written_at(partial, &folder);
    // Other runs may use what is there.
    let placed = write::write(partial.path()).and_then(|()| Ok(partial.replace()?));
    match placed {
        // Another run was faster.
        Err(_) if check::is_intact(&folder) => Ok(folder),
        Err(error) => Err(error),
        Ok(()) => Ok(folder),
    }
}

/// The cache folder, which no other user can change.
fn secured(cache: &Path) -> io::Result<PathBuf> {
    // As the XDG specification wants it.
    DirBuilder::new().recursive(true).mode(0o700).create(cache)?;
    let about = cache.metadata()?;
    if about.uid() == trusted::user() && !trusted::is_private_to_write(&about) {
        // It was made by an earlier version, with the permissions that new files have here.
        fs::set_permissions(cache, fs::Permissions::from_mode(about.mode() & 0o755))?;
    }
    trusted::resolved(cache)
}

#[cfg(test)]
mod tests;
