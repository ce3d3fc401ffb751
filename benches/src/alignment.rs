//! How many events a second the sweep aligns with power, how it scales, and what an event costs in memory.

use std::fs;

use anyhow::{Context, Result, ensure};
use jouletree_account::{Tally, tally_device};
use jouletree_model::{EnergySeries, Event, Joules, Lane, Nanos, TimeRange};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::Setup;
use crate::clock::{Took, timed};
use crate::figure::{Figure, Target};
use crate::peers;
use crate::workload::{OPS, Shape, Workload, lane_events};

/// How often each number of threads is measured.
const ROUNDS: usize = 7;

/// What a lane's index takes for each event: 16 bytes for 1024 of them. A private matter of `Lane`, too small for the
/// operating system to see.
const INDEX_BYTES: f64 = 16.0 / 1024.0;

/// Measures alignment alone.
pub fn figures(setup: &Setup) -> Result<Vec<Figure>> {
    let memory = memory_per_event(setup.events());
    let mut figures = Vec::new();
    for (shape, what, target) in [
        (Shape::flat(4), "4 lanes a device", Some(Target::AtLeast(70.0))),
        (Shape::flat(1), "1 lane a device", Some(Target::AtLeast(200.0))),
        (Shape::nested(1), "1 lane, nested 3 deep", None),
    ] {
        let scaling = shape == Shape::flat(4) || shape == Shape::flat(1);
        let workload = Workload::new(setup.events(), setup.devices(), shape)?;
        let speed = interleaved(&workload)?;
        figures.push(Figure {
            what: format!("align, {what}"),
            value: workload.events() as f64 / speed.one.cpu / 1e6,
            decimals: 1,
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
                decimals: 2,
                unit: "×",
                target: Some(Target::AtLeast(1.9)),
                detail: format!(
                    "{:.0} M events/s on the wall; 2 threads use {:.2} × the processor time of 1; \
                     threads that share nothing reach {:.2} × at the same time",
                    workload.events() as f64 / speed.two.wall / 1e6,
                    speed.two.cpu / speed.one.cpu,
                    speed.machine
                ),
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
    /// What two threads that share nothing gained over one meanwhile: no more can be had from the machine.
    machine: f64,
    conservation_error: f64,
}

/// Alternates between one and two threads, so that whatever else the machine does falls on both.
fn interleaved(workload: &Workload) -> Result<Speed> {
    let (single, double) = (pool(1)?, pool(2)?);
    let mut speed = Speed { one: Took::FOREVER, two: Took::FOREVER, machine: 0.0, conservation_error: 0.0 };
    let (mut spun_one, mut spun_two) = (Took::FOREVER, Took::FOREVER);
    for _ in 0..ROUNDS {
        for (threads, best, spun) in
            [(&single, &mut speed.one, &mut spun_one), (&double, &mut speed.two, &mut spun_two)]
        {
            let (tallies, took) = timed(|| Ok(threads.install(|| align(workload))))?;
            *best = best.best(took);
            speed.conservation_error = speed.conservation_error.max(conservation_error(workload, &tallies));
            let (_, took) = timed(|| Ok(threads.install(|| rayon::join(spin, spin))))?;
            *spun = spun.best(took);
        }
    }
    speed.machine = spun_one.wall / spun_two.wall;
    ensure!(speed.conservation_error < 1e-9, "the sweep lost energy: relative {}", speed.conservation_error);
    Ok(speed)
}

/// Work of some 30 ms that needs a processor and nothing else.
fn spin() -> u64 {
    let mut random = crate::Random::new(1);
    (0..10_000_000).map(|_| random.below(1 << 20)).sum()
}

/// A pool of exactly this many threads.
pub fn pool(threads: usize) -> Result<ThreadPool> {
    Ok(ThreadPoolBuilder::new().num_threads(threads).build()?)
}

fn align(workload: &Workload) -> Vec<Tally> {
    // As `account` does it: devices side by side, each in one part where there are more devices than cores.
    let tally = |(lanes, series): &(Vec<Lane>, EnergySeries)| {
        tally_device(&lanes.iter().collect::<Vec<_>>(), series, &[TimeRange::ALL], OPS, 1)
    };
    workload.devices.par_iter().map(tally).collect()
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

/// What an event takes in memory, its share of its lane's index, and what the operating system saw of both.
fn memory_per_event(events: usize) -> Figure {
    let before = resident_bytes();
    let lane = Lane::new(0, "lane", lane_events(events, Shape::flat(1), Nanos(0), &mut crate::Random::new(3)));
    let growth = resident_bytes().zip(before).map(|(after, before)| after.saturating_sub(before));
    let own = size_of::<Event>();
    let seen = growth.map(|growth| {
        format!("; resident memory grew by {:.2} for each of them", growth as f64 / lane.events().len() as f64)
    });
    Figure {
        what: "memory, a stored event in its lane".to_owned(),
        value: own as f64,
        decimals: 0,
        unit: "bytes",
        target: Some(Target::AtMost(24.0)),
        detail: format!("and {INDEX_BYTES:.3} for its lane's index{}", seen.unwrap_or_default()),
        peers: Vec::new(),
    }
}

fn resident_bytes() -> Option<u64> {
    let sums = fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let line = sums.lines().find_map(|line| line.strip_prefix("Rss:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
