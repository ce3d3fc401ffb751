//! The zones of a powercap tree, however it is shown: flat as the class shows it, nested as the devices are, or both.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::number_file::line;

/// How deep zones nest. Two levels are known; links of a broken tree may go in circles.
const DEEPEST: usize = 4;

/// One zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Zone {
    /// Its identity in the tree, such as `intel-rapl:0:1`.
    pub id: String,
    /// What it meters, in the kernel's words; `None` when that cannot be read.
    pub name: Option<String>,
    /// Its folder.
    pub path: PathBuf,
    /// The name of the zone around it.
    pub parent: Option<String>,
}

impl Zone {
    /// Who shows it: `intel-rapl`, `intel-rapl-mmio`, `dtpm`.
    pub fn control(&self) -> &str {
        self.id.split(':').next().unwrap_or(&self.id)
    }

    /// The file of its counter.
    pub fn energy_file(&self) -> PathBuf {
        self.path.join("energy_uj")
    }

    /// Its place in an order of numbers, so that zone 10 comes after zone 9.
    fn order(&self) -> (String, Vec<u32>) {
        let numbers = self.id.split(':').skip(1).map(|number| number.parse().unwrap_or(u32::MAX)).collect();
        (self.control().to_owned(), numbers)
    }
}

/// All zones below `class`, each once, in the order of their identities.
pub(super) fn zones(class: &Path) -> Vec<Zone> {
    let mut paths = BTreeMap::new();
    collect(class, DEEPEST, &mut paths);
    let name_of = |id: &str| paths.get(id).and_then(|path: &PathBuf| line(&path.join("name")));
    let mut zones: Vec<Zone> = paths
        .iter()
        .map(|(id, path)| Zone {
            id: id.clone(),
            name: name_of(id),
            path: path.clone(),
            parent: id.rsplit_once(':').and_then(|(parent, _)| name_of(parent)),
        })
        .collect();
    zones.sort_by_key(Zone::order);
    zones
}

/// Zones have a colon in their names; control types, and the folders and links that every device has, do not.
fn collect(folder: &Path, depth: usize, paths: &mut BTreeMap<String, PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Ok(id) = entry.file_name().into_string() else { continue };
        let is_zone = id.contains(':');
        // The class holds control types, too; deeper down only zones hold zones.
        let is_control = depth == DEEPEST && !is_zone;
        if is_zone {
            // Of the ways that lead to a zone the shortest is shown.
            let length = |path: &Path| path.components().count();
            let path = paths.entry(id).or_insert_with(|| entry.path());
            if length(&entry.path()) < length(path) {
                *path = entry.path();
            }
        }
        if (is_zone || is_control) && depth > 0 && entry.path().is_dir() {
            collect(&entry.path(), depth - 1, paths);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(folder: &Path, name: &str) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("name"), format!("{name}\n")).unwrap();
    }

    #[test]
    fn a_zone_is_found_once_whether_shown_flat_nested_or_both() {
        let root = tempfile::tempdir().unwrap();
        let (class, devices) = (root.path().join("class"), root.path().join("devices"));
        fs::create_dir_all(&class).unwrap();
        for (path, name) in [("rapl", ""), ("rapl/rapl:0", "package-0"), ("rapl/rapl:0/rapl:0:0", "core")] {
            zone(&devices.join(path), name);
            std::os::unix::fs::symlink(devices.join(path), class.join(path.rsplit('/').next().unwrap())).unwrap();
        }
        zone(&devices.join("rapl/rapl:10"), "package-10");
        zone(&devices.join("rapl/rapl:9"), "package-9");
        std::os::unix::fs::symlink(&class, devices.join("rapl/rapl:9/rapl:9:0")).unwrap();
        for shown in [&class, &devices] {
            let zones = zones(shown);
            let seen: Vec<_> = zones
                .iter()
                .filter(|zone| zone.id != "rapl:9:0")
                .map(|zone| (zone.id.as_str(), zone.name.as_deref(), zone.parent.as_deref()))
                .collect();
            let expected = [
                ("rapl:0", Some("package-0"), None),
                ("rapl:0:0", Some("core"), Some("package-0")),
                ("rapl:9", Some("package-9"), None),
                ("rapl:10", Some("package-10"), None),
            ];
            assert_eq!(seen, expected);
        }
        assert!(zones(Path::new("no such folder")).is_empty());
    }
}
