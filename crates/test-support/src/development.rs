//! Files of the development data, which must not be in the repository.

use std::path::{Path, PathBuf};

/// A file or folder of the development data; `None` with a message where there is none.
pub fn development_data(name: &str) -> Option<PathBuf> {
    let folder = match std::env::var_os("JOULETREE_DATA") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
    };
    let file = folder.join(name);
    if !file.exists() {
        eprintln!("skipped: no {name} in {}; set JOULETREE_DATA to the development data", folder.display());
        return None;
    }
    Some(file)
}

/// A trace, or what belongs to one.
pub fn trace_data(name: &str) -> Option<PathBuf> {
    development_data(&format!("traces/{name}"))
}
