//! Synthetic devices with their lanes and their power, as a trace reader would hand them over.

use anyhow::Result;
use jouletree_model::{EnergySeries, Event, Lane, Nanos, OpId, Step, TimeRange};

use crate::power::series_over;
use crate::random::Random;

/// How many distinct operations the devices run.
pub const OPS: usize = 4096;

/// How many events an outermost event and those inside it make at most.
const NEST: usize = 7;

const START: Nanos = Nanos(1_700_000_000_000_000_000);

/// How many events of a lane make a step, where steps are wanted.
const EVENTS_PER_STEP: usize = 4096;

/// What the lanes of a device look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    lanes: usize,
    nested: bool,
    steps: bool,
}

impl Shape {
    /// So many lanes with events of 2 to 62 µs one after the other.
    pub fn flat(lanes: usize) -> Shape {
        Shape { lanes, nested: false, steps: false }
    }

    /// So many lanes with events nested three deep, as a framework's host threads record them.
    pub fn nested(lanes: usize) -> Shape {
        Shape { nested: true, ..Shape::flat(lanes) }
    }

    /// The same with the training step of every event.
    pub fn with_steps(self) -> Shape {
        Shape { steps: true, ..self }
    }
}

/// Devices with their lanes and a reading of power every 4 ms.
pub struct Workload {
    /// Each device's lanes and its power.
    pub devices: Vec<(Vec<Lane>, EnergySeries)>,
}

impl Workload {
    /// About `events` events on `devices` devices.
    pub fn new(events: usize, devices: usize, shape: Shape) -> Result<Workload> {
        let mut random = Random::new(7);
        let per_lane = events / devices / shape.lanes;
        let devices = (0..devices).map(|device| {
            let lane = |number| {
                Lane::new(device, format!("lane {number}"), lane_events(per_lane, shape, START, &mut random))
            };
            let lanes: Vec<Lane> = (0..shape.lanes).map(lane).collect();
            let extent = lanes.iter().filter_map(Lane::extent).reduce(TimeRange::union);
            let extent = extent.unwrap_or(TimeRange { start: START, end: START });
            let series = series_over(extent, &mut random)?;
            Ok((lanes, series))
        });
        Ok(Workload { devices: devices.collect::<Result<_>>()? })
    }

    /// How many events there are.
    pub fn events(&self) -> usize {
        self.devices.iter().flat_map(|(lanes, _)| lanes).map(|lane| lane.events().len()).sum()
    }

    /// The first device as raw little-endian columns: how many events and points of power there are, then start,
    /// end and operation of the events, then time and joules of the points; 8 bytes each.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Some((lanes, series)) = self.devices.first() else { return Vec::new() };
        let events: Vec<&Event> = lanes.iter().flat_map(Lane::events).collect();
        let counts = [events.len() as i64, series.points().len() as i64];
        let columns = counts
            .into_iter()
            .chain(events.iter().map(|event| event.start.0))
            .chain(events.iter().map(|event| event.end.0))
            .chain(events.iter().map(|event| i64::from(event.op.0)))
            .chain(series.points().map(|(time, _, _)| time.0));
        let joules = series.points().flat_map(|(_, joules, _)| joules.0.to_le_bytes());
        columns.flat_map(i64::to_le_bytes).chain(joules).collect()
    }
}

/// `count` events of one lane from `start` on.
pub fn lane_events(count: usize, shape: Shape, start: Nanos, random: &mut Random) -> Vec<Event> {
    let mut lane =
        LaneBuilder { at: start.0, events: Vec::with_capacity(count + NEST), steps: shape.steps, random };
    while lane.events.len() < count {
        lane.pause(0..3_000);
        if shape.nested {
            let outer = lane.begin();
            for _ in 0..2 {
                let inner = lane.begin();
                lane.leaf();
                lane.leaf();
                lane.finish(inner);
            }
            lane.finish(outer);
        } else {
            lane.leaf();
        }
    }
    lane.events.truncate(count);
    lane.events
}

struct LaneBuilder<'a> {
    at: i64,
    events: Vec<Event>,
    steps: bool,
    random: &'a mut Random,
}

impl LaneBuilder<'_> {
    fn pause(&mut self, range: std::ops::Range<i64>) {
        self.at += self.random.nanos(range);
    }

    fn leaf(&mut self) {
        let event = self.push();
        self.pause(2_000..62_000);
        self.events[event].end = Nanos(self.at);
    }

    fn begin(&mut self) -> usize {
        let event = self.push();
        self.pause(200..1_000);
        event
    }

    fn finish(&mut self, event: usize) {
        self.pause(200..1_000);
        self.events[event].end = Nanos(self.at);
    }

    fn push(&mut self) -> usize {
        let index = self.events.len();
        let step = if self.steps { Step((index / EVENTS_PER_STEP) as u32) } else { Step::NONE };
        // A step of a training runs the same operations in the same order as the step before.
        let op = OpId((index % OPS) as u32);
        self.events.push(Event { start: Nanos(self.at), end: Nanos(self.at), op, step });
        index
    }
}
