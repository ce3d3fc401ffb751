//! One run as trackers see it: the energy of processors, GPUs and memory, on one machine, at one place.

use jouletree_model::{Joules, Kind, Nanos};

use crate::{Context, Impact};

/// The energy of one class of devices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassEnergy {
    /// What they used.
    pub energy: Joules,
    /// It is not less.
    pub low: Joules,
    /// It is not more.
    pub high: Joules,
    /// How it came to be.
    pub kind: Kind,
}

/// The energy of a run by classes of devices; none where nothing metered them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Parts {
    /// Processors; of a machine with one meter for all, the machine.
    pub cpu: Option<ClassEnergy>,
    /// GPUs.
    pub gpu: Option<ClassEnergy>,
    /// Memory.
    pub ram: Option<ClassEnergy>,
}

impl Parts {
    /// Those that are there.
    pub fn all(&self) -> impl Iterator<Item = ClassEnergy> {
        [self.cpu, self.gpu, self.ram].into_iter().flatten()
    }

    /// All of them together.
    pub fn energy(&self) -> Joules {
        self.all().map(|part| part.energy).fold(Joules::ZERO, |sum, energy| sum + energy)
    }

    /// The bounds of that: sums of bounds, since errors may depend on each other.
    pub fn bounds(&self) -> (Joules, Joules) {
        let zero = (Joules::ZERO, Joules::ZERO);
        self.all().fold(zero, |(low, high), part| (low + part.low, high + part.high))
    }

    /// The kind of the sum: that of the part furthest from a meter.
    pub fn kind(&self) -> Option<Kind> {
        self.all().map(|part| part.kind).max()
    }
}

/// The machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Machine {
    /// Its system, as Python's `platform.platform()` would say.
    pub os: String,
    /// The version of Python; empty when there was none.
    pub python_version: String,
    /// Its hardware threads.
    pub threads: Option<u64>,
    /// What the system calls its processor.
    pub cpu_model: String,
    /// The models of its GPUs, one by one.
    pub gpus: Vec<String>,
    /// Its memory in GiB.
    pub memory_gib: Option<f64>,
}

impl Machine {
    /// `2 x NAME`, as CodeCarbon writes it; several models are separated by commas.
    pub fn gpu_model(&self) -> String {
        let mut models: Vec<(&str, usize)> = Vec::new();
        for gpu in &self.gpus {
            match models.iter_mut().find(|(name, _)| name == gpu) {
                Some((_, count)) => *count += 1,
                None => models.push((gpu, 1)),
            }
        }
        models.iter().map(|(name, count)| format!("{count} x {name}")).collect::<Vec<_>>().join(", ")
    }
}

/// One run.
#[derive(Debug, Clone)]
pub struct Record {
    /// Its number, which no other run has.
    pub run_id: String,
    /// The project.
    pub project: String,
    /// The experiment.
    pub experiment: String,
    /// When it began.
    pub start: Nanos,
    /// When it ended.
    pub end: Nanos,
    /// What it used.
    pub parts: Parts,
    /// `machine` or `process`.
    pub tracking_mode: String,
    /// What it ran on.
    pub machine: Machine,
    /// Where.
    pub context: Context,
    /// The version of jouletree.
    pub version: String,
}

impl Record {
    /// The impact of its energy.
    pub fn impact(&self) -> Impact {
        Impact::of(self.parts.energy(), self.context.facility, self.context.intensity.as_ref())
    }

    /// How long it lasted.
    pub fn seconds(&self) -> f64 {
        (self.end - self.start).seconds().max(0.0)
    }

    /// Kilowatt-hours of a part with what the data centre used for it; zero where nothing metered it.
    pub(crate) fn kilowatt_hours(&self, part: Option<ClassEnergy>) -> f64 {
        part.map_or(0.0, |part| part.energy.kilowatt_hours().0 * self.context.facility.pue)
    }

    /// Its country's name, or `unknown`.
    pub(crate) fn country_name(&self) -> &str {
        self.context.place.country().map_or("unknown", |country| &country.name)
    }
}
