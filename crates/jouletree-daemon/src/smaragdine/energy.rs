//! What the meters say, in the words of the Smaragdine protocol: accumulated counts by socket.
//!
//! Its clients take a field that is missing for a count of zero. So every sample has the fields of every other: where a
//! sensor is not read in a round, its last count is repeated.

use std::collections::BTreeMap;

use jouletree_model::sampling::{Anchors, Batch, Mono, Sample, SensorInfo};
use jouletree_model::{DeviceClass, Kind, Nanos};
use jouletree_series::EnergyCount;

use crate::wire::smaragdine as wire;

/// So many rounds are waited for the first count of every sensor. One that has none by then is left out for good.
const MOST_INCOMPLETE_ROUNDS: u32 = 20;

/// Turns batches into samples of the protocol.
#[derive(Debug)]
pub(super) struct Energy {
    meters: BTreeMap<u16, ProtocolSensor>,
    anchors: Anchors,
    /// When the round that is collected began, and its last sensor.
    round: Option<(Mono, u16)>,
    /// Rounds in which a sensor had no count yet.
    incomplete: u32,
}

/// A sensor that has a place in the protocol.
#[derive(Debug)]
struct ProtocolSensor {
    socket: u32,
    part: EnergyField,
    counted: EnergyCount,
    /// The first count: what is written goes on from it and never wraps.
    first: Option<u64>,
    /// The count that is written.
    count: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
enum EnergyField {
    Package,
    Core,
    Uncore,
    Dram,
}

impl Energy {
    /// For the sensors of a station, in their order.
    pub(super) fn new(sensors: &[SensorInfo]) -> Energy {
        let meter = |(id, info): (u16, &SensorInfo)| {
            let (socket, part) = place(info)?;
            // A client takes differences, also across a time in which a counter did not change.
            let counted = EnergyCount::new(info).never_stuck();
            Some((id, ProtocolSensor { socket, part, counted, first: None, count: None }))
        };
        let meters = (0_u16..=u16::MAX).zip(sensors).filter_map(meter).collect();
        Energy { meters, anchors: Anchors::default(), round: None, incomplete: 0 }
    }

    /// Writes the rounds that a batch completes. The last one may go on in the next batch.
    pub(super) fn take(&mut self, batch: Batch, mut write: impl FnMut(wire::RaplSample)) {
        batch.anchors.into_iter().for_each(|anchor| self.anchors.push(anchor));
        for sample in &batch.samples {
            if !self.meters.contains_key(&sample.sensor) {
                continue;
            }
            // Sensors are read in their order.
            if self.round.is_some_and(|(_, last)| sample.sensor <= last) {
                self.finish(&mut write);
            }
            self.round = Some((self.round.map_or(sample.at, |(began, _)| began), sample.sensor));
            if let Some(meter) = self.meters.get_mut(&sample.sensor) {
                meter.take(sample);
            }
        }
    }

    /// Writes the round that is not written yet.
    pub(super) fn finish(&mut self, mut write: impl FnMut(wire::RaplSample)) {
        let Some((began, _)) = self.round.take() else { return };
        if self.meters.values().any(|meter| meter.count.is_none()) {
            self.incomplete += 1;
            if self.incomplete < MOST_INCOMPLETE_ROUNDS {
                return;
            }
            self.meters.retain(|_, meter| meter.count.is_some());
        }
        let Some(Nanos(wall)) = self.anchors.wall(began) else { return };
        let timestamp = u64::try_from(wall / 1_000_000).unwrap_or(0);
        let mut sockets = BTreeMap::<u32, wire::RaplReading>::new();
        for ProtocolSensor { socket, part, count, .. } in self.meters.values() {
            let reading = sockets.entry(*socket).or_default();
            reading.socket = *socket;
            *match part {
                EnergyField::Package => &mut reading.package,
                EnergyField::Core => &mut reading.cpu,
                EnergyField::Uncore => &mut reading.gpu,
                EnergyField::Dram => &mut reading.dram,
            } = *count;
        }
        if !sockets.is_empty() {
            write(wire::RaplSample { timestamp, reading: sockets.into_values().collect() });
        }
    }
}

impl ProtocolSensor {
    /// Goes on with the count; where it is not known, it is what it was.
    fn take(&mut self, sample: &Sample) {
        if self.counted.take(sample).step.is_some() {
            let first = *self.first.get_or_insert(sample.count);
            self.count = Some(first.saturating_add(self.counted.total()));
        }
    }
}

fn place(info: &SensorInfo) -> Option<(u32, EnergyField)> {
    // The protocol cannot say that a number is an estimate, so it does not carry any.
    if !matches!(info.kind, Kind::Measured | Kind::Derived) {
        return None;
    }
    let part = match (info.device.class(), info.domain.as_deref()) {
        (DeviceClass::Cpu, None) => EnergyField::Package,
        (DeviceClass::Cpu, Some("core")) => EnergyField::Core,
        (DeviceClass::Cpu, Some("uncore")) => EnergyField::Uncore,
        (DeviceClass::Dram, None) => EnergyField::Dram,
        _ => return None,
    };
    Some((info.device.index(), part))
}

#[cfg(test)]
mod tests {
    use jouletree_model::sampling::{Anchor, Flags, Quality};
    use jouletree_model::{Device, Microjoules, Watts};

    use super::*;

    fn sensor(class: DeviceClass) -> SensorInfo {
        SensorInfo {
            device: Device::new(class, 0),
            domain: None,
            source: String::new(),
            kind: Kind::Measured,
            range: None,
            step: Microjoules(1.0),
            period: Nanos(1_000_000),
            most: Watts(1e3),
            is_slow: false,
            quality: Quality::default(),
        }
    }

    /// What is written of these batches of (sensor, round, flags), as (time, package, dram).
    fn written(batches: &[&[(u16, i64, Flags)]]) -> Vec<(u64, Option<u64>, Option<u64>)> {
        let sensors = [DeviceClass::Cpu, DeviceClass::Gpu, DeviceClass::Dram].map(sensor);
        let (mut energy, mut samples) = (Energy::new(&sensors), Vec::new());
        let mut write = |sample: wire::RaplSample| {
            let [reading] = &sample.reading[..] else { panic!("{sample:?}") };
            samples.push((sample.timestamp, reading.package, reading.dram));
        };
        let anchor = Anchor { mono: Mono(0), wall: Nanos(0), boot: Nanos(0) };
        for batch in batches {
            let sample = |(sensor, round, flags): &(u16, i64, Flags)| Sample {
                sensor: *sensor,
                flags: *flags,
                at: Mono(round * 10_000_000 + i64::from(*sensor) * 40_000),
                count: 1000 + u64::try_from(*round).unwrap(),
            };
            let samples = batch.iter().map(sample).collect();
            energy.take(Batch { samples, anchors: vec![anchor], ..Batch::default() }, &mut write);
        }
        energy.finish(&mut write);
        samples
    }

    #[test]
    fn no_field_is_ever_missing() {
        let well = Flags::default();
        let batches: [&[(u16, i64, Flags)]; 3] = [
            // A batch may end in the middle of a round.
            &[(0, 1, well), (1, 1, well), (2, 1, well), (0, 2, well)],
            // Of the third and fourth round only one sensor is shown, and of the fifth a reading failed.
            &[(2, 2, well), (2, 3, well), (0, 4, well), (0, 5, well), (2, 5, Flags::GAP)],
            &[(0, 6, well), (1, 6, well), (2, 6, well)],
        ];
        let counts = [(10, 1, 1), (20, 2, 2), (30, 2, 3), (40, 4, 3), (50, 5, 3), (60, 6, 3)];
        let expected = counts.map(|(time, package, dram)| (time, Some(1000 + package), Some(1000 + dram)));
        assert_eq!(written(&batches), expected);
    }

    #[test]
    fn what_a_counter_gains_after_it_did_not_change_is_counted() {
        let info = SensorInfo { range: Some(1 << 40), ..sensor(DeviceClass::Cpu) };
        let mut energy = Energy::new(&[info]);
        let meter = energy.meters.get_mut(&0).unwrap();
        for round in 0..200 {
            let count = if round < 100 { 1000 } else { 1500 };
            let sample = Sample { sensor: 0, flags: Flags::default(), at: Mono(round * 10_000_000), count };
            meter.take(&sample);
            assert_eq!(meter.count, Some(count), "{round}");
        }
    }

    #[test]
    fn samples_begin_when_every_sensor_has_a_count_and_never_gain_a_field() {
        let well = Flags::default();
        let late = written(&[&[(0, 1, well), (2, 1, Flags::GAP), (0, 2, well), (2, 2, well), (0, 3, well)]]);
        assert_eq!(late, [(20, Some(1002), Some(1002)), (30, Some(1003), Some(1002))]);
        let dead: Vec<_> = (1..40).flat_map(|round| [(0, round, well), (2, round, Flags::GAP)]).collect();
        let dead = written(&[&dead, &[(0, 40, well), (2, 40, well)]]);
        assert_eq!(dead.len(), 21);
        assert!(dead.iter().all(|(_, package, dram)| package.is_some() && dram.is_none()), "{dead:?}");
    }
}
