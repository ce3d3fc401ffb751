//! How many events a second the sweep aligns with power, how it scales, and what an event costs in memory.

use std::fs;

use anyhow::{Context, Result, ensure};
use jouletree_account::{Tally, tally_device};
use jouletree_model::{EnergySeries, Event, Joules, Lane, Nanos};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::Setup;
use crate::clock::{Took, timed};
use crate::figure::{Figure, Target};
use crate::peers;
use crate::workload::{OPS, Shape, Workload, lane_events};

/// How often each number of threads is measured.
const ROUNDS: usize = 7;

/// Measures alignment alone.
pub fn figures(setup: &Setup) -> Result<Vec<Figure>> {
    let memory = memory_per_event(setup.events())?;
    let mut figures = Vec::new();
    for (shape, what, target) in [
        (Shape::flat(4), "4 lanes a device", Some(Target::AtLeast(70.0))),
        (Shape::flat(1), "1 lane a device", Some(Target::AtLeast(200.0))),
        (Shape::nested(1), "1 lane, nested 3 deep", None),
    ] {
        let scaling = shape == Shape::flat(4) || shape == Shape::flat(1);
        let workload = Workload::new(setup.events(), 8, shape)?;
        let speed = interleaved(&workload)?;
        figures.push(Figure {
            what: format!("align, {what}"),
            value: workload.events() as f64 / speed.one.cpu / 1e6,
            unit: "M events/s a core",
            target,
            detail: format!(
                "{} M events, conserved to {:.0e}",
                workload.events() / 1_000_000,
                speed.conservation_error
            ),
            peers: if shape == Shape::flat(4) { measured_peers(setup)? } else { Vec::new() },
        });
        if scaling {
            figures.push(Figure {
                what: format!("align, {what}, 2 threads over 1"),
                value: speed.one.wall / speed.two.wall,
                unit: "×",
                target: Some(Target::AtLeast(1.9)),
                detail: format!("{:.0} M events/s on the wall", workload.events() as f64 / speed.two.wall / 1e6),
                peers: Vec::new(),
            });
        }
    }
    figures.push(memory);
    Ok(figures)
}

/// How fast a workload is aligned.
struct Speed {
    one: Took,
    two: Took,
    conservation_error: f64,
}

/// Alternates between one and two threads, so that whatever else the machine does falls on both.
fn interleaved(workload: &Workload) -> Result<Speed> {
    let (single, double) = (pool(1)?, pool(2)?);
    let mut speed = Speed { one: Took::FOREVER, two: Took::FOREVER, conservation_error: 0.0 };
    for _ in 0..ROUNDS {
        for (threads, best) in [(&single, &mut speed.one), (&double, &mut speed.two)] {
            let (tallies, took) = timed(|| Ok(threads.install(|| align(workload))))?;
            *best = best.best(took);
            speed.conservation_error = speed.conservation_error.max(conservation_error(workload, &tallies));
        }
    }
    ensure!(speed.conservation_error < 1e-9, "the sweep lost energy: relative {}", speed.conservation_error);
    Ok(speed)
}

/// A pool of exactly this many threads.
pub fn pool(threads: usize) -> Result<ThreadPool> {
    Ok(ThreadPoolBuilder::new().num_threads(threads).build()?)
}

fn align(workload: &Workload) -> Vec<Tally> {
    let tally =
        |(lanes, series): &(Vec<Lane>, EnergySeries)| tally_device(&lanes.iter().collect::<Vec<_>>(), series, OPS);
    workload.devices.iter().map(tally).collect()
}

fn conservation_error(workload: &Workload, tallies: &[Tally]) -> f64 {
    let booked: Joules = tallies.iter().map(|tally| tally.attributed() + tally.unattributed).sum();
    let measured: Joules = workload.devices.iter().map(|(_, series)| series.total()).sum();
    (booked.0 - measured.0).abs() / measured.0
}

/// What others reach on a slice of the same workload, the result of which they must share with us.
fn measured_peers(setup: &Setup) -> Result<Vec<crate::figure::Peer>> {
    let slice = Workload::new(setup.events() / 10, 1, Shape::flat(4))?;
    let attributed: Joules = align(&slice).iter().map(Tally::attributed).sum();
    let file = setup.folder().join("slice.bin");
    fs::write(&file, slice.to_bytes()).context("cannot write the slice for the peers")?;
    let expected = attributed.0.to_string();
    setup.peers.measure("align", &[file.as_os_str(), expected.as_ref()], &peers::ALIGNING_EARLIER)
}

/// What an event takes in memory with its share of its lane's index, seen from the operating system where it tells.
fn memory_per_event(events: usize) -> Result<Figure> {
    let before = resident_bytes();
    let lane = Lane::new(0, "lane", lane_events(events, Shape::flat(1), Nanos(0), &mut crate::Random::new(3)));
    let growth = resident_bytes().zip(before).map(|(after, before)| after.saturating_sub(before));
    let own = size_of::<Event>();
    let measured = growth.map(|growth| growth as f64 / lane.events().len() as f64);
    Ok(Figure {
        what: "memory, an event at rest in its lane".to_owned(),
        value: measured.unwrap_or(own as f64),
        unit: "bytes",
        target: Some(Target::AtMost(24.0)),
        detail: match measured {
            Some(measured) => format!("{own} of the event, {:.4} of its lane's index", measured - own as f64),
            None => format!("{own} of the event; this system does not tell resident memory"),
        },
        peers: Vec::new(),
    })
}

fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
