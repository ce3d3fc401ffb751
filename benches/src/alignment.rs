//! How many events a second the sweep aligns with power.

use std::time::Instant;

use jouletree_account::{Tally, tally_device};
use jouletree_model::{EnergySeries, Event, Joules, Lane, Nanos, OpId, Step};

use crate::random::Random;

/// How many distinct operations the synthetic devices run.
const OPS: usize = 4096;

/// A device with its lanes and its power, as a trace reader would hand it over.
pub struct Workload {
    devices: Vec<(Vec<Lane>, EnergySeries)>,
    events: usize,
}

impl Workload {
    /// `events` operations of 2 to 62 µs on `devices` devices with `lanes` lanes each, and a reading every 4 ms.
    pub fn new(events: usize, devices: usize, lanes: usize) -> Workload {
        let mut random = Random::new(7);
        let per_lane = events / devices / lanes;
        let devices = (0..devices).map(|_| {
            let lanes: Vec<Lane> =
                (0..lanes).map(|_| Lane::new(0, "lane", lane_events(per_lane, &mut random))).collect();
            let end = lanes.iter().filter_map(Lane::extent).map(|extent| extent.end.0).max().unwrap_or(0);
            (lanes, series_until(end, &mut random))
        });
        let devices: Vec<_> = devices.collect();
        let events = devices.iter().flat_map(|(lanes, _)| lanes).map(|lane| lane.events().len()).sum();
        Workload { devices, events }
    }

    /// Aligns everything once; returns seconds and the relative error of conservation.
    pub fn run(&self) -> (f64, f64) {
        let begun = Instant::now();
        let tallies: Vec<Tally> = self
            .devices
            .iter()
            .map(|(lanes, series)| tally_device(&lanes.iter().collect::<Vec<_>>(), series, OPS))
            .collect();
        let seconds = begun.elapsed().as_secs_f64();
        let booked: f64 = tallies.iter().map(|tally| tally.attributed().0 + tally.unattributed.0).sum();
        let measured: f64 = self.devices.iter().map(|(_, series)| series.total().0).sum();
        (seconds, (booked - measured).abs() / measured)
    }

    /// How many events there are.
    pub fn events(&self) -> usize {
        self.events
    }
}

const START: i64 = 1_700_000_000_000_000_000;

fn lane_events(count: usize, random: &mut Random) -> Vec<Event> {
    let mut at = START;
    (0..count)
        .map(|_| {
            let start = at + random.below(3_000) as i64;
            let end = start + 2_000 + random.below(60_000) as i64;
            at = end;
            Event {
                start: Nanos(start),
                end: Nanos(end),
                op: OpId(random.below(OPS as u64) as u32),
                step: Step::NONE,
            }
        })
        .collect()
}

fn series_until(end: i64, random: &mut Random) -> EnergySeries {
    let mut series = EnergySeries::default();
    let (mut time, mut energy) = (START - 1_000_000, 0.0);
    while time < end + 4_000_000 {
        if series.push(Nanos(time), Joules(energy), false).is_err() {
            break;
        }
        time += 3_900_000 + random.below(200_000) as i64;
        energy += 0.1 + random.below(1000) as f64 * 2e-4;
    }
    series
}
