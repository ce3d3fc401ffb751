//! Everything the doctor says, as it is written for programs.

use jouletree_meter::inventory::{self, Inventory};
use jouletree_meter::{Found, Unusable};
use jouletree_model::{Device, Kind, Watts};
use serde::Serialize;

use super::words::short;

/// Everything there is to say about a machine.
#[derive(Serialize)]
pub struct Diagnosis {
    pub sensors: Vec<SensorRow>,
    pub absent: Vec<AbsentRow>,
    pub unsupported: Option<UnsupportedRow>,
    pub process_share: ProcessShare,
    pub realtime: Realtime,
    pub energy_filter: Option<String>,
    pub daemon: DaemonRow,
    pub devices: Vec<DeviceRow>,
    pub summary: String,
}

/// A sensor, usable or not.
#[derive(Serialize)]
pub struct SensorRow {
    pub device: Device,
    pub domain: Option<String>,
    pub source: String,
    pub usable: bool,
    pub kind: Kind,
    pub period_s: f64,
    pub power_w: Option<f64>,
    pub reason: Option<String>,
    pub remedy: Option<String>,
}

/// A source that has nothing here.
#[derive(Serialize)]
pub struct AbsentRow {
    pub source: &'static str,
    pub reason: String,
    pub remedy: Option<String>,
}

#[derive(Serialize)]
pub struct UnsupportedRow {
    pub platform: &'static str,
    pub needed: &'static str,
}

/// Where the processor time of a process tree would come from.
#[derive(Serialize)]
pub struct ProcessShare {
    pub source: Option<String>,
    pub step_s: Option<f64>,
    pub refused: Vec<RefusedRow>,
}

/// A better source that is refused.
#[derive(Serialize)]
pub struct RefusedRow {
    pub source: String,
    pub reason: String,
    pub remedy: Option<String>,
}

#[derive(Serialize)]
pub struct Realtime {
    pub permitted: bool,
    pub reason: Option<String>,
    pub remedy: Option<String>,
}

#[derive(Serialize)]
pub struct DaemonRow {
    pub socket: &'static str,
    pub reachable: bool,
    pub reason: Option<String>,
    pub remedy: Option<String>,
}

/// The kind of number that a device gets.
#[derive(Serialize)]
pub struct DeviceRow {
    pub device: Device,
    pub kind: Kind,
}

impl From<inventory::Unsupported> for UnsupportedRow {
    fn from(unsupported: inventory::Unsupported) -> UnsupportedRow {
        UnsupportedRow { platform: unsupported.platform, needed: unsupported.needed }
    }
}

impl Diagnosis {
    /// Fills in what the usable sensors said, in their order; then puts sensors of one device together.
    pub fn fill_in(&mut self, watts: &[Option<Watts>]) {
        let usable = self.sensors.iter_mut().filter(|sensor| sensor.usable);
        for (sensor, watts) in usable.zip(watts) {
            sensor.power_w = watts.map(|watts| watts.0);
        }
        self.sensors.sort_by(|a, b| (&a.device, &a.domain, b.usable).cmp(&(&b.device, &b.domain, a.usable)));
    }
}

pub fn sensors(inventory: &Inventory) -> Vec<SensorRow> {
    let row = |found: &Found| {
        let info = found.sensor.as_ref().map_or(&found.info, |sensor| sensor.info());
        let why = found.sensor.as_ref().err();
        SensorRow {
            device: info.device.clone(),
            domain: info.domain.clone(),
            source: info.source.clone(),
            usable: why.is_none(),
            kind: info.kind,
            period_s: info.period.seconds(),
            power_w: None,
            reason: why.map(|why| why.reason.clone()),
            remedy: why.and_then(|why| why.remedy.clone()),
        }
    };
    inventory.found.iter().map(row).collect()
}

pub fn absent(inventory: &Inventory) -> Vec<AbsentRow> {
    let row = |absent: &inventory::Absent| {
        let Unusable { reason, remedy } = absent.why.clone();
        AbsentRow { source: absent.source, reason, remedy }
    };
    inventory.absent.iter().map(row).collect()
}

/// Whether anything but the model is usable.
pub fn is_metered(inventory: &Inventory) -> bool {
    inventory.found.iter().any(|found| found.sensor.is_ok() && found.info.kind != Kind::Estimated)
}

/// Each device of which there will be numbers, the nearest to a meter first.
pub fn devices(inventory: &Inventory) -> Vec<DeviceRow> {
    let whole = inventory.found.iter().filter(|found| found.sensor.is_ok() && found.info.domain.is_none());
    let mut devices: Vec<DeviceRow> = whole
        .map(|found| DeviceRow {
            device: found.info.device.clone(),
            kind: found.sensor.as_ref().map_or(found.info.kind, |sensor| sensor.info().kind),
        })
        .collect();
    devices.sort_by(|a, b| (a.kind, &a.device).cmp(&(b.kind, &b.device)));
    devices
}

/// One sentence: what kind of numbers there will be.
pub fn summary(inventory: &Inventory) -> String {
    let devices = devices(inventory);
    let mut parts = Vec::new();
    for (kind, word) in [
        (Kind::Measured, "measured energy"),
        (Kind::Derived, "energy derived from measured power"),
        (Kind::Estimated, "energy that is only estimated, by a model,"),
    ] {
        let own = devices.iter().filter(|row| row.kind == kind).map(|row| short(&row.device));
        let names: Vec<String> = own.collect();
        if !names.is_empty() {
            parts.push(format!("{word} of {}", names.join(", ")));
        }
    }
    match parts.len() {
        0 => "This machine gives no energy at all: there is no meter, and no load to estimate from.".to_owned(),
        _ => format!("This machine gives {}.", parts.join(", and ")),
    }
}
