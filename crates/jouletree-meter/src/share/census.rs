//! All processes of a machine and the CPU time of each, one pass over them at a time: for live views, not for shares of a
//! tree, which [`ShareMeter`](super::ShareMeter) knows better.
//!
//! Times are the kernel's ticks. A process that ended between two passes is in none of them: its time is the others', as
//! is that of interrupts. The monitor itself is never listed. On machines with several sockets a process is counted for
//! the one on which it was last.

use std::collections::BTreeMap;

use jouletree_host::{Now, ProcessLine, Roots};
use jouletree_model::Nanos;
use jouletree_model::sampling::{Mono, ShareSample};

use super::kept::NumberedDirectory;
use super::machine::{Machine, SocketTicks};
use super::tree::{monitor_in, tick_of_the_system};
use crate::ReadError;

/// The longest command that is kept.
const LONGEST_COMMAND: usize = 256;

/// A process between two passes.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// Its number.
    pub pid: u32,
    /// The number of its parent.
    pub parent: u32,
    /// When it began, in ticks since the machine did: distinguishes it from another process with its number.
    pub began: u64,
    /// Its command with arguments, or the name in brackets that the kernel gives it.
    pub command: String,
    /// The CPU time that it used since the pass before.
    pub ran: Nanos,
    /// Its threads.
    pub threads: u32,
    /// The socket on which it was last.
    pub socket: u32,
}

/// What a pass found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProcScan {
    /// When the pass before was.
    pub from: Mono,
    /// When this one was.
    pub at: Mono,
    /// Every process but the monitor, by number.
    pub processes: Vec<Listed>,
    /// For each socket, the share of the listed processes together as `ours`.
    pub shares: Vec<ShareSample>,
}

/// Lists the processes of a machine.
#[derive(Debug)]
pub struct Census {
    everyone: NumberedDirectory,
    machine: Machine,
    monitor: u32,
    tick: u64,
    last: Option<Mono>,
    own: u64,
    known: BTreeMap<u32, Known>,
    numbers: Vec<u32>,
    text: Vec<u8>,
}

/// What is kept of a process from one pass to the next.
#[derive(Debug, Clone, PartialEq)]
struct Known {
    began: u64,
    ran: u64,
    name: Vec<u8>,
    command: String,
}

impl Census {
    /// Begins; the first pass is the base of the next.
    pub fn open(roots: &Roots) -> Result<Census, ReadError> {
        let mut census = Census {
            everyone: NumberedDirectory::open(&roots.proc).map_err(std::io::Error::from)?,
            machine: Machine::open(roots)?,
            monitor: monitor_in(roots),
            tick: tick_of_the_system(),
            last: None,
            own: 0,
            known: BTreeMap::new(),
            numbers: Vec::new(),
            text: vec![0; 4096],
        };
        census.pass()?;
        Ok(census)
    }

    /// What happened since the pass before.
    pub fn pass(&mut self) -> Result<ProcScan, ReadError> {
        let at = Mono::now();
        let from = self.last.replace(at);
        self.machine.look()?;
        self.numbers.clear();
        self.everyone.numbers(&mut self.numbers).map_err(std::io::Error::from)?;
        self.numbers.sort_unstable();
        let numbers = std::mem::take(&mut self.numbers);
        let mut known = BTreeMap::new();
        let mut processes = Vec::with_capacity(numbers.len());
        let own_before = self.own;
        for pid in &numbers {
            let Some((line, name)) = self.line(*pid) else { continue };
            if *pid == self.monitor {
                self.own = line.run;
                continue;
            }
            // One that is new has run for no longer than since the pass before.
            let before = self.known.remove(pid).filter(|before| before.began == line.began);
            let ran = line.run.saturating_sub(before.as_ref().map_or(0, |before| before.ran));
            let command = match before {
                Some(Known { command, name: same, .. }) if same == name => command,
                _ => self.command(*pid, &name),
            };
            let place = line.cpu.and_then(|cpu| self.machine.socket_of(cpu)).unwrap_or(0);
            processes.push(Listed {
                pid: *pid,
                parent: line.parent,
                began: line.began,
                command: command.clone(),
                ran: self.nanos(ran),
                threads: line.threads,
                socket: self.machine.sockets().get(place).copied().unwrap_or(0),
            });
            known.insert(*pid, Known { began: line.began, ran: line.run, name, command });
        }
        (self.known, self.numbers) = (known, numbers);
        let Some(from) = from else { return Ok(ProcScan::default()) };
        let own = self.nanos(self.own.saturating_sub(own_before));
        let sockets = self.machine.sockets().iter().zip(self.machine.since());
        let shares = sockets.filter_map(|(socket, since)| {
            let listed = processes.iter().filter(|process| process.socket == *socket);
            let ran: f64 = listed.map(|process| process.ran.0 as f64).sum();
            // The monitor is counted on the first socket: where it ran does not matter.
            let own = if *socket == self.machine.sockets().first().copied()? { own.0 as f64 } else { 0.0 };
            share(since, ran / self.tick as f64, own / self.tick as f64).map(|[ours, others, idle, own]| {
                ShareSample { from, at, socket: *socket, ours, others, idle, own }
            })
        });
        Ok(ProcScan { from, at, shares: shares.collect(), processes })
    }

    fn nanos(&self, ticks: u64) -> Nanos {
        Nanos(i64::try_from(ticks.saturating_mul(self.tick)).unwrap_or(i64::MAX))
    }

    fn line(&self, pid: u32) -> Option<(ProcessLine, Vec<u8>)> {
        let mut buffer = [0; ProcessLine::ROOM];
        let file = self.everyone.file(pid, "stat").ok()?;
        let text = file.read(&mut buffer).ok()?;
        let line = ProcessLine::parse(text).filter(|line| !line.is_zombie)?;
        let open = text.iter().position(|byte| *byte == b'(')?;
        let close = text.iter().rposition(|byte| *byte == b')')?;
        Some((line, text.get(open + 1..close)?.to_vec()))
    }

    fn command(&mut self, pid: u32, name: &[u8]) -> String {
        let file = self.everyone.file(pid, "cmdline");
        let text = file.and_then(|file| file.read(&mut self.text).map(<[u8]>::to_vec)).unwrap_or_default();
        let text = text.strip_suffix(b"\0").unwrap_or(&text);
        match text {
            [] => format!("[{}]", printable(name)),
            text => printable(text),
        }
    }
}

/// Who used a socket's capacity, of which `ran` and `own` ticks are known: ours, others', idle, and the monitor's part of
/// the others'.
fn share(since: &SocketTicks, ran: f64, own: f64) -> Option<[f64; 4]> {
    let busy = since.ticks.busy as f64;
    let all = busy + since.ticks.idle as f64;
    if all <= 0.0 {
        return None;
    }
    // Ticks of processes and of CPUs are not read at one instant: what does not fit is cut.
    let ours = ran.min(busy);
    let others = busy - ours;
    Some([ours / all, others / all, since.ticks.idle as f64 / all, own.min(others) / all])
}

/// A command as one line that does nothing to a terminal.
fn printable(text: &[u8]) -> String {
    let shown = String::from_utf8_lossy(text);
    shown.chars().take(LONGEST_COMMAND).map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

#[cfg(test)]
#[path = "census_tests.rs"]
mod tests;
