//! The log of resources: how much CPU and memory a tree and its machine use, a few times a second.
//!
//! GPUs are asked by [`nvml::Gpu::use_now`](crate::nvml::Gpu::use_now), on a thread of their own.

use jouletree_host::{Now, Roots, number};
use jouletree_model::Nanos;
use jouletree_model::sampling::{Mono, ResourceSample};
use rustix::io::Errno;

use crate::ReadError;
use crate::share::kept::{KeptFile, NumberedDirectory};
use crate::share::{Machine, Tree};

/// The kernel walks through all memory of a process to find its part of shared memory: not more often than this,
const SHARED_PERIOD: Nanos = Nanos(1_000_000_000);
/// and so seldom that it takes no more than one part of so many of the time: a process may have very much memory.
const SHARED_PAUSE_FACTOR: i64 = 1000;

/// Keeps the log of resources.
#[derive(Debug)]
pub struct ResourceLog {
    machine: Machine,
    processes: NumberedDirectory,
    memory: Option<KeptFile>,
    page: u64,
    period: Nanos,
    last: Option<(Mono, Nanos)>,
    proportional: Option<u64>,
    /// When that is read again.
    proportional_due: Mono,
    text: Vec<u8>,
}

impl ResourceLog {
    /// The time between samples without a session that asks for another.
    pub const PERIOD: Nanos = Nanos(160_000_000);

    /// Begins a log.
    pub fn start(roots: &Roots, period: Nanos) -> Result<ResourceLog, ReadError> {
        Ok(ResourceLog {
            machine: Machine::open(roots)?,
            processes: NumberedDirectory::open(&roots.proc).map_err(std::io::Error::from)?,
            memory: KeptFile::open(roots.proc.join("meminfo")).ok(),
            page: u64::try_from(rustix::param::page_size()).unwrap_or(4096),
            period,
            last: None,
            proportional: None,
            proportional_due: Mono::default(),
            text: vec![0; 4096],
        })
    }

    /// Whether it is time for a sample.
    pub fn is_due(&self, now: Mono) -> bool {
        self.last.is_none_or(|(then, _)| now - then >= self.period.max(Nanos(1)))
    }

    /// A sample, when it is time for one: of a tree, and the CPU time that it has used so far.
    pub fn poll(&mut self, now: Mono, tree: &Tree, time: Nanos) -> Option<ResourceSample> {
        if !self.is_due(now) {
            return None;
        }
        let (then, earlier) = self.last.replace((now, time))?;
        let passed = now - then;
        let (memory_total, memory_available) = self.memory().unwrap_or_default();
        Some(ResourceSample {
            at: now,
            cpus: (time - earlier).seconds().max(0.0) / passed.seconds(),
            machine_busy: self.machine.look().ok().and_then(busy),
            resident: tree.processes().filter_map(|pid| self.resident(pid)).fold(0, u64::saturating_add),
            proportional: self.proportional(now, tree),
            memory_total,
            memory_available,
            processes: tree.processes().len(),
            threads: tree.threads(),
        })
    }

    fn memory(&mut self) -> Option<(Option<u64>, Option<u64>)> {
        let text = self.memory.as_ref()?.read_whole(&mut self.text).ok()?;
        Some((kilobytes(text, b"MemTotal:"), kilobytes(text, b"MemAvailable:")))
    }

    fn resident(&self, pid: u32) -> Option<u64> {
        let mut buffer = [0; 128];
        let text = self.processes.file(pid, "statm").ok()?.read(&mut buffer).ok()?;
        let pages: u64 = text.split(u8::is_ascii_whitespace).nth(1).and_then(number)?;
        pages.checked_mul(self.page)
    }

    fn proportional(&mut self, now: Mono, tree: &Tree) -> Option<u64> {
        if now >= self.proportional_due {
            let begun = Mono::now();
            self.proportional = self.sum_of_parts(tree);
            let took = Mono::now() - begun;
            let pause = SHARED_PERIOD.max(Nanos(took.0.saturating_mul(SHARED_PAUSE_FACTOR)));
            self.proportional_due = Mono(now.0.saturating_add(pause.0));
        }
        self.proportional
    }

    /// A process that has ended has no memory; one that may not be asked makes the sum unknown.
    fn sum_of_parts(&mut self, tree: &Tree) -> Option<u64> {
        let mut sum = None;
        for pid in tree.processes() {
            let file = self.processes.file(pid, "smaps_rollup");
            match file.and_then(|file| file.read_whole(&mut self.text).map(|text| kilobytes(text, b"Pss:"))) {
                Ok(part) => sum = part.map_or(sum, |part| Some(part.saturating_add(sum.unwrap_or(0)))),
                Err(Errno::SRCH) => {}
                Err(_) => return None,
            }
        }
        sum
    }
}

fn busy(sockets: &[crate::share::SocketTicks]) -> Option<f64> {
    let busy: u64 = sockets.iter().map(|socket| socket.ticks.busy).sum();
    let idle: u64 = sockets.iter().map(|socket| socket.ticks.idle).sum();
    (busy + idle > 0).then(|| busy as f64 / (busy + idle) as f64)
}

/// The value of a line like `MemTotal:  1024 kB`, in bytes.
fn kilobytes(text: &[u8], name: &[u8]) -> Option<u64> {
    let line = text.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(name))?;
    let value: u64 = line.split(u8::is_ascii_whitespace).find(|word| !word.is_empty()).and_then(number)?;
    value.checked_mul(1024)
}
