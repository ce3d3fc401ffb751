//! One measurement in a process of its own.

use std::fs;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use jouletree_host::Roots;
use jouletree_meter::sampler::{Options, Sampler};
use jouletree_meter::station::{self, Next, Station, Watch};
use jouletree_meter::{ReadError, Sensor, powercap};
use jouletree_model::Nanos;
use jouletree_model::sampling::SensorInfo;
use serde::{Deserialize, Serialize};

use super::ZONES;
use crate::clock;

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Task {
    /// The whole station.
    Station,
    /// A sampler that wakes up and reads nothing.
    Wake,
    /// A loop that sleeps, opens, reads and closes.
    Naive,
    /// Many threads that do a little now and then.
    Threads(usize),
    /// Something that never rests.
    Burn,
}

/// A measurement.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Probe {
    pub task: Task,
    pub hertz: u32,
    pub pid: Option<u32>,
    pub seconds: f64,
    pub roots: Vec<PathBuf>,
}

/// Its result.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Measured {
    pub percent: f64,
    pub hertz: f64,
    pub late_p50_us: f64,
    pub late_p99_us: f64,
    pub missed: u64,
    pub wakes: u64,
    pub class: String,
    pub reads: f64,
    pub resident_mb: f64,
}

impl Probe {
    /// Does it and prints the result.
    pub fn run(&self) -> Result<()> {
        let measured = match self.task {
            Task::Station => self.station()?,
            Task::Wake => self.wake()?,
            Task::Naive => self.naive()?,
            Task::Threads(count) => return self.threads(count),
            Task::Burn => return self.burn(),
        };
        println!("{}", serde_json::to_string(&measured)?);
        Ok(())
    }

    fn period(&self) -> Nanos {
        Nanos(1_000_000_000 / i64::from(self.hertz.max(1)))
    }

    fn sensors(&self) -> Vec<Box<dyn Sensor>> {
        let found = self.roots.iter().flat_map(|root| {
            powercap::discover(&Roots { sys: root.clone(), proc: root.join("proc"), nvml: None })
        });
        found.filter_map(|found| found.sensor.ok()).take(ZONES).collect()
    }

    fn station(&self) -> Result<Measured> {
        let sensors = self.sensors();
        let station = Station::start(sensors, &Roots::default(), station::Options::default())?;
        let mut session = station.watch(Watch { pid: self.pid, period: self.period(), grid: None })?;
        std::thread::sleep(Duration::from_millis(300));
        let before = (clock::process_seconds(), Instant::now(), reads_of("sampler"), station.stats().wakes);
        while before.1.elapsed().as_secs_f64() < self.seconds {
            if let Next::Batch(batch) = session.next(Duration::from_millis(200)) {
                black_box(&batch);
            }
        }
        let (used, took) = (clock::process_seconds() - before.0, before.1.elapsed().as_secs_f64());
        let stats = station.stats();
        let wakes = stats.wakes - before.3;
        Ok(Measured {
            percent: 100.0 * used / took,
            hertz: wakes as f64 / took,
            late_p50_us: stats.late_p50.seconds() * 1e6,
            late_p99_us: stats.late_p99.seconds() * 1e6,
            missed: stats.missed,
            wakes,
            class: format!("{:?}", stats.class),
            reads: (reads_of("sampler") - before.2) as f64 / (wakes.max(1) as f64 * ZONES as f64),
            resident_mb: resident_megabytes(),
        })
    }

    fn wake(&self) -> Result<Measured> {
        let info = self.sensors().first().map(|sensor| sensor.info().clone()).context("there is no zone")?;
        let options = Options { period: self.period(), ..Options::default() };
        let mut sampler = Sampler::start(vec![Box::new(Nothing(info))], options)?;
        let (before, begun) = (clock::process_seconds(), Instant::now());
        while begun.elapsed().as_secs_f64() < self.seconds {
            std::thread::sleep(Duration::from_millis(100));
            sampler.drain(|sample| {
                black_box(sample);
            });
        }
        let percent = 100.0 * (clock::process_seconds() - before) / begun.elapsed().as_secs_f64();
        Ok(Measured { percent, ..Measured::default() })
    }

    fn naive(&self) -> Result<Measured> {
        let infos: Vec<SensorInfo> = self.sensors().iter().map(|sensor| sensor.info().clone()).collect();
        let paths: Vec<&str> = infos.iter().filter_map(|info| info.source.rsplit(" at ").next()).collect();
        let (before, begun, mut wakes) = (clock::process_seconds(), Instant::now(), 0_u32);
        while begun.elapsed().as_secs_f64() < self.seconds {
            for path in &paths {
                let count: u64 = fs::read_to_string(path)?.trim().parse()?;
                black_box(count);
            }
            wakes += 1;
            std::thread::sleep(Duration::from_nanos(self.period().0.unsigned_abs()));
        }
        let took = begun.elapsed().as_secs_f64();
        let percent = 100.0 * (clock::process_seconds() - before) / took;
        Ok(Measured { percent, hertz: f64::from(wakes) / took, ..Measured::default() })
    }

    fn threads(&self, count: usize) -> Result<()> {
        let end = Instant::now() + Duration::from_secs_f64(self.seconds);
        let work = move || {
            while Instant::now() < end {
                (0..1000).for_each(|number| {
                    black_box(number);
                });
                std::thread::sleep(Duration::from_millis(200));
            }
        };
        let threads: Vec<_> = (0..count).map(|_| std::thread::spawn(work)).collect();
        threads.into_iter().for_each(|thread| drop(thread.join()));
        Ok(())
    }

    fn burn(&self) -> Result<()> {
        let end = Instant::now() + Duration::from_secs_f64(self.seconds);
        while Instant::now() < end {
            (0..100_000).for_each(|number| {
                black_box(number);
            });
        }
        Ok(())
    }
}

/// A sensor that costs nothing: what is left is the cost of waking up.
struct Nothing(SensorInfo);

impl Sensor for Nothing {
    fn info(&self) -> &SensorInfo {
        &self.0
    }
    fn read(&mut self) -> Result<u64, ReadError> {
        Ok(0)
    }
}

/// Reads that the system was asked for by the thread of this name.
fn reads_of(thread: &str) -> u64 {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return 0 };
    let is_it = |path: &PathBuf| fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == thread);
    let task = tasks.flatten().map(|task| task.path()).find(is_it);
    let counts = task.and_then(|path| fs::read_to_string(path.join("io")).ok()).unwrap_or_default();
    counts.lines().find_map(|line| line.strip_prefix("syscr: ")?.parse().ok()).unwrap_or(0)
}

fn resident_megabytes() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kilobytes| kilobytes.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1024.0
}
