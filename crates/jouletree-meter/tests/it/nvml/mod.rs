//! GPUs through the real wrapper on a test double of NVIDIA's library: no number here comes from a GPU.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod energy;
mod faults;
mod usage;

use std::time::{Duration, Instant};

use fake_nvml::{Gpu, Script};
use jouletree_host::{Now, Roots};
use jouletree_meter::{Found, Sensor, Unusable, nvml};
use jouletree_model::Nanos;
use jouletree_model::sampling::Mono;
use tempfile::TempDir;

/// A machine with scripted GPUs; its script starts when it is made.
pub(crate) struct Machine {
    pub(crate) start: Mono,
    pub(crate) roots: Roots,
    // The library is needed for as long as it may be called.
    _folder: TempDir,
}

impl Machine {
    pub(crate) fn with(gpus: Vec<Gpu>) -> Machine {
        Machine::playing(Script { gpu: gpus, ..Script::default() })
    }

    pub(crate) fn playing(script: Script) -> Machine {
        let folder = tempfile::tempdir().unwrap();
        let start = Mono::now();
        let library =
            fake_nvml::install(folder.path(), &Script { start_mono_ns: Some(start.0), ..script }).unwrap();
        let roots = Roots { nvml: Some(library), ..Roots::default() };
        Machine { start, roots, _folder: folder }
    }

    /// The same machine with a library that lacks a function.
    pub(crate) fn lacking(self, function: &str) -> Machine {
        let library = self.roots.nvml.clone().unwrap();
        let mut bytes = std::fs::read(&library).unwrap();
        let places: Vec<usize> = (0..bytes.len() - function.len())
            .filter(|place| bytes[*place..].starts_with(function.as_bytes()))
            .collect();
        assert!(!places.is_empty(), "{function} is not in the library anyway");
        for place in places {
            bytes[place..place + 4].copy_from_slice(b"lack");
        }
        std::fs::write(library, bytes).unwrap();
        self
    }

    pub(crate) fn find(&self) -> Vec<Found> {
        nvml::find(&self.roots)
    }

    /// The sensor of the only GPU.
    pub(crate) fn sensor(&self) -> Box<dyn Sensor> {
        let mut found = self.find();
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0).sensor.unwrap_or_else(|unusable| panic!("{unusable:?}"))
    }

    /// Why there is no sensor.
    pub(crate) fn refusal(&self) -> Unusable {
        let mut found = self.find();
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0).sensor.err().expect("it should not be usable")
    }

    /// An instant in seconds of the script.
    pub(crate) fn seconds(&self, at: Mono) -> f64 {
        (at - self.start).seconds()
    }

    /// Waits for a second of the script.
    pub(crate) fn wait_for(&self, second: f64) {
        let left = second - self.seconds(Mono::now());
        std::thread::sleep(Duration::from_secs_f64(left.max(0.0)));
    }
}

/// Asks again and again until the answer is as wanted.
pub(crate) fn until<T>(mut ask: impl FnMut() -> T, wanted: impl Fn(&T) -> bool) -> T {
    let begin = Instant::now();
    loop {
        let answer = ask();
        if wanted(&answer) {
            return answer;
        }
        assert!(begin.elapsed() < Duration::from_secs(10), "it never came to that");
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub(crate) fn milliseconds(time: i64) -> Nanos {
    Nanos(time * 1_000_000)
}
