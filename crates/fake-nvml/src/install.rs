//! Putting the stand-in where a test wants it: every copy is a library of its own and plays its own script.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Script;

/// Copies the shared library into a folder as `libnvidia-ml.so.1`, its script beside it, and says where it is.
///
/// Cargo builds the shared library beside the programs that depend on this crate, or in a folder above them.
pub fn install(folder: &Path, script: &Script) -> io::Result<PathBuf> {
    let library = folder.join("libnvidia-ml.so.1");
    let text = toml::to_string(script).map_err(io::Error::other)?;
    fs::write(folder.join("libnvidia-ml.so.1.toml"), text)?;
    fs::copy(built()?, &library)?;
    Ok(library)
}

fn built() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let folders = program.ancestors().skip(1).take(2).flat_map(|folder| [folder.to_owned(), folder.join("deps")]);
    let candidates = folders.map(|folder| folder.join("libfake_nvml.so"));
    let newest = candidates.filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path))).max();
    let missing = || io::Error::new(io::ErrorKind::NotFound, "libfake_nvml.so: run `cargo build -p fake-nvml`");
    newest.map(|(_, path)| path).ok_or_else(missing)
}
