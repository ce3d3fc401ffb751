//! The kernel's `stat`: what its CPUs have done since the machine started, in ticks. The one reader of that file.

use std::path::Path;

use jouletree_host::number;

use crate::ReadError;
use crate::share::CpuTicks;
use crate::share::kept::KeptFile;

/// More CPUs than any machine has: a larger number is nonsense and must not cost memory.
const MOST_CPUS: usize = 1 << 16;

/// The file, kept open.
#[derive(Debug)]
pub(crate) struct StatFile {
    file: KeptFile,
    text: Vec<u8>,
}

impl StatFile {
    pub(crate) fn open(path: &Path) -> Result<StatFile, ReadError> {
        let file = KeptFile::open(path).map_err(std::io::Error::from)?;
        Ok(StatFile { file, text: vec![0; 1 << 13] })
    }

    /// What it says now. Allocates only when CPUs were added.
    pub(crate) fn read(&mut self) -> Result<StatText<'_>, ReadError> {
        Ok(StatText(self.file.read_whole(&mut self.text).map_err(std::io::Error::from)?))
    }
}

/// What the file said.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StatText<'a>(&'a [u8]);

impl<'a> StatText<'a> {
    /// The sum of all CPUs, those that have gone included.
    pub(crate) fn all(self) -> Result<CpuTicks, ReadError> {
        let line = self.lines().next().unwrap_or_default();
        line.strip_prefix(b"cpu ").and_then(ticks).ok_or_else(|| garbage(line))
    }

    /// Each CPU that is there, by its number.
    pub(crate) fn each(self) -> impl Iterator<Item = Result<(usize, CpuTicks), ReadError>> + use<'a> {
        let cpus = self.lines().take_while(|line| line.starts_with(b"cpu"));
        // The first line is the sum of the others.
        cpus.filter(|line| !line.starts_with(b"cpu ")).map(|line| one(line).ok_or_else(|| garbage(line)))
    }

    /// How many CPUs are there.
    pub(crate) fn cpus(self) -> usize {
        self.each().count()
    }

    /// There is no CPU in it: what there is instead.
    pub(crate) fn nonsense(self) -> ReadError {
        garbage(self.lines().next().unwrap_or_default())
    }

    fn lines(self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.0.split(|byte| *byte == b'\n')
    }
}

/// A line such as `cpu7 10 1 2 40 5 3 4 6 10 1`.
fn one(line: &[u8]) -> Option<(usize, CpuTicks)> {
    let rest = line.strip_prefix(b"cpu")?;
    let (index, times) = rest.split_at_checked(rest.iter().position(|byte| *byte == b' ')?)?;
    Some((number(index).filter(|index| *index < MOST_CPUS)?, ticks(times)?))
}

/// The times of a line: user, nice, system, idle, waiting for a disk, interrupts, soft interrupts, stolen. Guests come
/// after these, and their time is already in the users'. Old kernels have only the first four.
fn ticks(times: &[u8]) -> Option<CpuTicks> {
    let mut numbers = [0_u64; 8];
    let mut known = 0;
    let fields = times.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
    for (place, field) in numbers.iter_mut().zip(fields) {
        *place = number(field)?;
        known += 1;
    }
    let [user, nice, system, idle, waiting, interrupts, soft_interrupts, stolen] = numbers;
    let sum = |times: &[u64]| times.iter().try_fold(0_u64, |sum, time| sum.checked_add(*time));
    let busy = sum(&[user, nice, system, interrupts, soft_interrupts])?;
    (known >= 4).then_some(CpuTicks { busy, idle: sum(&[idle, waiting])?, stolen })
}

#[cold]
fn garbage(line: &[u8]) -> ReadError {
    ReadError::Garbage(line[..line.len().min(80)].trim_ascii().escape_ascii().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_not_busy_and_guests_are_not_counted_twice() {
        //          user nice system idle iowait irq softirq steal guest guest_nice
        let text = StatText(b"cpu  100 20 30 4000 500 6 7 900 60 10\ncpu0 1 1 1 1\ncpu3 1 2 1 1 1\nintr 5 cpu\n");
        assert_eq!(text.all().unwrap(), CpuTicks { busy: 163, idle: 4500, stolen: 900 });
        let each: Vec<_> = text.each().map(Result::unwrap).collect();
        let ticks = |busy, idle| CpuTicks { busy, idle, stolen: 0 };
        assert_eq!(each, [(0, ticks(3, 1)), (3, ticks(4, 2))]);
    }

    #[test]
    fn nonsense_is_refused() {
        for wrong in ["", "cpu0 1 2 3 4\n", "cpu x\n", "cpu 1 -2 3 4\n", "cpu 18446744073709551615 1 0 0\n"] {
            assert!(matches!(StatText(wrong.as_bytes()).all(), Err(ReadError::Garbage(_))), "{wrong}");
        }
        for wrong in ["cpu0 1 2 x 4\n", "cpu0 1 2\n", "cpu99999999 1 2 3 4\n", "cpu0\n", "cpux 1 2 3 4\n"] {
            assert!(matches!(StatText(wrong.as_bytes()).each().next(), Some(Err(_))), "{wrong}");
        }
        assert!(StatText(b"intr 1\n").each().next().is_none());
    }

    #[test]
    fn a_file_longer_than_the_buffer_is_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stat");
        let cpus: String = (0..1000).map(|i| format!("cpu{i} 1 2 3 4 5 6 7 8 9 10\n")).collect();
        std::fs::write(&path, format!("cpu  1 2 3 4 5 6 7 8 9 10\n{cpus}intr 0\n")).unwrap();
        let mut file = StatFile::open(&path).unwrap();
        let text = file.read().unwrap();
        assert_eq!((text.cpus(), text.all().unwrap().busy), (1000, 19));
    }
}
