//! What several tests of meters need.

use std::path::Path;
use std::time::Duration;

use fake_powercap::{Fake, LONGEST_TICK, Layout, Script};
use jouletree_host::Roots;
use jouletree_meter::{Found, Sensor, powercap};
use jouletree_model::sampling::Mono;
use jouletree_series::{Advance, Counter};
use tempfile::TempDir;

pub const MS: Duration = Duration::from_millis(1);

/// A tree below a folder of its own.
pub struct Machine {
    pub folder: TempDir,
    pub fake: Fake,
}

pub fn machine(layout: Layout, script: &str) -> Machine {
    let folder = tempfile::tempdir().unwrap();
    let script: Script = script.parse().unwrap();
    let fake = Fake::new(folder.path(), layout, &script).unwrap();
    Machine { folder, fake }
}

/// A fake tree for the sensors and nothing for the processes.
pub fn roots(root: &Path) -> Roots {
    Roots { sys: root.to_owned(), proc: root.join("proc"), nvml: None }
}

impl Machine {
    pub fn discover(&self) -> Vec<Found> {
        powercap::discover(&roots(self.folder.path()))
    }

    pub fn sensor(&self, device: &str, domain: Option<&str>) -> Box<dyn Sensor> {
        usable(self.discover(), device, domain)
    }

    pub fn now(&self) -> Mono {
        mono(self.fake.now())
    }
}

pub fn mono(time: Duration) -> Mono {
    Mono(i64::try_from(time.as_nanos()).unwrap())
}

pub fn usable(found: Vec<Found>, device: &str, domain: Option<&str>) -> Box<dyn Sensor> {
    let is_it = |found: &Found| {
        found.info.device.to_string() == format!("host/{device}")
            && found.info.domain.as_deref() == domain
            && found.sensor.is_ok()
    };
    found.into_iter().find(is_it).unwrap().sensor.unwrap_or_else(|why| panic!("{why:?}"))
}

/// Every sensor in words: device, domain, and how it may be used.
pub fn words(found: &[Found]) -> Vec<String> {
    let word = |found: &Found| {
        let domain = found.info.domain.as_deref().unwrap_or("whole");
        let state = found.sensor.as_ref().err().map_or("usable", |why| why.reason.as_str());
        format!("{} {domain}: {state}", found.info.device.to_string().trim_start_matches("host/"))
    };
    found.iter().map(word).collect()
}

/// How far the energy between two readings may be from the truth: a tick at either end, steps and rounding.
pub fn tick_bound(most_watts: f64) -> f64 {
    most_watts * LONGEST_TICK.as_secs_f64() + 1e-3
}

/// Plays and reads at these intervals; returns the counter and what each reading said.
pub fn play(
    machine: &mut Machine,
    sensor: &mut dyn Sensor,
    intervals: impl IntoIterator<Item = Duration>,
) -> (Counter, Vec<Advance>) {
    let mut counter = Counter::new(sensor.info());
    let mut said = vec![counter.take(machine.now(), sensor.read().unwrap())];
    for interval in intervals {
        machine.fake.advance(interval).unwrap();
        said.push(counter.take(machine.now(), sensor.read().unwrap()));
    }
    (counter, said)
}
