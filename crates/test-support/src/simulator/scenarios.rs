//! The scenarios that attribution is measured on, with what the reference implementation reaches in each.

use jouletree_model::{Device, DeviceClass, EnergySeries, Nanos, Trace};

use super::power::{Drawn, Surroundings};
use super::program::{Program, Schedule};
use super::random::Random;
use super::sensor::{Sensor, Ticks};

/// The power of the idle device, in watts.
const IDLE: f64 = 40.0;

/// When a made program begins.
const ORIGIN: Nanos = Nanos(1_700_000_000_000_000_000);

/// A program and a sensor.
#[derive(Debug, Clone)]
pub struct Scenario {
    pub name: &'static str,
    pub schedule: Schedule,
    pub surroundings: Surroundings,
    pub sensor: Sensor,
    /// The errors of the reference by operation and by layer, in percent.
    pub reference: (f64, f64),
}

/// What happened in one run of a scenario.
#[derive(Debug, Clone)]
pub struct Run {
    pub program: Program,
    pub trace: Trace,
    pub series: EnergySeries,
    /// The energy that each operation really used.
    pub truth: Vec<f64>,
}

impl Scenario {
    /// One run.
    pub fn run(&self, seed: u64) -> Run {
        let mut random = Random::new(seed);
        let program = Program::new(&mut random, &self.schedule);
        let powers = program.powers(&mut random);
        let drawn = Drawn::new(&mut random, &program, &powers, IDLE, self.surroundings);
        let series = self.sensor.read(&mut random, &drawn, program.seconds, ORIGIN);
        let mut trace = Trace { ops: program.ops(), ..Trace::default() };
        let device = trace.device_index(&device());
        assert_eq!(device, 0);
        trace.lanes = program.lanes(ORIGIN);
        Run { trace, series, truth: drawn.truth, program }
    }
}

/// The device of every scenario.
pub fn device() -> Device {
    Device::new(DeviceClass::Gpu, 0)
}

/// All scenarios.
pub fn all() -> Vec<Scenario> {
    let plain = |name, seconds, sensor, reference| Scenario {
        name,
        schedule: Schedule { seconds, ..Schedule::default() },
        surroundings: Surroundings { execution_spread: 0.02, ..Surroundings::default() },
        sensor,
        reference,
    };
    let ideal = Sensor::default();
    let ticking = |ticks, period, dither| Sensor { ticks: Some(ticks), noise: 0.0, period, dither, ..ideal };
    let slow = |period, lag, noise, duty| Sensor { period, lag, noise, duty, ..ideal };
    let around = |surroundings: Surroundings, scenario: Scenario| Scenario {
        surroundings: Surroundings { execution_spread: 0.02, ..surroundings },
        ..scenario
    };
    let scheduled = |schedule: Schedule, scenario: Scenario| Scenario {
        schedule: Schedule { seconds: scenario.schedule.seconds, ..schedule },
        ..scenario
    };
    let lanes = Schedule { lanes: 4, ..Schedule::default() };
    let locked = Schedule { locked: Some(44e-3), jitter: (0.005, 0.005), ..Schedule::default() };
    let none = Surroundings::default();
    vec![
        plain("A1 4 ms 1 % 10 s", 10.0, ideal, (5.1, 0.42)),
        plain("A2 4 ms 5 % 10 s", 10.0, Sensor { noise: 0.05, ..ideal }, (9.0, 0.95)),
        plain("A3 4 ms 5 % 60 s", 60.0, Sensor { noise: 0.05, ..ideal }, (5.7, 0.75)),
        plain("A4 1 ms 1 % 10 s", 10.0, Sensor { period: 1e-3, ..ideal }, (2.1, 0.10)),
        plain("B1 RAPL tick-aligned 4 ms", 20.0, ticking(Ticks::Aligned, 4e-3, 0.3), (2.7, 0.19)),
        plain("B2 RAPL polled 4 ms", 60.0, ticking(Ticks::Polled, 4e-3, 0.0), (7.9, 1.02)),
        plain("B3 RAPL polled 1 ms", 20.0, ticking(Ticks::Polled, 1e-3, 0.0), (8.8, 0.71)),
        plain("C1 NVML 20 ms 1 % 60 s", 60.0, slow(0.02, 3e-3, 0.01, 1.0), (7.8, 1.29)),
        plain("C2 NVML 100 ms 1 % 120 s", 120.0, slow(0.1, 8e-3, 0.01, 1.0), (14.0, 2.14)),
        plain("C3 NVML 100 ms duty 25 120 s", 120.0, slow(0.1, 8e-3, 0.01, 0.25), (10.6, 1.85)),
        plain("C4 NVML 100 ms 5 % 120 s", 120.0, slow(0.1, 8e-3, 0.05, 1.0), (14.2, 2.10)),
        plain("D1 lag 1.7 ms drift 20 ppm", 40.0, Sensor { lag: 1.7e-3, drift: 20e-6, ..ideal }, (3.6, 0.35)),
        plain("D2 low-pass 7 ms", 10.0, Sensor { low_pass: 7e-3, ..ideal }, (9.3, 1.12)),
        around(
            Surroundings { warming: Some((0.08, 5.0)), ..none },
            plain("D3 thermal drift 8 %", 10.0, ideal, (4.6, 0.54)),
        ),
        around(
            Surroundings { bursts: Some((3.0, 0.05, 40.0)), ..none },
            plain("D4 other process bursts", 10.0, ideal, (6.5, 2.31)),
        ),
        scheduled(lanes.clone(), plain("E1 4 lanes 4 ms 1 %", 10.0, ideal, (5.9, 0.54))),
        around(
            Surroundings { cap: Some(400.0), ..none },
            scheduled(lanes, plain("E2 4 lanes, saturating", 10.0, ideal, (7.2, 0.50))),
        ),
        scheduled(locked.clone(), plain("F1 phase lock", 10.0, ideal, (11.6, 1.59))),
        scheduled(
            locked,
            plain("F2 phase lock, dither 25 %", 10.0, Sensor { dither: 0.25, ..ideal }, (6.4, 1.35)),
        ),
    ]
}

/// A scenario drawn at random: short runs and long readings, noise, locked phases, drifting clocks, lags, other processes.
pub fn random(seed: u64) -> Scenario {
    let mut random = Random::new(seed ^ 0x5eed);
    let period = random.choice(&[1e-3, 4e-3, 4e-3, 0.01, 0.02, 0.1, 1.0]);
    let layers = random.choice(&[1, 2, 3, 4]);
    let chance = |random: &mut Random, of: f64| random.uniform() < of;
    let seconds = (period * random.between(200.0, 1500.0)).clamp(2.0, 30.0);
    let mut schedule = Schedule { seconds, layers, scale: random.between(0.5, 8.0), ..Schedule::default() };
    schedule.lanes = random.choice(&[1, 1, 2, 4]);
    if chance(&mut random, 0.2) {
        schedule.locked = Some(random.choice(&[0.012, 0.02, 0.044]) * f64::from(layers as u32));
        schedule.jitter = (0.005, 0.005);
        schedule.scale = 1.0;
    }
    let mut surroundings = Surroundings { execution_spread: 0.02, ..Surroundings::default() };
    if chance(&mut random, 0.2) {
        surroundings.bursts =
            Some((random.between(0.5, 5.0), random.between(0.01, 0.3), random.between(5.0, 80.0)));
    }
    if chance(&mut random, 0.2) {
        surroundings.warming = Some((random.between(0.0, 0.1), random.between(1.0, 10.0)));
    }
    if chance(&mut random, 0.2) {
        surroundings.cap = Some(random.between(250.0, 600.0));
    }
    let mut sensor = Sensor { period, noise: random.choice(&[0.005, 0.01, 0.05]), ..Sensor::default() };
    if chance(&mut random, 0.3) {
        sensor.lag = random.between(-0.4, 1.4) * period.min(0.1);
    }
    if chance(&mut random, 0.2) {
        sensor.drift = random.between(-50e-6, 50e-6);
    }
    if chance(&mut random, 0.2) {
        sensor.dither = random.between(0.0, 0.5);
    }
    match random.choice(&[0, 0, 0, 1, 2, 3]) {
        1 if period < 0.2 => sensor.low_pass = random.between(0.3, 3.0) * period,
        2 => sensor.duty = random.choice(&[0.25, 0.5]),
        3 if period < 0.02 => sensor.ticks = Some(Ticks::Polled),
        _ => {}
    }
    if chance(&mut random, 0.2) {
        sensor.dropped = random.between(0.0, 0.2);
    }
    Scenario { name: "random", schedule, surroundings, sensor, reference: (0.0, 0.0) }
}
