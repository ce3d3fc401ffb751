//! Ticks of CPUs and of threads, as the kernel counts them.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

use jouletree_host::Roots;

use crate::wire::smaragdine as wire;

/// The machine's CPUs.
#[derive(Debug)]
pub(super) struct Cpus {
    file: File,
    /// The socket of each CPU.
    sockets: Vec<u32>,
    text: Vec<u8>,
}

impl Cpus {
    pub(super) fn open(roots: &Roots) -> io::Result<Cpus> {
        let file = File::open(roots.proc.join("stat"))?;
        let mut cpus = Cpus { file, sockets: Vec::new(), text: vec![0; 4096] };
        let most = cpus.read()?.iter().map(|reading| reading.cpu).max().unwrap_or(0);
        let socket = |cpu| {
            let path = roots.sys.join(format!("devices/system/cpu/cpu{cpu}/topology/physical_package_id"));
            fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
        };
        cpus.sockets = (0..=most).map(socket).collect();
        Ok(cpus)
    }

    /// What each CPU has done since the machine started.
    pub(super) fn read(&mut self) -> io::Result<Vec<wire::CpuReading>> {
        let mut length = self.file.read_at(&mut self.text, 0)?;
        // The lines of CPUs come first; those behind them are not needed.
        while length == self.text.len() && last_line_is_of_a_cpu(&self.text) {
            self.text.resize(self.text.len() * 2, 0);
            length = self.file.read_at(&mut self.text, 0)?;
        }
        let text = String::from_utf8_lossy(self.text.get(..length).unwrap_or_default());
        Ok(text.lines().filter_map(|line| self.reading(line)).collect())
    }

    fn reading(&self, line: &str) -> Option<wire::CpuReading> {
        let mut words = line.strip_prefix("cpu")?.split(' ');
        let cpu: u32 = words.next()?.parse().ok()?;
        let mut ticks = words.map(|word| word.parse().ok().map(ticks));
        let mut next = || ticks.next().flatten();
        Some(wire::CpuReading {
            cpu,
            user: next(),
            nice: next(),
            system: next(),
            idle: next(),
            iowait: next(),
            irq: next(),
            softirq: next(),
            steal: next(),
            guest: next(),
            guest_nice: next(),
            socket: self.sockets.get(cpu as usize).copied().unwrap_or(0),
        })
    }
}

fn last_line_is_of_a_cpu(text: &[u8]) -> bool {
    let last = text.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    last.starts_with(b"cpu") || b"cpu".starts_with(last)
}

/// The threads of a process; none when it has ended.
pub(super) fn tasks(roots: &Roots, pid: u32) -> Vec<wire::TaskReading> {
    let folder = roots.proc.join(pid.to_string()).join("task");
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let stat = |entry: io::Result<fs::DirEntry>| fs::read(entry.ok()?.path().join("stat")).ok();
    entries.filter_map(|entry| task(&stat(entry)?)).collect()
}

/// What the line of a thread says.
fn task(line: &[u8]) -> Option<wire::TaskReading> {
    let line = String::from_utf8_lossy(line);
    let (open, close) = (line.find('(')?, line.rfind(')')?);
    let name = line.get(open + 1..close)?.to_owned();
    // Counted from the state, which is field 3.
    let fields: Vec<&str> = line.get(close + 1..)?.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).and_then(|field| field.parse::<u64>().ok());
    Some(wire::TaskReading {
        task_id: line.get(..open)?.trim().parse().ok()?,
        name: Some(name),
        cpu: ticks(field(39)?),
        user: field(14).map(ticks),
        system: field(15).map(ticks),
    })
}

/// The protocol has 32 bits for ticks: more than a year.
fn ticks(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_understood() {
        let mut cpus = Cpus::open(&Roots::default()).unwrap();
        let readings = cpus.read().unwrap();
        let listed = fs::read_to_string("/proc/stat").unwrap();
        let listed = listed.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count();
        assert_eq!(readings.len(), listed);
        assert!(readings.iter().all(|reading| reading.idle.is_some() && reading.guest_nice.is_some()));
        let ours = tasks(&Roots::default(), std::process::id());
        assert!(ours.iter().any(|task| task.task_id == std::process::id()));
        assert_eq!(tasks(&Roots::default(), u32::MAX), vec![]);
    }

    #[test]
    fn a_name_may_hold_anything_and_nonsense_is_no_thread() {
        let line = "42 (a) b (c) R 7 4242 4242 0 -1 4194304 1 2 3 4 100 20 30 4 20 0 9 0 1234567 8 9 \
                    18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 5 0 0 0 0 0 0\n";
        let reading = task(line.as_bytes()).unwrap();
        assert_eq!((reading.task_id, reading.name.as_deref(), reading.cpu), (42, Some("a) b (c"), 5));
        assert_eq!((reading.user, reading.system), (Some(100), Some(20)));
        for text in ["", ")(", "1 (", "1 (x)", "1 (x) R 2", &line[..60]] {
            assert_eq!(task(text.as_bytes()), None, "{text:?}");
        }
    }
}
