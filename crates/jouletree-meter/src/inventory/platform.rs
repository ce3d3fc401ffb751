//! Machines whose meters cannot be read yet: the one place that says so, and what it would take.

use std::fs;

use jouletree_host::Roots;

use crate::Unusable;
use crate::number_file::line;

/// A platform whose meters cannot be read yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsupported {
    /// What people call it.
    pub platform: &'static str,
    /// What reading them would take.
    pub needed: &'static str,
}

/// How the device tree names platforms whose meters are not read yet.
const BOARDS: [(&str, Unsupported); 3] = [
    (
        "apple,",
        Unsupported {
            platform: "Apple silicon under Linux",
            needed: "which rail of the chip `macsmc_hwmon` feeds what; on macOS, the `IOReport` counters",
        },
    ),
    (
        "nvidia,tegra",
        Unsupported {
            platform: "a Jetson without an `ina3221` monitor",
            needed: "the monitors of newer boards (`ina238`), by the labels of their rails",
        },
    ),
    (
        "raspberrypi,",
        Unsupported {
            platform: "Raspberry Pi",
            needed: "the rails of its power chip, which only its firmware reports (`vcgencmd pmic_read_adc`)",
        },
    ),
];

/// The platform, if this is one whose meters cannot be read yet; `None` where something was found.
pub fn unsupported(roots: &Roots) -> Option<Unsupported> {
    if cfg!(target_os = "macos") {
        return Some(Unsupported { platform: "macOS", needed: "a sensor for the counters of `IOReport`" });
    }
    if cfg!(windows) {
        return Some(Unsupported {
            platform: "Windows",
            needed: "a sensor for the Energy Metering Interface (EMI)",
        });
    }
    let compatible = fs::read(roots.sys.join("firmware/devicetree/base/compatible")).ok()?;
    let compatible = String::from_utf8_lossy(&compatible).into_owned();
    let is_board = |name: &str| compatible.split('\0').any(|board| board.starts_with(name));
    BOARDS.iter().find(|(name, _)| is_board(name)).map(|(_, platform)| *platform)
}

/// The vendor's number on the bus.
const NVIDIA: &str = "0x10de";

/// Why there is nothing by NVIDIA; without advice for drivers where there is no card that they could drive.
pub(super) fn without_card(roots: &Roots, why: Unusable) -> Unusable {
    let Ok(entries) = fs::read_dir(roots.sys.join("bus/pci/devices")) else { return why };
    let vendors: Vec<Option<String>> = entries.flatten().map(|entry| line(&entry.path().join("vendor"))).collect();
    if roots.nvml.is_some() || vendors.is_empty() || vendors.iter().flatten().any(|vendor| vendor == NVIDIA) {
        return why;
    }
    Unusable { reason: "no card by NVIDIA is on the bus".to_owned(), remedy: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_are_known_by_their_device_tree() {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots { sys: folder.path().into(), ..Roots::default() };
        assert_eq!(unsupported(&roots), None);
        let tree = folder.path().join("firmware/devicetree/base");
        fs::create_dir_all(&tree).unwrap();
        fs::write(tree.join("compatible"), "apple,j274\0apple,t8103\0apple,arm-platform\0").unwrap();
        assert!(unsupported(&roots).unwrap().platform.starts_with("Apple"));
        fs::write(tree.join("compatible"), "qemu,virt\0").unwrap();
        assert_eq!(unsupported(&roots), None);
    }

    #[test]
    fn advice_for_drivers_is_for_those_who_have_a_card() {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots { sys: folder.path().into(), ..Roots::default() };
        let why = Unusable { reason: "no library".into(), remedy: Some("install it".into()) };
        assert_eq!(without_card(&roots, why.clone()), why);
        for (device, vendor, advised) in [("0", "0x8086\n", false), ("1", "0x10de\n", true)] {
            let card = folder.path().join("bus/pci/devices").join(device);
            fs::create_dir_all(&card).unwrap();
            fs::write(card.join("vendor"), vendor).unwrap();
            assert_eq!(without_card(&roots, why.clone()).remedy.is_some(), advised);
        }
    }
}
