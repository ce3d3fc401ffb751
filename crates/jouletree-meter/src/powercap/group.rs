//! From zones to sensors: dies are added up, everything else is a sensor of its own.

use std::collections::BTreeMap;

use jouletree_model::sampling::{Quality, SensorInfo};
use jouletree_model::{Device, DeviceClass, Kind, Microjoules, Nanos, Watts};

use super::mirror::is_mirror;
use super::sensor::Powercap;
use super::trouble;
use super::zone::Zone;
use super::zone_counter::ZoneCounter;
use super::zone_target::{Vendor, ZoneTarget, place};
use crate::{Found, Sensor, Unusable};

/// The largest value of the 32-bit register behind a counter.
const REGISTER: f64 = u32::MAX as f64;
/// The hardware's clock for updates, 976 µs, as far as it keeps it.
const PERIOD: Nanos = Nanos(976_562);

/// The zones that make up one sensor, in the order of their dies.
type Parts = BTreeMap<Option<u32>, Zone>;

/// Sensors of all zones, the best source of each device and domain first; unknown zones last.
pub(super) fn founds(zones: Vec<Zone>, vendor: Vendor) -> Vec<Found> {
    let mut groups: BTreeMap<(Device, Option<String>, u8, String), Parts> = BTreeMap::new();
    let (mut shown_again, mut unknown) = (Vec::new(), Vec::new());
    for zone in zones {
        let Some(ZoneTarget { device, domain, die }) = place(&zone, vendor) else {
            unknown.push(unusable(info_of_unknown(&zone), trouble::unknown_name(&zone)));
            continue;
        };
        let key = (device, domain, rank(&zone), zone.control().to_owned());
        let parts = groups.entry(key.clone()).or_default();
        match parts.get(&die) {
            Some(other) => {
                let reason = format!("{} counts it already", other.id);
                shown_again.push(unusable(info(&key.0, &key.1, &[&zone]), Unusable { reason, remedy: None }));
            }
            None => {
                parts.insert(die, zone);
            }
        }
    }
    let sensors = groups.into_iter().map(|((device, domain, ..), parts)| found(device, domain, parts));
    sensors.chain(shown_again).chain(unknown).collect()
}

/// Of two that show the same, the one that is nearer to the register is taken.
fn rank(zone: &Zone) -> u8 {
    match zone.control() {
        "intel-rapl" => 0,
        "intel-rapl-mmio" => 2,
        _ => 1,
    }
}

fn found(device: Device, domain: Option<String>, parts: Parts) -> Found {
    // A zone of the whole socket holds its dies already.
    let whole = parts.get(&None).map(|whole| vec![whole]);
    let zones: Vec<&Zone> = whole.unwrap_or_else(|| parts.values().collect());
    let mut info = info(&device, &domain, &zones);
    match opened(&zones, &mut info) {
        Ok(sensor) => Found { info, sensor: Ok(sensor) },
        Err(why) => unusable(info, why),
    }
}

/// A sum that lacks a part is a wrong number: all parts can be used, or none.
fn opened(zones: &[&Zone], info: &mut SensorInfo) -> Result<Box<dyn Sensor>, Unusable> {
    let mut parts: Vec<ZoneCounter> = Vec::new();
    let mut ranges = Vec::new();
    for zone in zones {
        let file = ZoneCounter::open(zone).map_err(|error| trouble::cannot_open(zone, &error))?;
        let range = ZoneCounter::range_of(&zone.path).ok_or_else(|| trouble::no_range(zone))?;
        ranges.push(range);
        if parts.iter().any(|part| is_mirror(part.file(), &file)) {
            info.source.push_str(&format!("; {} shows the same counter and is left out", zone.id));
        } else {
            parts.push(ZoneCounter::new(zone, file, range));
        }
    }
    let range = ranges.first().copied().unwrap_or_default();
    if ranges.iter().any(|other| *other != range) {
        return Err(trouble::unlike_dies(zones));
    }
    info.range = Some(range);
    info.step = if zones.iter().all(|zone| zone.control().starts_with("intel-rapl")) {
        Microjoules(range as f64 / REGISTER)
    } else {
        Microjoules(1.0)
    };
    Ok(Box::new(Powercap::new(info.clone(), range, parts)))
}

fn info(device: &Device, domain: &Option<String>, zones: &[&Zone]) -> SensorInfo {
    let sources: Vec<String> = zones
        .iter()
        .map(|zone| format!("{} at {}", zone.name.as_deref().unwrap_or("?"), zone.energy_file().display()))
        .collect();
    SensorInfo {
        device: device.clone(),
        domain: domain.clone(),
        source: sources.join(" + "),
        kind: Kind::Measured,
        range: None,
        step: Microjoules(1.0),
        period: PERIOD,
        most: Watts(most_watts(device.class(), domain.as_deref())),
        is_slow: false,
        quality: Quality::default(),
    }
}

fn info_of_unknown(zone: &Zone) -> SensorInfo {
    let name = zone.name.clone().unwrap_or_else(|| zone.id.clone());
    info(&Device::new(DeviceClass::Cpu, 0), &Some(name), &[zone])
}

/// What cannot be, and not what is unlikely: it must never cut a true peak off, and needs only distinguish a wrap from a
/// counter that was set back. The largest sockets of today are sold for 500 W and may take twice that for some
/// milliseconds; 24 memory modules take some 400 W; a platform is fed by a few power supplies.
pub(crate) fn most_watts(class: DeviceClass, domain: Option<&str>) -> f64 {
    match (class, domain) {
        (DeviceClass::Machine, _) | (DeviceClass::Cpu, Some("psys")) => 10_000.0,
        (DeviceClass::Cpu, _) => 2000.0,
        (DeviceClass::Dram, _) => 1000.0,
        (DeviceClass::Gpu, _) => 3000.0,
    }
}

fn unusable(info: SensorInfo, why: Unusable) -> Found {
    Found { info, sensor: Err(why) }
}
