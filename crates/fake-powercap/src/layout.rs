//! The shapes that powercap trees have on real machines.

use clap::ValueEnum;
use jouletree_model::Watts;

/// The zones of a kind of machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Layout {
    /// A server of one socket.
    OneSocket,
    /// A server of two sockets, memory listed before cores.
    TwoSockets,
    /// A socket of two dies, each with its own counters.
    Dies,
    /// A socket of two dies that show the same counter.
    MirroredDies,
    /// A client whose first zone is the platform.
    PsysFirst,
    /// A client that shows its package twice.
    MmioTwin,
    /// A client that shows its package only through memory-mapped registers.
    MmioOnly,
    /// An AMD processor: package and core, in smaller steps.
    Amd,
    /// A client: package, core, uncore, dram and platform.
    Client,
}

/// One zone to be played.
#[derive(Debug, Clone, PartialEq)]
pub struct ZoneSpec {
    /// Its identity in the tree, such as `intel-rapl:0:1`.
    pub id: String,
    /// What it says it is.
    pub name: String,
    /// What scripts call it: its name, after its parent's if it has one (`package-0/dram`).
    pub key: String,
    /// The step it counts in, in nanojoules, as the kernel rounds it.
    pub step_nj: u64,
    /// What it draws when the script does not say.
    pub power: Watts,
    /// The key of the zone whose counter it shows.
    pub shows: Option<String>,
}

const INTEL: u64 = 61_035;
const INTEL_DRAM: u64 = 15_300;
const AMD: u64 = 15_258;

impl Layout {
    /// Its zones, parents first.
    pub fn zones(self) -> Vec<ZoneSpec> {
        let rapl = |id: &str, name: &str| zone("intel-rapl", id, name, None);
        let below = |id: &str, name: &str, parent: &str| zone("intel-rapl", id, name, Some(parent));
        let socket = |n: u32| {
            let package = format!("package-{n}");
            [
                rapl(&format!("{n}"), &package),
                below(&format!("{n}:0"), "dram", &package),
                below(&format!("{n}:1"), "core", &package),
            ]
        };
        let die = |n: u32| {
            let name = format!("package-0-die-{n}");
            [rapl(&format!("{n}"), &name), below(&format!("{n}:0"), "dram", &name)]
        };
        let mmio = |shows: Option<&str>| ZoneSpec {
            key: "mmio/package-0".to_owned(),
            shows: shows.map(str::to_owned),
            ..zone("intel-rapl-mmio", "0", "package-0", None)
        };
        let client =
            || [rapl("0", "package-0"), below("0:0", "core", "package-0"), below("0:1", "uncore", "package-0")];
        match self {
            Layout::OneSocket => {
                vec![rapl("0", "package-0"), below("0:0", "core", "package-0"), below("0:1", "dram", "package-0")]
            }
            Layout::TwoSockets => [socket(0), socket(1)].concat(),
            Layout::Dies => [die(0), die(1)].concat(),
            Layout::MirroredDies => {
                let [first, first_dram] = die(0);
                let [second, second_dram] = die(1);
                let shows = |zone: ZoneSpec, key: &str| ZoneSpec { shows: Some(key.to_owned()), ..zone };
                let (second, second_dram) = (shows(second, &first.key), shows(second_dram, &first_dram.key));
                vec![first, first_dram, second, second_dram]
            }
            Layout::PsysFirst => {
                vec![rapl("0", "psys"), rapl("1", "package-0"), below("1:0", "core", "package-0")]
            }
            Layout::MmioTwin => client().into_iter().chain([mmio(Some("package-0"))]).collect(),
            Layout::MmioOnly => vec![mmio(None)],
            Layout::Amd => [rapl("0", "package-0"), below("0:0", "core", "package-0")]
                .map(|zone| ZoneSpec { step_nj: AMD, ..zone })
                .to_vec(),
            Layout::Client => {
                client().into_iter().chain([below("0:2", "dram", "package-0"), rapl("1", "psys")]).collect()
            }
        }
    }
}

impl ZoneSpec {
    /// The largest count it shows, in microjoules.
    pub fn range(&self) -> u64 {
        u64::from(u32::MAX) * self.step_nj / 1000
    }
}

fn zone(control: &str, id: &str, name: &str, parent: Option<&str>) -> ZoneSpec {
    let (step_nj, power) = match name {
        "dram" => (INTEL_DRAM, 6.0),
        "core" => (INTEL, 25.0),
        "uncore" => (INTEL, 4.0),
        "psys" => (INTEL, 70.0),
        _ => (INTEL, 40.0),
    };
    ZoneSpec {
        id: format!("{control}:{id}"),
        name: name.to_owned(),
        key: parent.map_or_else(|| name.to_owned(), |parent| format!("{parent}/{name}")),
        step_nj,
        power: Watts(power),
        shows: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_the_kernel() {
        let range =
            |layout: Layout, key: &str| layout.zones().iter().find(|zone| zone.key == key).unwrap().range();
        assert_eq!(range(Layout::Client, "package-0"), 262_143_328_850);
        assert_eq!(range(Layout::Client, "package-0/dram"), 65_712_999_613);
        assert_eq!(range(Layout::Amd, "package-0/core"), 65_532_610_987);
    }

    #[test]
    fn keys_and_identities_are_unique() {
        for layout in Layout::value_variants() {
            let zones = layout.zones();
            for (index, zone) in zones.iter().enumerate() {
                let others = &zones[..index];
                assert!(others.iter().all(|other| other.key != zone.key && other.id != zone.id), "{layout:?}");
                let shown = zone.shows.as_ref().is_none_or(|key| others.iter().any(|other| other.key == *key));
                assert!(shown, "{layout:?}");
            }
        }
    }
}
