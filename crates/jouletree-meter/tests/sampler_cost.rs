//! What sampling costs, beside a loop that opens, reads and closes. The counters are files of a fake, so that the cost
//! of reading a register is not in these figures. Run it alone, on a machine that does nothing else:
//!
//! `cargo test --release -p jouletree-meter --test sampler_cost -- --ignored --nocapture`

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::fs;
use std::time::Duration;

use common::machine;
use fake_powercap::Layout;
use jouletree_meter::sampler::{Options, Sampler};
use jouletree_meter::{Sensor, SensorInfo};
use jouletree_model::Nanos;
use rustix::time::{ClockId, clock_gettime};

const LASTS: Duration = Duration::from_secs(6);
const ZONES: usize = 8;

/// Reads that the system was asked for by the thread of this name.
fn reads_of(thread: &str) -> u64 {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let of_it =
        tasks.filter(|task| fs::read_to_string(task.path().join("comm")).unwrap_or_default().trim() == thread);
    let io = of_it.filter_map(|task| fs::read_to_string(task.path().join("io")).ok()).next().unwrap_or_default();
    io.lines().find_map(|line| line.strip_prefix("syscr: ")).and_then(|count| count.parse().ok()).unwrap_or(0)
}

fn resident_megabytes() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// A sensor that costs nothing: what is left is the cost of waking up.
struct Nothing(SensorInfo);

impl Sensor for Nothing {
    fn info(&self) -> &SensorInfo {
        &self.0
    }
    fn read(&mut self) -> Result<u64, jouletree_meter::ReadError> {
        Ok(0)
    }
}

fn sample(name: &str, sensors: Vec<Box<dyn Sensor>>, hertz: i64, realtime: bool) {
    let begun = std::time::Instant::now();
    let options = Options { period: Nanos(1_000_000_000 / hertz), realtime, ..Options::default() };
    let mut sampler = Sampler::start(sensors, options).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let (reads, wakes) = (reads_of("sampler"), sampler.stats().wakes);
    let mut samples = 0_u64;
    for _ in 0..LASTS.as_secs() * 10 {
        std::thread::sleep(Duration::from_millis(100));
        sampler.drain(|_| samples += 1);
    }
    let (reads, wakes) = (reads_of("sampler") - reads, sampler.stats().wakes - wakes);
    sampler.stop();
    let took = begun.elapsed().as_secs_f64();
    let stats = sampler.stats();
    println!(
        "{hertz:4} Hz {name} {:?}: {:.2} % of a core, {:.1} µs per wake, late p50 {} p99 {} most {}, {} missed, {} overruns, \
         {:.2} reads per zone and wake, {:.1} MB resident",
        stats.class,
        100.0 * stats.cpu_time.seconds() / took,
        1e6 * stats.cpu_time.seconds() / stats.wakes as f64,
        stats.late_p50,
        stats.late_p99,
        stats.late_most,
        stats.missed,
        stats.overruns,
        reads as f64 / (wakes as f64 * ZONES as f64),
        resident_megabytes(),
    );
}

/// The loop that many tools have: it sleeps for a period, then opens, reads and closes every file.
fn naive(infos: &[SensorInfo], hertz: u64) {
    let paths: Vec<&str> = infos.iter().map(|info| info.source.rsplit(" at ").next().unwrap()).collect();
    let wakes = LASTS.as_secs() * hertz;
    let begun = std::time::Instant::now();
    let cpu = std::thread::scope(|scope| {
        let loops = scope.spawn(|| {
            let before = cpu_seconds();
            let mut sum = 0_u64;
            for _ in 0..wakes {
                for path in &paths {
                    sum = sum.wrapping_add(fs::read_to_string(path).unwrap().trim().parse::<u64>().unwrap());
                }
                std::thread::sleep(Duration::from_micros(1_000_000 / hertz));
            }
            assert!(sum > 0);
            cpu_seconds() - before
        });
        loops.join().unwrap()
    });
    let took = begun.elapsed().as_secs_f64();
    println!(
        "{hertz:4} Hz naive loop: {:.2} % of a core at the {:.0} Hz that it reached; {:.1} µs per wake",
        100.0 * cpu / took,
        wakes as f64 / took,
        1e6 * cpu / wakes as f64
    );
}

#[test]
#[ignore = "takes half a minute, and says nothing on a machine that does other things"]
fn what_sampling_costs() {
    let machines = [machine(Layout::TwoSockets, ""), machine(Layout::OneSocket, "")];
    let sensors = || {
        let found = machines.iter().flat_map(|machine| machine.discover());
        found.filter_map(|found| found.sensor.ok()).take(ZONES).collect::<Vec<Box<dyn Sensor>>>()
    };
    let infos: Vec<SensorInfo> = sensors().iter().map(|sensor| sensor.info().clone()).collect();
    assert_eq!(infos.len(), ZONES);
    println!("{ZONES} zones of a fake powercap tree; the reader's processor time only");
    for hertz in [250, 1000] {
        sample("no zone", vec![Box::new(Nothing(infos[0].clone()))], hertz, true);
        sample("zones", sensors(), hertz, true);
        sample("zones", sensors(), hertz, false);
        naive(&infos, hertz.unsigned_abs());
    }
}
