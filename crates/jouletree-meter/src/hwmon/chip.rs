//! The chips that the kernel monitors.

use std::fs;
use std::path::{Path, PathBuf};

use crate::number_file::line;

/// One chip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chip {
    /// What the driver calls it.
    pub name: String,
    /// Where its files are.
    pub folder: PathBuf,
    /// Its place on the bus, such as `0000:03:00.0`; empty when it has none.
    pub address: String,
}

impl Chip {
    /// The path of one of its files, if there is such a file.
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        Some(self.folder.join(name)).filter(|path| path.exists())
    }

    /// The text of one of its files.
    pub fn text(&self, name: &str) -> Option<String> {
        line(&self.folder.join(name))
    }

    /// The numbers N of its files `<stem>N_<ending>`, in order.
    pub fn channels(&self, stem: &str, ending: &str) -> Vec<u32> {
        let number = |name: &str| name.strip_prefix(stem)?.strip_suffix(ending)?.strip_suffix('_')?.parse().ok();
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut channels: Vec<u32> = entries.filter_map(|entry| number(entry.file_name().to_str()?)).collect();
        channels.sort_unstable();
        channels
    }
}

/// All chips, in the order of their places on the bus.
pub(super) fn chips(class: &Path) -> Vec<Chip> {
    let entries = fs::read_dir(class).into_iter().flatten().flatten();
    let mut chips: Vec<Chip> = entries.filter_map(|entry| chip(&entry.path())).collect();
    chips.sort_by(|a, b| (&a.address, &a.folder).cmp(&(&b.address, &b.folder)));
    chips
}

/// Older drivers put their files beside the device and not into the monitor's own folder.
fn chip(folder: &Path) -> Option<Chip> {
    let device = folder.join("device");
    let (name, folder) = match line(&folder.join("name")) {
        Some(name) if has_meter(folder) || !has_meter(&device) => (name, folder.to_owned()),
        Some(name) => (name, device.clone()),
        None => (line(&device.join("name"))?, device.clone()),
    };
    let address = fs::canonicalize(&device).ok();
    let address = address.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    Some(Chip { name, folder, address: address.unwrap_or_default().to_owned() })
}

fn has_meter(folder: &Path) -> bool {
    let is_meter =
        |name: &str| ["power", "energy", "curr"].iter().any(|stem| name.starts_with(stem) && name != "power");
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .any(|entry| entry.file_name().to_str().is_some_and(is_meter))
}
