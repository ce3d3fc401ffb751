//! Where the sampler ends: rings that are full, sensors that are gone or panic, options that cannot be.

use test_support::powercap as common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use jouletree_host::Now;
use jouletree_meter::sampler::{Options, Sampler, StartError};
use jouletree_meter::{ReadError, Sensor};
use jouletree_model::Nanos;
use jouletree_model::sampling::{Flags, Mono, SensorInfo, What};
use jouletree_series::{SeriesBuilder, Windows};

use common::machine;
use fake_powercap::Layout;
use punctual::punctually;

#[test]
fn samples_that_nobody_takes_are_counted() {
    punctually(overflows);
}

fn overflows() {
    let machine = machine(Layout::OneSocket, "");
    let options = Options { ring: 10, period: Options::SHORTEST, ..Options::default() };
    let mut sampler = Sampler::start(vec![machine.sensor("cpu:0", None)], options).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let begin = Instant::now();
    sampler.stop();
    println!("stopped within {:?}", begin.elapsed());
    assert!(begin.elapsed() < Duration::from_millis(100));
    let mut taken = 0;
    sampler.drain(|_| taken += 1);
    let stats = sampler.stats();
    assert_eq!((taken, stats.overruns), (10, stats.wakes - 10));
    assert!(sampler.anchors().wall(Mono::now()).is_some());
}

#[test]
fn what_cannot_be_sampled_is_refused() {
    let sensor = || machine(Layout::OneSocket, "").sensor("cpu:0", None);
    let with = |options| Sampler::start(vec![sensor()], options).err();
    assert!(matches!(Sampler::start(Vec::new(), Options::default()), Err(StartError::NoSensors)));
    let too_fast = Options { period: Nanos(999_999), ..Options::default() };
    assert!(matches!(with(too_fast), Some(StartError::Period(_))));
    assert!(matches!(with(Options { ring: 0, ..Options::default() }), Some(StartError::Ring { .. })));
}

struct Panicking(SensorInfo);

impl Sensor for Panicking {
    fn info(&self) -> &SensorInfo {
        &self.0
    }
    fn read(&mut self) -> Result<u64, ReadError> {
        panic!("as it should, in this test");
    }
}

#[test]
fn a_sensor_that_panics_ends_the_sampling_and_is_told() {
    let info = machine(Layout::OneSocket, "").sensor("cpu:0", None).info().clone();
    let mut sampler = Sampler::start(vec![Box::new(Panicking(info))], Options::default()).unwrap();
    let begin = Instant::now();
    while sampler.incidents().is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(10));
        sampler.drain(|_| {});
    }
    assert_eq!(sampler.incidents()[0].what, What::Ended);
}

/// A card that is lost, and how often it is asked.
struct Gone(SensorInfo, Arc<AtomicU32>);

impl Sensor for Gone {
    fn info(&self) -> &SensorInfo {
        &self.0
    }
    fn read(&mut self) -> Result<u64, ReadError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Err(ReadError::Gone("No such device".to_owned()))
    }
}

#[test]
fn what_is_gone_is_asked_once_a_second() {
    punctually(is_asked_twice);
}

fn is_asked_twice() {
    let info = machine(Layout::OneSocket, "").sensor("cpu:0", None).info().clone();
    let asked = Arc::default();
    let gone = Box::new(Gone(info, Arc::clone(&asked)));
    let mut sampler = Sampler::start(vec![gone], Options::default()).unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    sampler.stop();
    let mut samples = Vec::new();
    sampler.drain(|sample| samples.push(sample));
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    assert!(samples.len() == 2 && samples.iter().all(|sample| sample.flags.has(Flags::GAP)));
    let whats: Vec<&What> = sampler.incidents().iter().filter(|i| i.sensor.is_some()).map(|i| &i.what).collect();
    assert_eq!(whats, [&What::Lost("it is gone (No such device)".to_owned())]);
    let series = SeriesBuilder::new(&sampler.infos()[0], Nanos(4_000_000)).series(sampler.anchors()).unwrap();
    let nothing = Windows::of(&series, &sampler.infos()[0]).energy_between(Nanos(0), Nanos::MAX);
    assert_eq!((nothing.joules.0, nothing.coverage), (0.0, 0.0));
}
