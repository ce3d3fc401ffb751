//! RAPL through the kernel's performance events: the `power` unit, one event for each counter and socket.
//!
//! | event | device | domain |
//! |---|---|---|
//! | `energy-pkg` | cpu:N | the whole |
//! | `energy-ram` | dram:N | the whole |
//! | `energy-cores` | cpu:N | `core` |
//! | `energy-gpu` | cpu:N | `uncore`: graphics inside the processor |
//! | `energy-psys` | cpu:0 | `psys` |
//!
//! It shows the same counters as powercap and is used where powercap is not there or may not be read. The kernel widens
//! them to 64 bits in steps of 2⁻³² J, so they do not wrap; they begin at zero when they are opened. A reading is one
//! system call, dearer than a `pread`: the kernel asks a CPU of the socket.

mod pmu;
mod sensor;
mod trouble;

use std::collections::BTreeMap;

use jouletree_host::Roots;
use jouletree_model::sampling::{Quality, SensorInfo};
use jouletree_model::{Device, DeviceClass, Kind, Microjoules, Nanos, Watts};

use crate::share::machine::package;
use crate::{Found, Sensor, Unusable};
use pmu::{EnergyEvent, PowerPmu};
use sensor::PerfPower;

/// The hardware's clock for updates, 976 µs, as far as it keeps it.
const PERIOD: Nanos = Nanos(976_562);
/// The coarsest step in which the hardware counts, 2⁻¹⁴ J; the kernel's finer one is only its notation.
const STEP: f64 = 61.035;

/// Every counter of energy among the performance events, usable or not.
///
/// Whether a counter moves is not looked at: that is what [`crate::Probe`] is for. Virtual machines show counters that
/// open and stay at zero for ever.
pub fn discover(roots: &Roots) -> Vec<Found> {
    let Ok(pmu) = PowerPmu::open(roots) else { return Vec::new() };
    let sys = roots.sys.join("devices/system/cpu");
    let mut sockets: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for cpu in &pmu.cpus {
        sockets.entry(package(&sys, *cpu)).or_default().push(*cpu);
    }
    pmu.events.iter().flat_map(|event| found(&pmu, event, &sockets)).collect()
}

/// Why [`discover`] finds nothing here, and what could be done about it.
pub fn why_none(roots: &Roots) -> Unusable {
    match PowerPmu::open(roots) {
        Err(why) => why,
        Ok(pmu) => trouble::no_event(&pmu.folder),
    }
}

fn found(pmu: &PowerPmu, event: &EnergyEvent, sockets: &BTreeMap<u32, Vec<usize>>) -> Vec<Found> {
    // The platform is there once, whatever number of sockets shows it.
    let shown = if event.name == "energy-psys" { 1 } else { usize::MAX };
    sockets
        .iter()
        .take(shown)
        .map(|(socket, cpus)| {
            let cpus = if shown == 1 { &cpus[..1] } else { &cpus[..] };
            let info = info(pmu, event, *socket, cpus);
            let sensor = meters(event, *socket)
                .ok_or_else(|| trouble::unknown_event(&event.name))
                .and_then(|_| PerfPower::open(info.clone(), pmu, event, cpus))
                .map(|sensor| Box::new(sensor) as Box<dyn Sensor>);
            Found { info, sensor }
        })
        .collect()
}

/// What an event meters; `None` when it is not known.
fn meters(event: &EnergyEvent, socket: u32) -> Option<(Device, Option<&'static str>)> {
    let cpu = Device::new(DeviceClass::Cpu, socket);
    Some(match event.name.as_str() {
        "energy-pkg" => (cpu, None),
        "energy-ram" => (Device::new(DeviceClass::Dram, socket), None),
        "energy-cores" => (cpu, Some("core")),
        "energy-gpu" => (cpu, Some("uncore")),
        "energy-psys" => (Device::new(DeviceClass::Cpu, 0), Some("psys")),
        _ => return None,
    })
}

fn info(pmu: &PowerPmu, event: &EnergyEvent, socket: u32, cpus: &[usize]) -> SensorInfo {
    let unknown = || (Device::new(DeviceClass::Cpu, socket), Some(event.name.as_str()));
    let (device, domain) = meters(event, socket).unwrap_or_else(unknown);
    let cpus: Vec<String> = cpus.iter().map(usize::to_string).collect();
    SensorInfo {
        source: format!("perf {} of CPU {} at {}", event.name, cpus.join(" + "), pmu.folder.display()),
        domain: domain.map(str::to_owned),
        kind: Kind::Measured,
        // Years away; that it is known says that the counter never rests.
        range: Some((u64::MAX as f64 * event.joules.unwrap_or_default() * 1e6) as u64),
        step: Microjoules(STEP),
        period: PERIOD,
        most: Watts(crate::powercap::most_watts(device.class(), domain)),
        is_slow: false,
        quality: Quality::default(),
        device,
    }
}
