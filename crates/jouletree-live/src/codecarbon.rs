//! The figures under the names and in the units by which CodeCarbon pushes them, for dashboards that know those.
//!
//! As CodeCarbon does by default, they are about whole devices, other programs included. Where it would write a zero for a
//! device without a meter, or for a country that is unknown, there is no figure here.

use jouletree_model::{DeviceClass, Joules};

use crate::family::{Family, Kind, Point};
use crate::snapshot::Snapshot;

const PREFIX: &str = "codecarbon";

/// All of them of which something is known.
pub fn families(snapshot: &Snapshot) -> Vec<Family> {
    let duration = snapshot.duration.as_secs_f64();
    let kilowatt_hours = |energy: Joules| energy.kilowatt_hours().0;
    let energy_of = |class| snapshot.energy_of(class).map(kilowatt_hours);
    let power_of = |class| {
        let powers = snapshot.of(class).map(|total| total.power.map(|power| power.0));
        // Of a device that says nothing the class is not known either.
        powers.reduce(|one, other| one.zip(other).map(|(one, other)| one + other)).flatten()
    };
    let consumed = snapshot.inner_devices().map(|total| total.energy).reduce(|one, other| one + other);
    let emissions = snapshot.intensity.as_ref().zip(consumed);
    let emissions = emissions.map(|(intensity, consumed)| intensity.value.grams(consumed).0 * 1e-3);
    let rate = emissions.filter(|_| duration > 0.0).map(|emissions| emissions / duration);
    [
        ("duration", "The time since counting began (s)", Some(duration)),
        ("emissions", "The carbon dioxide equivalent of all energy (kg)", emissions),
        ("emissions_rate", "The emissions by the duration (kg/s)", rate),
        ("cpu_power", "The power of processors (W)", power_of(DeviceClass::Cpu)),
        ("gpu_power", "The power of GPUs (W)", power_of(DeviceClass::Gpu)),
        ("ram_power", "The power of memory (W)", power_of(DeviceClass::Dram)),
        ("cpu_energy", "The energy of processors (kWh)", energy_of(DeviceClass::Cpu)),
        ("gpu_energy", "The energy of GPUs (kWh)", energy_of(DeviceClass::Gpu)),
        ("ram_energy", "The energy of memory (kWh)", energy_of(DeviceClass::Dram)),
        ("energy_consumed", "The energy of processors, GPUs and memory (kWh)", consumed.map(kilowatt_hours)),
        (
            "energy",
            "The energy of processors, GPUs and memory since counting began (kWh)",
            consumed.map(kilowatt_hours),
        ),
    ]
    .into_iter()
    .map(|(name, help, value)| {
        let points = value.map(|value| Point { labels: Vec::new(), value }).into_iter().collect();
        // CodeCarbon's one counter, whose name ends in `_total`.
        let kind = if name == "energy" { Kind::Counter } else { Kind::Gauge };
        Family { prefix: PREFIX, name, help, unit: None, kind, points }
    })
    .collect()
}
