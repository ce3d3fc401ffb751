//! A file that is being written: it appears whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A file under a temporary name, beside the one that it becomes; removed unless it does.
pub struct Partial {
    path: PathBuf,
    file: File,
}

impl Partial {
    pub fn beside(path: &Path) -> Result<Partial> {
        Partial::with_mode(path, 0o666)
    }

    /// The same with these permissions, of which the umask takes its part.
    pub fn with_mode(path: &Path, mode: u32) -> Result<Partial> {
        let name = path.file_name().with_context(|| format!("{}: not the name of a file", path.display()))?;
        let partial = path.with_file_name(format!(".{}.partial-{}", name.to_string_lossy(), std::process::id()));
        // Left by a dead process of the same number, or a link that another user put there.
        let _ = fs::remove_file(&partial);
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&partial);
        let file =
            file.with_context(|| format!("{}: cannot create the file; is its folder there?", path.display()))?;
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
