//! What sampling costs and how well it keeps time: the whole station on eight zones and a process tree, beside a loop
//! that opens, reads and closes, and beside one that only wakes up. The zones are files of a fake tree that do not change,
//! so that the cost of reading a register is not in these figures.
//!
//! Each is measured in a process of its own, by its processor time. The machine is kept busy meanwhile, as a training
//! does: a processor that has to be woken from its sleep for every reading costs more, which the details show.

pub mod probe;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use fake_powercap::{Fake, Layout, Script};

use crate::Setup;
use crate::figure::{Figure, Peer, Target};
use probe::{Measured, Probe, Task};

/// Zones that are read.
const ZONES: usize = 8;

/// The figures of this section.
pub fn figures(setup: &Setup) -> Result<Vec<Figure>> {
    let roots = [Layout::TwoSockets, Layout::OneSocket].iter().zip(["two", "one"]).map(|(layout, name)| {
        let root = setup.folder().join(name);
        Fake::new(&root, *layout, &Script::default()).context("cannot make the fake tree")?;
        Ok(root)
    });
    let roots: Vec<PathBuf> = roots.collect::<Result<_>>()?;
    let bench = Bench { roots, seconds: if setup.quick { 2.0 } else { 6.0 } };
    let few = Helper::start(Task::Threads(8))?;
    let many = Helper::start(Task::Threads(256))?;
    let mut figures = Vec::new();
    let mut worst: Option<(u32, Measured)> = None;
    for (hertz, target) in [(250, 1.2), (1000, 3.5)] {
        let idle = bench.station(hertz, &few)?;
        let _busy = Helper::burners()?;
        let (empty, station) = (bench.run(Task::Wake, hertz, None)?, bench.station(hertz, &few)?);
        let (naive, large) = (bench.run(Task::Naive, hertz, None)?, bench.station(hertz, &many)?);
        figures.push(Figure {
            what: format!("sampler, {ZONES} zones and a process tree, {hertz} Hz"),
            value: station.percent,
            decimals: 2,
            unit: "% of a core",
            target: Some(Target::AtMost(target)),
            detail: format!(
                "{:.2} % for waking up alone; {:.2} % where processors sleep between readings",
                empty.percent, idle.percent
            ),
            peers: vec![Peer {
                name: "open, read, close".to_owned(),
                value: format!("{:.2} at {:.0} Hz", naive.percent, naive.hertz),
                measured: true,
            }],
        });
        figures.push(Figure {
            what: format!("the same, 256 threads instead of 8, {hertz} Hz"),
            value: large.percent - station.percent,
            decimals: 2,
            unit: "% of a core more",
            target: Some(Target::AtMost(1.0)),
            detail: format!("{:.2} % in all", large.percent),
            peers: Vec::new(),
        });
        worst = Some((hertz, station));
    }
    let Some((hertz, station)) = worst else { return Ok(figures) };
    let is_first = station.class == "Fifo";
    figures.extend([
        Figure {
            what: format!("readings on time, {hertz} Hz"),
            value: station.late_p99_us,
            decimals: 0,
            unit: "µs late, 99th percentile",
            target: is_first.then_some(Target::AtMost(100.0)),
            detail: format!(
                "median {:.0} µs, {} of {} readings skipped, class {}",
                station.late_p50_us, station.missed, station.wakes, station.class
            ),
            peers: Vec::new(),
        },
        Figure {
            what: "memory of the sampler's process".to_owned(),
            value: station.resident_mb,
            decimals: 1,
            unit: "MB resident",
            target: Some(Target::AtMost(12.0)),
            detail: "with everything that the process holds".to_owned(),
            peers: Vec::new(),
        },
        Figure {
            what: "system calls for each zone and sample".to_owned(),
            value: station.reads,
            decimals: 2,
            unit: "reads",
            target: Some(Target::AtMost(1.0)),
            detail: "as the system counts the reads of the sampler's thread".to_owned(),
            peers: Vec::new(),
        },
    ]);
    Ok(figures)
}

/// What all measurements share.
struct Bench {
    roots: Vec<PathBuf>,
    seconds: f64,
}

impl Bench {
    fn station(&self, hertz: u32, tree: &Helper) -> Result<Measured> {
        self.run(Task::Station, hertz, Some(tree.0.id()))
    }

    fn run(&self, task: Task, hertz: u32, pid: Option<u32>) -> Result<Measured> {
        let probe = Probe { task, hertz, pid, seconds: self.seconds, roots: self.roots.clone() };
        let output = command(&probe)?.stdout(Stdio::piped()).output().context("cannot run the measurement")?;
        ensure!(output.status.success(), "a measurement failed: {probe:?}");
        serde_json::from_slice(&output.stdout).context("a measurement says nothing")
    }
}

/// A process beside the measurement, which ends with it.
struct Helper(Child);

impl Helper {
    fn start(task: Task) -> Result<Helper> {
        let probe = Probe { task, hertz: 0, pid: None, seconds: 600.0, roots: Vec::new() };
        let child = command(&probe)?.stdout(Stdio::null()).spawn().context("cannot start a process")?;
        // Its threads are born by then, or a little later: no harm.
        std::thread::sleep(std::time::Duration::from_millis(300));
        Ok(Helper(child))
    }

    /// One for each processor.
    fn burners() -> Result<Vec<Helper>> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        (0..processors).map(|_| Helper::start(Task::Burn)).collect()
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn command(probe: &Probe) -> Result<Command> {
    let this = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new::<&Path>(&this);
    command.arg("--probe").arg(serde_json::to_string(probe)?);
    Ok(command)
}
