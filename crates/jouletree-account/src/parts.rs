//! Accounting by the parts of a program's time. Lanes are cut where one part ends and the next begins, and an operation in a
//! part is an operation of its own to the sweep. So what an operation is charged with in a part is exact, also where it
//! runs across a border, and the sweep stays as fast as it is.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use jouletree_model::{
    Device, DeviceEnergy, Event, Joules, Lane, Nanos, OpId, PartBalance, PartCharge, PartEnergy, StageTime, Step,
    Stretch, TimeRange, Timeline, Trace,
};

use crate::self_time::SelfTime;
use crate::tally::{Charged, OpTally};
use crate::{EnergyIndex, Metered};

/// How many segments are cut at a time.
const CHUNK: usize = 4096;

/// The lanes of a trace, cut at the borders of parts.
pub(crate) struct Cut<'a> {
    pub(crate) timeline: &'a Timeline,
    /// Lanes without nesting; the number of an operation is that of an operation in a part.
    pub(crate) lanes: Vec<Lane>,
    keys: Keys,
    /// How often each operation began in each part: by stage and device, then by key.
    counts: Counts,
}

type Counts = FxHashMap<(usize, usize), FxHashMap<u32, u64>>;

/// Numbers for operations in parts.
#[derive(Default)]
struct Keys {
    known: FxHashMap<(usize, OpId), u32>,
    keys: Vec<(usize, OpId)>,
}

impl Keys {
    fn of(&mut self, part: usize, op: OpId) -> u32 {
        let keys = &mut self.keys;
        *self.known.entry((part, op)).or_insert_with(|| {
            keys.push((part, op));
            u32::try_from(keys.len() - 1).unwrap_or(u32::MAX)
        })
    }
}

impl<'a> Cut<'a> {
    pub(crate) fn of(trace: &Trace, timeline: &'a Timeline, stages: &[StageTime]) -> Cut<'a> {
        let mut pieces: Vec<Vec<Event>> =
            trace.lanes.par_iter().map(|lane| pieces(lane, &timeline.stretches)).collect();
        let mut keys = Keys::default();
        for pieces in &mut pieces {
            let mut place = 0;
            for piece in pieces {
                let Some(stretch) = stretch_at(&timeline.stretches, &mut place, piece.start) else { continue };
                piece.op = OpId(keys.of(stretch.part, piece.op));
                piece.step = match timeline.parts.get(stretch.part) {
                    Some(part) if part.is_steps() && part.is_recorded() => stretch.step,
                    Some(part) if part.is_recorded() => piece.step,
                    _ => Step::NONE,
                };
            }
        }
        let counts = counts(trace, timeline, stages, &mut keys);
        let lanes = trace.lanes.iter().zip(pieces);
        let lanes = lanes.map(|(lane, pieces)| Lane::new(lane.device(), lane.label(), pieces)).collect();
        Cut { timeline, lanes, keys, counts }
    }

    /// How many operations in parts there are.
    pub(crate) fn ops(&self) -> usize {
        self.keys.keys.len()
    }

    /// What a sweep over the cut lanes says about each operation in each part: `tallied`, by the number of the operation in
    /// its part, in order. `device` is the number of the device in its trace, if operations ran on it.
    pub(crate) fn charges(
        &self,
        tallied: impl Iterator<Item = (usize, Charged)>,
        stage: usize,
        device: Option<usize>,
    ) -> Vec<(usize, OpId, Charged)> {
        let counts = device.and_then(|device| self.counts.get(&(stage, device)));
        let counted = counts.into_iter().flatten().map(|(key, count)| (*key as usize, *count));
        let mut counted: Vec<(usize, u64)> = counted.collect();
        counted.sort_unstable();
        let mut charges: Vec<(usize, Charged)> = Vec::with_capacity(counted.len());
        let mut counted = counted.into_iter().peekable();
        let uncharged = |(key, count): (usize, u64)| {
            (key, Charged { tally: OpTally { count, ..OpTally::default() }, standard_error: None })
        };
        for (key, mut charged) in tallied {
            while let Some(other) = counted.next_if(|(counted, _)| *counted < key) {
                charges.push(uncharged(other));
            }
            charged.tally.count = counted.next_if(|(counted, _)| *counted == key).map_or(0, |(_, count)| count);
            charges.push((key, charged));
        }
        charges.extend(counted.map(uncharged));
        let placed = charges.into_iter().filter(|(_, charged)| charged.has_run()).filter_map(|(key, charged)| {
            let (part, op) = self.keys.keys.get(key)?;
            Some((*part, *op, charged))
        });
        placed.collect()
    }

    /// The part and the operation of each operation in a part.
    pub(crate) fn keys(&self) -> &[(usize, OpId)] {
        &self.keys.keys
    }

    /// Whether the operations of a part were recorded as part of a step.
    pub(crate) fn is_recorded(&self, part: usize) -> bool {
        self.timeline.parts.get(part).is_some_and(|part| part.is_recorded())
    }
}

/// The self time of a lane, cut at the borders of stretches.
fn pieces(lane: &Lane, stretches: &[Stretch]) -> Vec<Event> {
    let mut pieces = Vec::with_capacity(lane.events().len());
    let mut segments = Vec::new();
    let mut cutter = SelfTime::new(lane, TimeRange::ALL);
    let mut place = 0;
    loop {
        segments.clear();
        let begun = cutter.cut(CHUNK, &mut segments);
        if segments.is_empty() && begun.is_empty() {
            return pieces;
        }
        for segment in &segments {
            let mut start = segment.start;
            while start < segment.end {
                let border =
                    stretch_at(stretches, &mut place, start).map_or(Nanos::MAX, |stretch| stretch.range.end);
                let end = segment.end.min(border);
                pieces.push(Event { start, end, ..*segment });
                start = end;
            }
        }
    }
}

/// The stretch that an instant lies in, no earlier than the one at `place`.
fn stretch_at<'a>(stretches: &'a [Stretch], place: &mut usize, instant: Nanos) -> Option<&'a Stretch> {
    while stretches.get(*place).is_some_and(|stretch| stretch.range.end <= instant) {
        *place += 1;
    }
    stretches.get(*place)
}

fn counts(trace: &Trace, timeline: &Timeline, stages: &[StageTime], keys: &mut Keys) -> Counts {
    let mut counts = Counts::default();
    let marks =
        stages.iter().enumerate().flat_map(|(stage, time)| time.ranges.iter().map(move |range| (range, stage)));
    let mut marks: Vec<(&TimeRange, usize)> = marks.collect();
    marks.sort_unstable_by_key(|(range, _)| range.start);
    for lane in &trace.lanes {
        let (mut place, mut mark) = (0, 0);
        for event in lane.events() {
            let Some(stretch) = stretch_at(&timeline.stretches, &mut place, event.start) else { continue };
            while marks.get(mark).is_some_and(|(range, _)| range.end <= event.start) {
                mark += 1;
            }
            let stage = marks.get(mark).map_or(0, |(_, stage)| *stage);
            let of_device = counts.entry((stage, lane.device())).or_default();
            *of_device.entry(keys.of(stretch.part, event.op)).or_default() += 1;
        }
    }
    counts
}

/// What each part used on `devices`, of which operations were charged with `charges`.
pub(crate) fn part_energies(
    timeline: &Timeline,
    devices: &[DeviceEnergy],
    power: &FxHashMap<&Device, &Metered<'_>>,
    charges: &[PartCharge],
) -> Vec<PartEnergy> {
    let extents = power.values().filter_map(|metered| metered.series.extent());
    let known = extents.reduce(TimeRange::union);
    let ranges = timeline.ranges();
    let energies: Vec<Vec<Joules>> = devices
        .par_iter()
        .map(|balance| {
            let metered = power.get(&balance.device);
            let index = metered.map(|metered| EnergyIndex::from(metered.series)).unwrap_or_default();
            ranges.iter().map(|ranges| index.within(ranges)).collect()
        })
        .collect();
    let mut parts: Vec<PartEnergy> = timeline
        .parts
        .iter()
        .zip(&ranges)
        .enumerate()
        .map(|(number, (part, ranges))| {
            let within = |range: &TimeRange| known.map_or(Nanos(0), |known| range.intersection(known).duration());
            let time = ranges.iter().map(within);
            let energy = |device: &Vec<Joules>| device.get(number).copied().unwrap_or(Joules::ZERO);
            let balance = |device| PartBalance { energy: energy(device), operations: Joules::ZERO };
            PartEnergy {
                part: part.clone(),
                time: time.fold(Nanos(0), |a, b| a + b),
                devices: energies.iter().map(balance).collect(),
            }
        })
        .collect();
    for PartCharge { part, charged } in charges {
        let balance = parts.get_mut(*part).and_then(|part| part.devices.get_mut(charged.device));
        if let Some(balance) = balance {
            balance.operations += charged.energy;
        }
    }
    parts
}

#[cfg(test)]
#[path = "parts_tests.rs"]
mod tests;
