//! Folders and files that look like the kernel's.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::ZoneSpec;

/// Every write has this size, padded with line ends: a reader sees the old count or the new one.
const WIDTH: usize = 16;
const DEVICES: &str = "devices/virtual/powercap";
const CLASS: &str = "class/powercap";

/// The files of one zone.
#[derive(Debug)]
pub(crate) struct ZoneFiles {
    root: PathBuf,
    spec: ZoneSpec,
    folder: PathBuf,
    link: PathBuf,
    counter: File,
    state: State,
}

/// The state of the counter's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    There,
    Refused,
    Gone,
}

/// Refuses to play over something that is there.
pub(crate) fn is_taken(root: &Path) -> bool {
    root.join(CLASS).exists() || root.join(DEVICES).exists()
}

impl ZoneFiles {
    /// Makes the files of a zone whose parents are there already. It shows `shared` if that is given.
    pub fn create(root: &Path, spec: &ZoneSpec, shared: Option<&ZoneFiles>) -> io::Result<ZoneFiles> {
        let below = device_path(&spec.id);
        let folder = root.join(DEVICES).join(&below);
        fs::create_dir_all(&folder)?;
        let control = spec.id.split(':').next().unwrap_or_default();
        fs::write(root.join(DEVICES).join(control).join("enabled"), "1\n")?;
        fs::write(folder.join("name"), format!("{}\n", spec.name))?;
        fs::write(folder.join("max_energy_range_uj"), format!("{}\n", spec.range()))?;
        // It is about limits of power, and says nothing about the counter.
        fs::write(folder.join("enabled"), "0\n")?;
        let path = folder.join("energy_uj");
        if let Some(shared) = shared {
            fs::hard_link(shared.path(), &path)?;
        }
        let counter = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        let class = root.join(CLASS);
        fs::create_dir_all(&class)?;
        let link = class.join(&spec.id);
        symlink(Path::new("../..").join(DEVICES).join(&below), &link)?;
        if !class.join(control).exists() {
            symlink(Path::new("../..").join(DEVICES).join(control), class.join(control))?;
        }
        Ok(ZoneFiles { root: root.to_owned(), spec: spec.clone(), folder, link, counter, state: State::There })
    }

    fn path(&self) -> PathBuf {
        self.folder.join("energy_uj")
    }

    fn aside(&self) -> PathBuf {
        self.folder.join(".energy_uj")
    }

    /// Shows a count, or words, in one write.
    pub fn show(&mut self, text: &str) -> io::Result<()> {
        if self.state == State::Gone {
            // The driver is back, with files that no process has open.
            *self = ZoneFiles::create(&self.root, &self.spec, None)?;
        }
        let mut padded = [b'\n'; WIDTH];
        for (place, byte) in padded.iter_mut().zip(text.bytes().take(WIDTH - 1)) {
            *place = byte;
        }
        self.counter.write_all_at(&padded, 0)?;
        // Only now: who opens it anew must not find it empty.
        if self.state == State::Refused {
            fs::rename(self.aside(), self.path())?;
            self.state = State::There;
        }
        Ok(())
    }

    /// Leaves the file empty.
    pub fn empty(&mut self) -> io::Result<()> {
        self.counter.set_len(0)
    }

    /// Puts a file in its place that opens and cannot be read.
    pub fn refuse(&mut self) -> io::Result<()> {
        if self.state == State::There {
            fs::rename(self.path(), self.aside())?;
            symlink("/proc/self/mem", self.path())?;
            self.state = State::Refused;
            self.empty()?;
        }
        Ok(())
    }

    /// Removes the zone and all below it.
    pub fn vanish(&mut self) -> io::Result<()> {
        if self.state != State::Gone {
            self.state = State::Gone;
            let nothing_there = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
            let unless_gone = |done: io::Result<()>| {
                done.or_else(|error| if nothing_there(&error) { Ok(()) } else { Err(error) })
            };
            unless_gone(fs::remove_file(&self.link))?;
            unless_gone(fs::remove_dir_all(&self.folder))?;
            // Only now: who finds it empty and looks again must find nothing.
            self.empty()?;
        }
        Ok(())
    }
}

/// `intel-rapl:0:1` lies in `intel-rapl/intel-rapl:0/intel-rapl:0:1`.
fn device_path(id: &str) -> PathBuf {
    let ends = id.match_indices(':').map(|(place, _)| place).chain([id.len()]);
    ends.filter_map(|end| id.get(..end)).collect()
}
