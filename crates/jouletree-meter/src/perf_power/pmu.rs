//! The `power` unit as the kernel describes it in files.

use std::fs;
use std::path::PathBuf;

use jouletree_host::Roots;

use super::trouble;
use crate::Unusable;
use crate::number_file::line;

/// More CPUs than any machine has.
const MOST_CPUS: usize = 1 << 16;

/// The unit.
#[derive(Debug, PartialEq)]
pub(super) struct PowerPmu {
    pub folder: PathBuf,
    /// One CPU for each counter of the hardware.
    pub cpus: Vec<usize>,
    /// In the order of their names.
    pub events: Vec<EnergyEvent>,
}

/// One of its events.
#[derive(Debug, PartialEq)]
pub(super) struct EnergyEvent {
    pub name: String,
    /// What one count is; `None` when it is not reported, or not in joules.
    pub joules: Option<f64>,
}

impl PowerPmu {
    pub fn open(roots: &Roots) -> Result<PowerPmu, Unusable> {
        let folder = roots.sys.join("bus/event_source/devices/power");
        if !folder.exists() {
            return Err(trouble::no_unit(roots));
        }
        let mask = line(&folder.join("cpumask"));
        let cpus = mask.as_deref().and_then(cpu_list).filter(|cpus| !cpus.is_empty());
        let cpus = cpus.ok_or_else(|| trouble::no_cpus(&folder, mask.as_deref()))?;
        let entries = fs::read_dir(folder.join("events")).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> =
            names.filter(|name| name.starts_with("energy-") && !name.contains('.')).collect();
        names.sort_by_key(|name| (rank(name), name.clone()));
        let said = |name: &str, what: &str| line(&folder.join("events").join(format!("{name}.{what}")));
        let events = names
            .into_iter()
            .map(|name| {
                let in_joules = said(&name, "unit").is_some_and(|unit| unit == "Joules");
                let scale = said(&name, "scale").and_then(|text| text.parse::<f64>().ok());
                let joules = scale.filter(|scale| in_joules && scale.is_normal() && *scale > 0.0);
                EnergyEvent { name, joules }
            })
            .collect();
        Ok(PowerPmu { folder, cpus, events })
    }
}

/// The whole before its parts.
fn rank(name: &str) -> u8 {
    match name {
        "energy-pkg" => 0,
        "energy-ram" => 1,
        _ => 2,
    }
}

/// The kernel's lists: `0`, `0,28`, `0-3,8`.
fn cpu_list(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= MOST_CPUS {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_read_as_the_kernel_writes_them() {
        assert_eq!(cpu_list("0"), Some(vec![0]));
        assert_eq!(cpu_list("0,28"), Some(vec![0, 28]));
        assert_eq!(cpu_list("0-2,8"), Some(vec![0, 1, 2, 8]));
        for wrong in ["", "x", "3-1", "0-99999999", "1,", "-1"] {
            assert_eq!(cpu_list(wrong), None, "{wrong}");
        }
    }
}
