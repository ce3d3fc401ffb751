//! How busy the machine is, from `/proc/stat`.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::ReadError;

/// The time that the CPUs have worked since the machine started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Load {
    /// The time of all CPUs together that they worked for this machine.
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

/// The file, kept open.
pub(super) struct LoadFile {
    file: File,
    buffer: Vec<u8>,
    ticks_per_second: u64,
}

impl LoadFile {
    pub(super) fn open(path: &Path) -> Result<LoadFile, ReadError> {
        let ticks_per_second = rustix::param::clock_ticks_per_second().max(1);
        Ok(LoadFile { file: File::open(path)?, buffer: vec![0; 1 << 13], ticks_per_second })
    }

    /// The load as it stands. Allocates only when CPUs were added.
    pub(super) fn read(&mut self) -> Result<Load, ReadError> {
        loop {
            let length = self.file.read_at(&mut self.buffer, 0)?;
            let text = &self.buffer[..length];
            // The lines of CPUs come first; after them there is always something else.
            let is_whole =
                length < self.buffer.len() || text.split(|byte| *byte == b'\n').any(|line| !is_cpu(line));
            if is_whole {
                return parse(text, self.ticks_per_second);
            }
            let longer = self.buffer.len() * 2;
            self.buffer.resize(longer, 0);
        }
    }
}

fn is_cpu(line: &[u8]) -> bool {
    // The last line of a full buffer may be cut anywhere.
    line.starts_with(b"cpu") || b"cpu".starts_with(line)
}

fn parse(text: &[u8], ticks_per_second: u64) -> Result<Load, ReadError> {
    let mut lines = text.split(|byte| *byte == b'\n');
    let total = lines.next().unwrap_or_default();
    let garbage = || ReadError::Garbage(String::from_utf8_lossy(&total[..total.len().min(80)]).into_owned());
    let busy_ticks = busy_ticks(total).ok_or_else(garbage)?;
    let cpus = lines.take_while(|line| line.starts_with(b"cpu")).count();
    Ok(Load { busy_ticks, ticks_per_second, cpus: u32::try_from(cpus).unwrap_or(u32::MAX).max(1) })
}

/// The sum of the times in which CPUs worked: user, nice, system, interrupts and soft interrupts.
///
/// Not idle, not waiting for a disk, and not stolen, when a CPU worked for another machine of the same host. Time of
/// guests is already in that of users.
fn busy_ticks(line: &[u8]) -> Option<u64> {
    let mut fields = line.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
    if fields.next()? != b"cpu" {
        return None;
    }
    let mut numbers = [0u64; 7];
    for (number, field) in numbers.iter_mut().zip(fields.by_ref()) {
        *number = std::str::from_utf8(field).ok()?.parse().ok()?;
    }
    let [user, nice, system, _idle, _waiting, interrupts, soft_interrupts] = numbers;
    [user, nice, system, interrupts, soft_interrupts].into_iter().try_fold(0u64, u64::checked_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_not_ours_and_guests_are_not_counted_twice() {
        //          user nice system idle iowait irq softirq steal guest guest_nice
        let text = b"cpu  100 20 30 4000 500 6 7 900 60 10\ncpu0 1 1 1 1\ncpu1 1 1 1 1\nintr 5 cpu\n";
        let load = parse(text, 100).unwrap();
        assert_eq!(load, Load { busy_ticks: 163, ticks_per_second: 100, cpus: 2 });
    }

    #[test]
    fn old_kernels_say_less_and_nonsense_is_refused() {
        assert_eq!(parse(b"cpu 1 2 3 4\n", 100).unwrap().busy_ticks, 6);
        for wrong in ["", "cpu0 1 2 3 4\n", "cpu x\n", "cpu 1 -2 3\n", "cpu 18446744073709551615 1 0 0\n"] {
            assert!(matches!(parse(wrong.as_bytes(), 100), Err(ReadError::Garbage(_))), "{wrong}");
        }
    }

    #[test]
    fn a_file_longer_than_the_buffer_is_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stat");
        let cpus: String = (0..1000).map(|i| format!("cpu{i} 1 2 3 4 5 6 7 8 9 10\n")).collect();
        std::fs::write(&path, format!("cpu  1 2 3 4 5 6 7 8 9 10\n{cpus}intr 0\n")).unwrap();
        let load = LoadFile::open(&path).unwrap().read().unwrap();
        assert_eq!((load.cpus, load.busy_ticks), (1000, 19));
    }
}
