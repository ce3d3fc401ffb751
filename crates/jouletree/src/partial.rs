//! A file that is being written: it appears whole or not at all.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A file under a name nobody looks at, beside the one that it becomes; removed unless it does.
pub struct Partial {
    path: PathBuf,
    file: File,
}

impl Partial {
    pub fn beside(path: &Path) -> Result<Partial> {
        let name = path.file_name().with_context(|| format!("{}: not the name of a file", path.display()))?;
        let partial = path.with_file_name(format!(".{}.partial-{}", name.to_string_lossy(), std::process::id()));
        // One that is left from a dead process of the same number is written over.
        let file = File::create(&partial)
            .with_context(|| format!("{}: cannot create the file; is its folder there?", path.display()))?;
        Ok(Partial { path: partial, file })
    }

    /// What is written to.
    pub fn file(&self) -> &File {
        &self.file
    }

    pub fn become_whole(self, path: &Path) -> Result<()> {
        self.file.sync_all().with_context(|| format!("{}: cannot write to the disk", path.display()))?;
        fs::rename(&self.path, path)
            .with_context(|| format!("{}: cannot rename the finished file", path.display()))
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // After the renaming there is nothing of this name. A failure here must not hide the error that led here.
        let _ = fs::remove_file(&self.path);
    }
}
