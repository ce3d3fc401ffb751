//! What can be measured on this machine: the one chain that leads from its files, libraries and meters to sensors.
//!
//! Sources are asked in this order: powercap, performance events, NVML, hardware monitors, the user's own meters. What
//! they find is watched for life ([`Probe`]), and of what several show the first that lives is used ([`once`]). Where
//! nothing meters the processor, a model estimates it. Nothing that was found is left out: what is not used says why.
//! Taking the inventory takes some tenths of a second where all is well, and some seconds where sensors are dead or
//! slow.

mod filter;
mod not_measured;
mod platform;
mod probing;
mod watts;

pub use filter::energy_filter;
pub use not_measured::NotMeasured;
pub use platform::{Unsupported, unsupported};
pub use watts::watts;

use jouletree_host::Roots;
use jouletree_model::sampling::SensorInfo;
use jouletree_model::{DeviceClass, Kind};
use tracing::{debug, info};

use crate::external::ExternalMeter;
use crate::model::Given;
use crate::{Found, Probe, Sensor, Unusable, hwmon, model, nvml, once, perf_power, powercap};

/// Where to look, and what the user knows. By default: this machine, and nothing.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// Where the machine's files are.
    pub roots: Roots,
    /// Meters of the user's own.
    pub meters: Vec<ExternalMeter>,
    /// The powers of the idle and the busy machine, for the model.
    pub model: Option<Given>,
    /// How long sensors are watched.
    pub probe: Probe,
}

/// Every possible source of energy here.
#[derive(Debug)]
pub struct Inventory {
    /// Every sensor, usable or not, in the order of preference.
    pub found: Vec<Found>,
    /// The sources that have nothing here.
    pub absent: Vec<Absent>,
}

/// A source that has nothing here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absent {
    /// What people call it.
    pub source: &'static str,
    /// Why it has nothing, and what could be done about it.
    pub why: Unusable,
}

impl Inventory {
    /// Looks everywhere and watches what is there.
    pub fn take(sources: &Sources) -> Inventory {
        let roots = &sources.roots;
        let mut absent = Vec::new();
        let mut missing = |source, why| absent.push(Absent { source, why });
        let mut found = powercap::discover(roots);
        if found.is_empty() {
            missing("powercap", powercap::why_none(roots));
        }
        let events = perf_power::discover(roots);
        if events.is_empty() {
            missing("perf", perf_power::why_none(roots));
        }
        found.extend(events);
        let cards = nvml::discover(roots).unwrap_or_else(|why| {
            missing("NVML", platform::without_card(roots, why));
            Vec::new()
        });
        let monitors = hwmon::discover(roots, u32::try_from(cards.len()).unwrap_or(u32::MAX));
        if monitors.is_empty() {
            let reason = "no hardware monitor reports energy or power".to_owned();
            missing("hwmon", Unusable { reason, remedy: None });
        }
        found.extend(cards);
        found.extend(monitors);
        found.extend(sources.meters.iter().map(ExternalMeter::find));
        let mut found = once(probing::living(sources.probe, found));
        let model = model::find(roots, sources.model.as_ref());
        found.push(as_needed(model, &found));
        let inventory = Inventory { found, absent };
        inventory.log();
        inventory
    }

    /// Logs what was chosen and why the rest was not.
    fn log(&self) {
        for Found { info: SensorInfo { device, domain, source, kind, .. }, sensor } in &self.found {
            let domain = domain.as_ref().map(tracing::field::display);
            match sensor {
                Ok(_) => info!(%device, domain, %source, %kind, "sensor chosen"),
                Err(why) => debug!(%device, domain, %source, %kind, reason = why.reason, "sensor not used"),
            }
        }
        for Absent { source, why } in &self.absent {
            debug!(source, reason = why.reason, "source absent");
        }
    }

    /// The usable sensors, in the order of [`Inventory::found`].
    pub fn into_sensors(self) -> Vec<Box<dyn Sensor>> {
        self.found.into_iter().filter_map(|found| found.sensor.ok()).collect()
    }

    /// Fails with the reason when nothing that is usable measures a processor. The model does not, and neither does
    /// what meters only a part of it, or the whole machine.
    pub fn require_measured(&self) -> Result<(), NotMeasured> {
        match self.found.iter().any(meters_processor) {
            true => Ok(()),
            false => Err(NotMeasured::of(self)),
        }
    }
}

/// Whether it is usable, meters a whole processor and does not only estimate.
fn meters_processor(found: &Found) -> bool {
    let is_meter = matches!(found.info.kind, Kind::Measured | Kind::Derived);
    found.sensor.is_ok() && is_processor(found) && is_meter
}

fn is_processor(found: &Found) -> bool {
    found.info.device.class() == DeviceClass::Cpu && found.info.domain.is_none()
}

/// The model is one of the whole machine: where any socket has a meter, it would count again what that counts.
fn as_needed(model: Found, others: &[Found]) -> Found {
    let Some(meter) = others.iter().find(|found| meters_processor(found)) else { return model };
    let reason = format!("not needed: {} is metered by {}", short(meter), meter.info.source);
    Found { info: model.info, sensor: Err(Unusable { reason, remedy: None }) }
}

/// `cpu:0`, without the host that it is on.
fn short(found: &Found) -> String {
    format!("{}:{}", found.info.device.class(), found.info.device.index())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_anything_has_the_reasons() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let roots = Roots { sys: root.into(), proc: root.into(), nvml: Some(root.join("no.so")) };
        let inventory = Inventory::take(&Sources { roots, ..Sources::default() });
        let sources: Vec<_> = inventory.absent.iter().map(|absent| absent.source).collect();
        assert_eq!(sources, ["powercap", "perf", "NVML", "hwmon"]);
        assert!(inventory.absent.iter().all(|absent| !absent.why.reason.is_empty()));
        let [model] = &inventory.found[..] else { unreachable!("{:?}", inventory.found) };
        assert!(model.sensor.as_ref().is_err_and(|why| why.reason.contains("stat")), "{model:?}");
        assert!(inventory.require_measured().is_err());
        assert!(inventory.into_sensors().is_empty());
    }
}
