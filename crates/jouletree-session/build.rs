//! Puts the Python package into the program, so that `jouletree run` works with any Python, installed into it or not.

use std::collections::hash_map::DefaultHasher;
use std::env;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

fn main() -> Result<()> {
    let variable = |name: &str| env::var(name).map_err(|error| Error::new(ErrorKind::NotFound, error));
    let package = PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join("../../python/jouletree");
    let mut files = Vec::new();
    collect(&package, &mut files)?;
    files.sort();
    let (mut digest, mut text) = (DefaultHasher::new(), String::from("[\n"));
    for file in &files {
        let name = file.strip_prefix(&package).map_err(Error::other)?.display().to_string();
        (&name, fs::read(file)?).hash(&mut digest);
        text += &format!("    ({name:?}, include_bytes!({:?})),\n", file.display().to_string());
    }
    text += "]\n";
    fs::write(Path::new(&variable("OUT_DIR")?).join("package.rs"), text)?;
    println!("cargo:rustc-env=JOULETREE_PACKAGE_DIGEST={:016x}", digest.finish());
    println!("cargo:rerun-if-changed={}", package.display());
    Ok(())
}

/// The files of the package: sources and the marker of type hints.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "__pycache__") {
                collect(&path, files)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "py" || extension == "typed") {
            files.push(path);
        }
    }
    Ok(())
}
