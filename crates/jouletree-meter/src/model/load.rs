//! How busy the machine is.

use std::path::Path;

use crate::ReadError;
use crate::proc_stat::StatFile;

/// The time that the CPUs have worked since the machine started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Load {
    /// The time of all CPUs together that they worked for this machine: not idle, not waiting for a disk, not stolen.
    pub(super) busy_ticks: u64,
    pub(super) ticks_per_second: u64,
    /// How many CPUs there are now.
    pub(super) cpus: u32,
}

impl Load {
    /// The seconds that the CPUs together were busy since.
    pub(super) fn busy_since(&self, earlier: &Load) -> f64 {
        self.busy_ticks.saturating_sub(earlier.busy_ticks) as f64 / self.ticks_per_second as f64
    }
}

/// Where it is read.
pub(super) struct LoadFile {
    file: StatFile,
    ticks_per_second: u64,
}

impl LoadFile {
    pub(super) fn open(path: &Path) -> Result<LoadFile, ReadError> {
        let ticks_per_second = rustix::param::clock_ticks_per_second().max(1);
        Ok(LoadFile { file: StatFile::open(path)?, ticks_per_second })
    }

    /// The current load.
    pub(super) fn read(&mut self) -> Result<Load, ReadError> {
        let text = self.file.read()?;
        let cpus = u32::try_from(text.cpus()).unwrap_or(u32::MAX).max(1);
        Ok(Load { busy_ticks: text.all()?.busy, ticks_per_second: self.ticks_per_second, cpus })
    }
}
