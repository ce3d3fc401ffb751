//! What the meters say, in the words of the Smaragdine protocol: accumulated counts by socket, power by GPU.

use std::collections::{BTreeMap, HashMap};

use jouletree_meter::sampler::{Flags, Sample};
use jouletree_meter::station::Batch;
use jouletree_meter::{Advance, Anchors, Counter, Mono, Roots, SensorInfo, nvml};
use jouletree_model::{DeviceClass, Kind, Nanos};

use crate::wire::smaragdine as wire;

/// Turns batches into samples of the protocol.
#[derive(Debug)]
pub(super) struct Energy {
    meters: HashMap<u16, Meter>,
    anchors: Anchors,
}

/// A sensor that has a place in the protocol.
#[derive(Debug)]
struct Meter {
    place: Place,
    counter: Counter,
    /// The first count: what is told goes on from it and never wraps.
    first: Option<u64>,
    /// Where a GPU's count last moved.
    moved: Option<(Mono, u64)>,
}

#[derive(Debug, Clone)]
enum Place {
    Rapl { socket: u32, part: Part },
    Gpu { index: u32, bus: String },
}

#[derive(Debug, Clone, Copy)]
enum Part {
    Package,
    Core,
    Uncore,
    Dram,
}

impl Energy {
    /// For the sensors of a station, in their order.
    pub(super) fn new(sensors: &[SensorInfo], roots: &Roots) -> Energy {
        let has_gpu = sensors.iter().any(|info| info.device.class() == DeviceClass::Gpu);
        let gpus = if has_gpu { nvml::gpus(roots).unwrap_or_default() } else { Vec::new() };
        let buses: HashMap<u32, String> =
            gpus.iter().filter_map(|gpu| Some((gpu.index(), gpu.pci_bus().ok()?))).collect();
        let meter = |(id, info): (u16, &SensorInfo)| {
            let place = place(info, &buses)?;
            Some((id, Meter { place, counter: Counter::new(info), first: None, moved: None }))
        };
        let meters = (0_u16..=u16::MAX).zip(sensors).filter_map(meter).collect();
        Energy { meters, anchors: Anchors::default() }
    }

    /// Writes what a batch holds.
    pub(super) fn take(&mut self, batch: Batch, mut write: impl FnMut(&wire::DataSet)) {
        batch.anchors.into_iter().for_each(|anchor| self.anchors.push(anchor));
        let mut round = Round::default();
        for sample in &batch.samples {
            if round.has(sample.sensor) {
                round.write(&self.anchors, &mut write);
            }
            round.begin(sample);
            let Some(meter) = self.meters.get_mut(&sample.sensor) else { continue };
            let Some(count) = meter.take(sample) else { continue };
            match &meter.place {
                Place::Rapl { socket, part } => round.count(*socket, *part, count),
                Place::Gpu { index, bus } => {
                    let power = watts_between(meter.moved.replace((sample.at, count)), sample.at, count);
                    match power {
                        Power::Still(before) => meter.moved = before,
                        Power::Unknown => {}
                        Power::Milliwatts(power) => round.power(*index, bus, power),
                    }
                }
            }
        }
        round.write(&self.anchors, &mut write);
    }
}

impl Meter {
    /// The ever-growing count, where it is known.
    fn take(&mut self, sample: &Sample) -> Option<u64> {
        if sample.flags.has(Flags::GAP) {
            self.counter.lose();
            return None;
        }
        if sample.flags.has(Flags::APART) {
            self.counter.lose();
        }
        match self.counter.take(sample.at, sample.count) {
            Advance::Gap(_) => None,
            Advance::Begins | Advance::By(_) => {
                Some(self.first.get_or_insert(sample.count).saturating_add(self.counter.total()))
            }
        }
    }
}

enum Power {
    Unknown,
    /// The count has not moved; the place where it last did.
    Still(Option<(Mono, u64)>),
    Milliwatts(u32),
}

/// The mean power since the count last moved.
fn watts_between(before: Option<(Mono, u64)>, at: Mono, count: u64) -> Power {
    let Some((then, earlier)) = before else { return Power::Unknown };
    let (time, energy) = ((at - then).seconds(), count.saturating_sub(earlier));
    match energy {
        0 => Power::Still(before),
        _ if time <= 0.0 => Power::Unknown,
        // Microjoules per second are microwatts.
        energy => Power::Milliwatts((energy as f64 / time / 1e3).round() as u32),
    }
}

fn place(info: &SensorInfo, buses: &HashMap<u32, String>) -> Option<Place> {
    // The protocol cannot say that a number is an estimate, so it does not carry any.
    if !matches!(info.kind, Kind::Measured | Kind::Derived) {
        return None;
    }
    let index = info.device.index();
    let part = match (info.device.class(), info.domain.as_deref()) {
        (DeviceClass::Gpu, None) => {
            return Some(Place::Gpu { index, bus: buses.get(&index).cloned().unwrap_or_default() });
        }
        (DeviceClass::Cpu, None) => Part::Package,
        (DeviceClass::Cpu, Some("core")) => Part::Core,
        (DeviceClass::Cpu, Some("uncore")) => Part::Uncore,
        (DeviceClass::Dram, None) => Part::Dram,
        _ => return None,
    };
    Some(Place::Rapl { socket: index, part })
}

/// One reading of all sensors.
#[derive(Debug, Default)]
struct Round {
    at: Option<Mono>,
    sensors: Vec<u16>,
    sockets: BTreeMap<u32, wire::RaplReading>,
    gpus: Vec<wire::NvmlReading>,
}

impl Round {
    fn has(&self, sensor: u16) -> bool {
        self.sensors.contains(&sensor)
    }

    fn begin(&mut self, sample: &Sample) {
        self.sensors.push(sample.sensor);
        // A sensor that stamps its own readings may stamp them long ago.
        if self.at.is_none() && !sample.flags.has(Flags::STAMPED) {
            self.at = Some(sample.at);
        }
    }

    fn count(&mut self, socket: u32, part: Part, count: u64) {
        let reading = self
            .sockets
            .entry(socket)
            .or_insert_with(|| wire::RaplReading { socket, ..wire::RaplReading::default() });
        *match part {
            Part::Package => &mut reading.package,
            Part::Core => &mut reading.cpu,
            Part::Uncore => &mut reading.gpu,
            Part::Dram => &mut reading.dram,
        } = Some(count);
    }

    fn power(&mut self, index: u32, bus: &str, milliwatts: u32) {
        self.gpus.push(wire::NvmlReading { bus_id: bus.to_owned(), power_usage: Some(milliwatts), index });
    }

    fn write(&mut self, anchors: &Anchors, write: &mut impl FnMut(&wire::DataSet)) {
        let Round { at, sockets, gpus, .. } = std::mem::take(self);
        let Some(Nanos(wall)) = at.and_then(|at| anchors.wall(at)) else { return };
        let timestamp = u64::try_from(wall / 1_000_000).unwrap_or(0);
        let mut part = wire::DataSet::default();
        if !sockets.is_empty() {
            part.rapl.push(wire::RaplSample { timestamp, reading: sockets.into_values().collect() });
        }
        if !gpus.is_empty() {
            part.nvml.push(wire::NvmlSample { timestamp, reading: gpus });
        }
        if !part.rapl.is_empty() || !part.nvml.is_empty() {
            write(&part);
        }
    }
}
