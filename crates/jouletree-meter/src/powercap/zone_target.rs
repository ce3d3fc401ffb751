//! What a zone meters, by its name.

use jouletree_model::{Device, DeviceClass};

use super::zone::Zone;

/// What a zone meters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ZoneTarget {
    pub device: Device,
    pub domain: Option<String>,
    /// The die it meters, when it is not the socket.
    pub die: Option<u32>,
}

/// Who made the processor, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vendor {
    Amd,
    Other,
}

impl Vendor {
    /// By the text of `/proc/cpuinfo`.
    pub fn of(processor: &str) -> Vendor {
        let is_amd = |line: &str| line.contains("AuthenticAMD") || line.contains("HygonGenuine");
        let vendor = processor.lines().find(|line| line.starts_with("vendor_id"));
        if vendor.is_some_and(is_amd) { Vendor::Amd } else { Vendor::Other }
    }
}

/// What a zone meters; `None` when its name is not known.
pub(super) fn place(zone: &Zone, vendor: Vendor) -> Option<ZoneTarget> {
    let name = zone.name.as_deref()?;
    if name == "psys" {
        return Some(ZoneTarget { device: cpu(0), domain: Some(name.to_owned()), die: None });
    }
    if let Some((socket, die)) = socket(name) {
        return Some(ZoneTarget { device: cpu(socket), domain: None, die });
    }
    let (socket, die) = socket(zone.parent.as_deref()?)?;
    let (device, domain) = match name {
        "dram" => (Device::new(DeviceClass::Dram, socket), None),
        // The register behind it belongs to the core that reads it; the kernel reads it on one core of the socket.
        "core" if vendor == Vendor::Amd => (cpu(socket), Some("one-core")),
        "core" | "uncore" => (cpu(socket), Some(name)),
        _ => return None,
    };
    Some(ZoneTarget { device, domain: domain.map(str::to_owned), die })
}

fn cpu(socket: u32) -> Device {
    Device::new(DeviceClass::Cpu, socket)
}

/// The socket of `package-1`, the socket and the die of `package-1-die-0`.
fn socket(name: &str) -> Option<(u32, Option<u32>)> {
    let rest = name.strip_prefix("package-")?;
    match rest.split_once("-die-") {
        Some((socket, die)) => Some((socket.parse().ok()?, Some(die.parse().ok()?))),
        None => Some((rest.parse().ok()?, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(name: &str, parent: Option<&str>, vendor: Vendor) -> Option<String> {
        let zone = Zone {
            id: "intel-rapl:7".into(),
            name: Some(name.into()),
            path: "zone".into(),
            parent: parent.map(str::to_owned),
        };
        let place = place(&zone, vendor)?;
        let die = place.die.map(|die| format!(" die {die}")).unwrap_or_default();
        Some(format!("{} {}{die}", place.device, place.domain.as_deref().unwrap_or("whole")))
    }

    #[test]
    fn names_tell_what_is_metered() {
        for (name, parent, expected) in [
            ("package-1", None, Some("host/cpu:1 whole")),
            ("package-0-die-1", None, Some("host/cpu:0 whole die 1")),
            ("core", Some("package-1"), Some("host/cpu:1 core")),
            ("uncore", Some("package-0"), Some("host/cpu:0 uncore")),
            ("dram", Some("package-1"), Some("host/dram:1 whole")),
            ("dram", Some("package-1-die-2"), Some("host/dram:1 whole die 2")),
            ("psys", None, Some("host/cpu:0 psys")),
            ("core", None, None),
            ("gadget", Some("package-0"), None),
            ("package-x", None, None),
            ("package-0-die-", None, None),
        ] {
            assert_eq!(placed(name, parent, Vendor::Other).as_deref(), expected, "{name}");
        }
        let amd = Vendor::of("processor\t: 0\nvendor_id\t: AuthenticAMD\n");
        assert_eq!(placed("core", Some("package-0"), amd).as_deref(), Some("host/cpu:0 one-core"));
        assert_eq!(Vendor::of("vendor_id\t: GenuineIntel\nmodel name\t: AuthenticAMD?\n"), Vendor::Other);
    }
}
