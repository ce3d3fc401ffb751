//! Reading a sensor or a share allocates nothing: it happens a thousand times a second, beside the program that is metered.

#![allow(clippy::unwrap_used, clippy::panic)]
#![allow(unsafe_code, reason = "an allocator can only be written so; it counts and passes everything on")]

use test_support::powercap as common;

use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jouletree_host::{Now, Roots};
use jouletree_meter::sampler::{Options, Sampler};
use jouletree_meter::share::{ShareMeter, Source};
use jouletree_meter::{ReadError, Sensor};
use jouletree_model::Nanos;
use jouletree_model::sampling::{Mono, SensorInfo};
use jouletree_series::Counter;

use common::machine;
use fake_powercap::Layout;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: Memory) -> *mut u8 {
        // A thread that is ending no longer has a count.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are the system's.
        unsafe { System.alloc(memory) }
    }
    unsafe fn dealloc(&self, place: *mut u8, memory: Memory) {
        // SAFETY: the caller's promises are the system's.
        unsafe { System.dealloc(place, memory) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_reading_allocates_nothing() {
    for layout in [Layout::OneSocket, Layout::Dies] {
        let machine = machine(layout, "");
        let mut sensor = machine.sensor("cpu:0", None);
        let mut counter = Counter::new(sensor.info());
        let before = ALLOCATIONS.get();
        for _ in 0..1000 {
            let reading = sensor.read();
            if let Ok(count) = reading {
                counter.take(Mono::now(), count);
            }
        }
        assert_eq!(ALLOCATIONS.get() - before, 0, "{layout:?}");
    }
}

/// A sensor that notes how often the thread that reads it has allocated by then.
struct Spy {
    sensor: Box<dyn Sensor>,
    allocations: Arc<AtomicU64>,
}

impl Sensor for Spy {
    fn info(&self) -> &SensorInfo {
        self.sensor.info()
    }
    fn read(&mut self) -> Result<u64, ReadError> {
        self.allocations.store(ALLOCATIONS.get(), Ordering::Relaxed);
        self.sensor.read()
    }
}

/// A thousand samples and more, with the incident of a counter that does not change and with a look at all clocks.
#[test]
fn the_sampler_allocates_nothing() {
    let machine = machine(Layout::TwoSockets, "");
    let mut sensors: Vec<Box<dyn Sensor>> =
        machine.discover().into_iter().filter_map(|found| found.sensor.ok()).collect();
    let allocations = Arc::new(AtomicU64::new(0));
    // The last of a wake sees the allocations of all before it.
    let spied = Spy { sensor: sensors.remove(0), allocations: allocations.clone() };
    sensors.push(Box::new(spied));
    let mut sampler =
        Sampler::start(sensors, Options { period: Options::SHORTEST, ..Options::default() }).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
    let before = allocations.load(Ordering::Relaxed);
    let wakes = sampler.stats().wakes;
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert!(sampler.stats().wakes > wakes + 100);
    assert_eq!(allocations.load(Ordering::Relaxed), before);
    sampler.stop();
}

#[test]
fn a_share_allocates_only_when_the_tree_changes() {
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    for source in Source::ALL {
        let roots = Roots::default();
        let mut meter = ShareMeter::start_with(&roots, child.id(), Nanos(20_000_000), &[source]).unwrap();
        let begun = Mono::now();
        // Time is played faster than it passes: only some windows see the machine's ticks move.
        let mut poll = |window: i64| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            meter.poll(Mono(begun.0 + window * 20_000_000)).map(<[_]>::len)
        };
        (0..20).for_each(|window| drop(poll(window)));
        let before = ALLOCATIONS.get();
        let samples: usize = (20..120).map(|window| poll(window).unwrap_or(0)).sum();
        assert_eq!(ALLOCATIONS.get() - before, 0, "{source}");
        assert!(samples > 0, "{source}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}
