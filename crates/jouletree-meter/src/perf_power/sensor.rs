//! A counter of the `power` unit, or the sum of those of several dies.

use std::io;

use jouletree_model::sampling::SensorInfo;
use perf_event::events::Dynamic;
use perf_event::{Builder, Counter, ReadFormat};
use rustix::io::Errno;

use super::pmu::{EnergyEvent, PowerPmu};
use super::trouble;
use crate::{ReadError, Sensor, Unusable};

/// One counter, read by one system call for each of its parts.
pub(super) struct PerfPower {
    info: SensorInfo,
    event: Dynamic,
    /// What one count is.
    microjoules: f64,
    parts: Vec<(usize, Counter)>,
}

impl PerfPower {
    pub fn open(
        info: SensorInfo,
        pmu: &PowerPmu,
        event: &EnergyEvent,
        cpus: &[usize],
    ) -> Result<PerfPower, Unusable> {
        let joules = event.joules.ok_or_else(|| trouble::no_scale(&pmu.folder, &event.name))?;
        let described = || {
            let folder = std::path::absolute(&pmu.folder)?;
            let mut builder = Dynamic::builder(folder)?;
            builder.event(&event.name)?.build().map_err(io::Error::other)
        };
        let event = described().map_err(|error| trouble::not_described(&pmu.folder, &event.name, &error))?;
        let parts = opened(event, cpus.iter().copied()).map_err(|error| trouble::cannot_open(&error))?;
        Ok(PerfPower { info, event, microjoules: joules * 1e6, parts })
    }

    /// A unit that went away may be back, with counters that begin anew. This reading is lost all the same: what was
    /// used meanwhile is unknown.
    #[cold]
    fn lost(&mut self, why: &io::Error) -> ReadError {
        let cpus: Vec<usize> = self.parts.iter().map(|(cpu, _)| *cpu).collect();
        if let Ok(parts) = opened(self.event, cpus.into_iter()) {
            self.parts = parts;
        }
        ReadError::Gone(why.to_string())
    }
}

fn opened(event: Dynamic, cpus: impl Iterator<Item = usize>) -> io::Result<Vec<(usize, Counter)>> {
    cpus.map(|cpu| {
        let mut builder = Builder::new(event);
        builder.any_pid().one_cpu(cpu).enabled(true).read_format(ReadFormat::empty());
        // The unit knows no difference between them and refuses who asks for one.
        builder.exclude_kernel(false).exclude_hv(false);
        Ok((cpu, builder.build()?))
    })
    .collect()
}

/// The unit was taken away, or its CPU.
fn is_gone(error: &io::Error) -> bool {
    let gone = [Errno::NODEV, Errno::NXIO, Errno::SRCH].map(|error| Some(error.raw_os_error()));
    error.kind() == io::ErrorKind::UnexpectedEof || gone.contains(&error.raw_os_error())
}

impl Sensor for PerfPower {
    fn info(&self) -> &SensorInfo {
        &self.info
    }

    fn read(&mut self) -> Result<u64, ReadError> {
        let mut count = 0_u64;
        for (_, part) in &mut self.parts {
            match part.read() {
                Ok(more) => count = count.saturating_add(more),
                Err(error) if is_gone(&error) => return Err(self.lost(&error)),
                Err(error) => return Err(error.into()),
            }
        }
        Ok((count as f64 * self.microjoules) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_is_told_from_what_fails() {
        let raw = |error: Errno| io::Error::from_raw_os_error(error.raw_os_error());
        for (error, gone) in [
            (raw(Errno::NODEV), true),
            (raw(Errno::NXIO), true),
            (io::ErrorKind::UnexpectedEof.into(), true),
            (raw(Errno::IO), false),
            (raw(Errno::ACCESS), false),
        ] {
            assert_eq!(is_gone(&error), gone, "{error}");
        }
    }
}
