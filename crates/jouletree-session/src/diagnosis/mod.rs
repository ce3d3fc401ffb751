//! What can be measured on this machine, what not, why, and the command that would change it.

mod daemon;
mod share;

use anyhow::Result;
use jouletree_meter::inventory::{self, Inventory, energy_filter, unsupported, watts};
use jouletree_meter::sampler::realtime_class;
use jouletree_meter::{Found, Unusable};
use jouletree_model::sampling::Class;
use jouletree_model::{Device, Kind, Nanos, Watts};
use serde::Serialize;

use crate::meters::MeterOptions;

/// How long the power that is shown is averaged over.
const A_WHILE: Nanos = Nanos(1_000_000_000);

/// Everything there is to say about a machine.
#[derive(Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
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
#[expect(missing_docs, reason = "docs/json.md documents every field")]
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
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct AbsentRow {
    pub source: &'static str,
    pub reason: String,
    pub remedy: Option<String>,
}

/// A system on which nothing is measured.
#[derive(Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct UnsupportedRow {
    pub platform: &'static str,
    pub needed: &'static str,
}

/// Where the processor time of a process tree would come from.
#[derive(Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct ProcessShare {
    pub source: Option<String>,
    pub step_s: Option<f64>,
    pub refused: Vec<RefusedRow>,
}

/// A better source that is refused.
#[derive(Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct RefusedRow {
    pub source: String,
    pub reason: String,
    pub remedy: Option<String>,
}

/// Whether samples may be taken on time.
#[derive(Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct Realtime {
    pub permitted: bool,
    pub reason: Option<String>,
    pub remedy: Option<String>,
}

/// The daemon of this machine.
#[derive(Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct DaemonRow {
    pub socket: &'static str,
    pub reachable: bool,
    pub reason: Option<String>,
    pub remedy: Option<String>,
}

/// The kind of number that a device gets.
#[derive(Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
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
    /// Looks at everything; takes a second. The second result is whether this is what the user requires.
    pub fn take(options: &MeterOptions) -> (Diagnosis, Result<()>) {
        let sources = options.sources();
        let inventory = Inventory::take(&sources);
        let required = options.check(&inventory);
        let mut diagnosis = Diagnosis {
            sensors: sensors(&inventory),
            absent: absent(&inventory),
            unsupported: unsupported(&sources.roots).filter(|_| !is_metered(&inventory)).map(Into::into),
            process_share: share::tried(&sources.roots),
            realtime: realtime(),
            energy_filter: energy_filter(&sources.roots),
            daemon: daemon::looked_at(),
            devices: devices(&inventory),
            summary: summary(&inventory),
        };
        diagnosis.fill_in(&watts(inventory.into_sensors(), A_WHILE));
        (diagnosis, required)
    }

    /// Fills in what the usable sensors said, in their order; then puts sensors of one device together.
    fn fill_in(&mut self, watts: &[Option<Watts>]) {
        let usable = self.sensors.iter_mut().filter(|sensor| sensor.usable);
        for (sensor, watts) in usable.zip(watts) {
            sensor.power_w = watts.map(|watts| watts.0);
        }
        self.sensors.sort_by(|a, b| (&a.device, &a.domain, b.usable).cmp(&(&b.device, &b.domain, a.usable)));
    }
}

/// Every sensor, usable or not.
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

fn absent(inventory: &Inventory) -> Vec<AbsentRow> {
    let row = |absent: &inventory::Absent| {
        let Unusable { reason, remedy } = absent.why.clone();
        AbsentRow { source: absent.source, reason, remedy }
    };
    inventory.absent.iter().map(row).collect()
}

/// Whether anything but the model is usable.
fn is_metered(inventory: &Inventory) -> bool {
    inventory.found.iter().any(|found| found.sensor.is_ok() && found.info.kind != Kind::Estimated)
}

/// Each device of which there will be numbers, the nearest to a meter first.
fn devices(inventory: &Inventory) -> Vec<DeviceRow> {
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

/// What kind of numbers there will be, and what improves them.
fn summary(inventory: &Inventory) -> String {
    let devices = devices(inventory);
    let mut parts = Vec::new();
    for (kind, word) in [
        (Kind::Measured, "measured"),
        (Kind::Derived, "derived from measured power"),
        (Kind::Estimated, "estimated by a model"),
    ] {
        let own = devices.iter().filter(|row| row.kind == kind).map(|row| short(&row.device));
        let names: Vec<String> = own.collect();
        if !names.is_empty() {
            parts.push(format!("{} {word}", names.join(", ")));
        }
    }
    if parts.is_empty() {
        return "No energy here: there is no meter, and no load to estimate from; add --meter.".to_owned();
    }
    let summary = format!("Energy: {}.", parts.join("; "));
    match devices.iter().any(|row| row.kind == Kind::Estimated) {
        true => summary + " To improve: --idle-watts and --full-watts, --meter, or a host with RAPL.",
        false => summary,
    }
}

fn realtime() -> Realtime {
    match realtime_class() {
        Class::Fifo => Realtime { permitted: true, reason: None, remedy: None },
        _ => Realtime {
            permitted: false,
            reason: Some("samples are late when the machine is busy".to_owned()),
            remedy: Some(realtime_remedy()),
        },
    }
}

/// `cpu:0`, with its host only where it is named.
pub fn short(device: &Device) -> String {
    match device.is_on_unnamed_host() {
        true => format!("{}:{}", device.class(), device.index()),
        false => device.to_string(),
    }
}

/// How the sampler gets real-time scheduling.
fn realtime_remedy() -> String {
    "let this program alone do so:\n    \
     sudo setcap cap_dac_read_search,cap_perfmon,cap_sys_nice+ep \"$(command -v jouletree)\"\n\
     or this user, from the next log-in on:\n    \
     echo \"$USER - rtprio 1\" | sudo tee /etc/security/limits.d/60-jouletree.conf"
        .to_owned()
}
