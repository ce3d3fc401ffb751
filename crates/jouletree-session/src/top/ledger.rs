//! The ledger of processes: to each its part of the energy, by its CPU time.
//!
//! What is handed out is charged in full: to the processes that ran, or to no process (`unlisted`) where none
//! is known to have run. What a process was charged with stays in the books after its end.

use std::collections::{BTreeMap, BTreeSet};

use jouletree_meter::share::{Listed, ProcScan};
use jouletree_model::{Joules, Watts};

/// The processes that are charged.
#[derive(Debug)]
pub struct Ledger {
    /// Only this process and its descendants; `None` charges all.
    root: Option<u32>,
    entries: BTreeMap<Who, Entry>,
    ended: Joules,
    unlisted: Joules,
}

/// A process: its number, and when it began.
type Who = (u32, u64);

/// A process that runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its number.
    pub pid: u32,
    /// Its command.
    pub command: String,
    /// Its threads.
    pub threads: u32,
    /// The CPUs that it kept busy since the pass before.
    pub cpus: f64,
    /// Its power meanwhile.
    pub power: Watts,
    /// What it was charged with since it was first seen.
    pub energy: Joules,
}

impl Ledger {
    /// An empty ledger.
    pub fn new(root: Option<u32>) -> Ledger {
        Ledger { root, entries: BTreeMap::new(), ended: Joules::ZERO, unlisted: Joules::ZERO }
    }

    /// Charges the energy of each place to the processes that ran there since the pass before.
    pub fn charge(&mut self, pass: &ProcScan, energies: &[Joules], place_of: impl Fn(&Listed) -> Option<usize>) {
        let family = self.family(pass);
        let mut times = vec![0.0; energies.len()];
        for process in &family {
            if let Some(time) = place_of(process).and_then(|place| times.get_mut(place)) {
                *time += process.ran.seconds();
            }
        }
        let unlisted = energies.iter().zip(&times).filter(|(_, time)| **time <= 0.0);
        self.unlisted += unlisted.map(|(energy, _)| *energy).sum();
        let passed = pass.at - pass.from;
        let mut before = std::mem::take(&mut self.entries);
        for process in family {
            let place = place_of(process).filter(|place| times.get(*place).is_some_and(|time| *time > 0.0));
            let charged = place
                .map_or(Joules::ZERO, |place| Joules(energies[place].0 * (process.ran.seconds() / times[place])));
            let who = (process.pid, process.began);
            let earlier = before.remove(&who).map_or(Joules::ZERO, |entry| entry.energy);
            let entry = Entry {
                pid: process.pid,
                command: process.command.clone(),
                threads: process.threads,
                cpus: process.ran.seconds() / passed.seconds().max(1e-9),
                power: charged / passed,
                energy: earlier + charged,
            };
            self.entries.insert(who, entry);
        }
        self.ended += before.into_values().map(|entry| entry.energy).sum();
    }

    /// The processes that run.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// What processes were charged with that have ended since.
    pub fn ended(&self) -> Joules {
        self.ended
    }

    /// What could be charged to none: it was used by processes that began and ended between two passes.
    pub fn unlisted(&self) -> Joules {
        self.unlisted
    }

    /// Adds what is left when no pass will come any more.
    pub fn close(&mut self, energy: Joules) {
        self.unlisted += energy;
    }

    /// The processes that are charged: a process that was once in the family stays in it, whatever becomes its parent.
    fn family<'p>(&self, pass: &'p ProcScan) -> Vec<&'p Listed> {
        let Some(root) = self.root else { return pass.processes.iter().collect() };
        let mut members: BTreeSet<u32> = pass
            .processes
            .iter()
            .filter(|process| process.pid == root || self.entries.contains_key(&(process.pid, process.began)))
            .map(|process| process.pid)
            .collect();
        loop {
            let before = members.len();
            members.extend(
                pass.processes
                    .iter()
                    .filter(|process| members.contains(&process.parent))
                    .map(|process| process.pid)
                    .collect::<Vec<_>>(),
            );
            if members.len() == before {
                break;
            }
        }
        pass.processes.iter().filter(|process| members.contains(&process.pid)).collect()
    }
}

#[cfg(test)]
mod tests {
    use jouletree_model::Nanos;
    use jouletree_model::sampling::Mono;

    use super::*;

    fn listed(pid: u32, parent: u32, ran_ms: i64) -> Listed {
        let command = format!("process {pid}");
        Listed { pid, parent, began: 7, command, ran: Nanos(ran_ms * 1_000_000), threads: 1, socket: 0 }
    }

    fn pass(second: i64, processes: Vec<Listed>) -> ProcScan {
        let at = |second: i64| Mono(second * 1_000_000_000);
        ProcScan { from: at(second - 1), at: at(second), processes, shares: Vec::new() }
    }

    fn charged(ledger: &Ledger) -> f64 {
        ledger.entries().map(|entry| entry.energy.0).sum::<f64>() + ledger.ended().0 + ledger.unlisted().0
    }

    #[test]
    fn energy_goes_to_who_ran_by_time_and_none_is_lost() {
        let mut ledger = Ledger::new(None);
        ledger.charge(
            &pass(1, vec![listed(10, 1, 750), listed(11, 1, 250), listed(12, 1, 0)]),
            &[Joules(8.0)],
            |_| Some(0),
        );
        let powers: Vec<f64> = ledger.entries().map(|entry| entry.power.0).collect();
        assert_eq!(powers, [6.0, 2.0, 0.0]);
        // One has ended, and what it was charged with stays in the books.
        ledger.charge(&pass(2, vec![listed(11, 1, 100)]), &[Joules(5.0)], |_| Some(0));
        assert_eq!((ledger.ended(), charged(&ledger)), (Joules(6.0), 13.0));
        // No process is known to have run.
        ledger.charge(&pass(3, vec![listed(11, 1, 0)]), &[Joules(1.0)], |_| Some(0));
        assert_eq!((ledger.unlisted(), charged(&ledger)), (Joules(1.0), 14.0));
        ledger.close(Joules(2.0));
        assert_eq!(charged(&ledger), 16.0);
    }

    #[test]
    fn sockets_are_charged_apart() {
        let mut ledger = Ledger::new(None);
        let processes = vec![listed(10, 1, 500), Listed { socket: 1, ..listed(11, 1, 100) }];
        ledger.charge(&pass(1, processes), &[Joules(3.0), Joules(4.0)], |process| {
            usize::try_from(process.socket).ok()
        });
        let energies: Vec<f64> = ledger.entries().map(|entry| entry.energy.0).collect();
        assert_eq!(energies, [3.0, 4.0]);
    }

    #[test]
    fn only_the_family_is_charged_and_orphans_stay_in_it() {
        let mut ledger = Ledger::new(Some(20));
        // A child may have a smaller number than its parent.
        let processes = vec![listed(5, 21, 10), listed(20, 1, 10), listed(21, 20, 10), listed(30, 1, 90)];
        ledger.charge(&pass(1, processes), &[Joules(3.0)], |_| Some(0));
        let pids = |ledger: &Ledger| ledger.entries().map(|entry| entry.pid).collect::<Vec<_>>();
        assert_eq!(pids(&ledger), [5, 20, 21]);
        // Its parents have ended: 5 belongs to 1 now. A new process with the number 21 is no relative.
        let stranger = Listed { began: 8, ..listed(21, 1, 50) };
        ledger.charge(&pass(2, vec![listed(5, 1, 10), stranger, listed(30, 1, 90)]), &[Joules(1.0)], |_| Some(0));
        assert_eq!((pids(&ledger), charged(&ledger)), (vec![5], 4.0));
    }
}
