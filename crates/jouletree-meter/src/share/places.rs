//! On which sockets a tree runs: an approximation, needed only where there are several.
//!
//! A thread's time between two looks is counted for the socket of the CPU on which it was last. Threads that moved
//! meanwhile are counted wrongly for that one look; threads of a training stay on their socket mostly. When no thread's
//! ticks moved, the weights of the look before hold.

use std::collections::BTreeMap;

use jouletree_host::ProcessLine;

use super::machine::Machine;
use super::tree::Tree;

/// Threads that are looked at in one go; of more, each look takes the next.
const AT_ONCE: usize = 256;

/// Where a tree runs.
#[derive(Debug, Default)]
pub(super) struct Places {
    weights: Vec<f64>,
    fresh: Vec<f64>,
    last: BTreeMap<u32, (u64, u64)>,
    looks: usize,
}

impl Places {
    /// A weight for each socket, all zero when nothing is known.
    pub(super) fn weights(&self) -> &[f64] {
        &self.weights
    }

    pub(super) fn look(&mut self, tree: &Tree, machine: &Machine) {
        let sockets = machine.sockets().len();
        self.weights.resize(sockets, 0.0);
        if sockets < 2 {
            self.weights.fill(1.0);
            return;
        }
        self.fresh.clear();
        self.fresh.resize(sockets, 0.0);
        let every = tree.threads().div_ceil(AT_ONCE).max(1);
        self.looks += 1;
        let threads =
            tree.members.values().flat_map(|member| member.threads.iter().map(move |tid| (member, *tid)));
        let mut seen = 0;
        for (member, thread) in threads.skip(self.looks % every).step_by(every) {
            let mut buffer = [0; ProcessLine::ROOM];
            let file = member.tasks.file(thread, "stat");
            let line = file.and_then(|file| file.read(&mut buffer).map(ProcessLine::parse)).ok().flatten();
            let Some(line) = line else { continue };
            seen += 1;
            let earlier = self.last.insert(thread, (line.began, line.run));
            let ran = match earlier {
                Some((began, run)) if began == line.began => line.run.saturating_sub(run),
                _ => line.run,
            };
            let place = line.cpu.and_then(|cpu| machine.socket_of(cpu));
            if let Some(weight) = place.and_then(|place| self.fresh.get_mut(place)) {
                *weight += ran as f64;
            }
        }
        if self.fresh.iter().any(|weight| *weight > 0.0) {
            std::mem::swap(&mut self.weights, &mut self.fresh);
        }
        // Threads that have ended are forgotten now and then.
        if self.last.len() > 4 * AT_ONCE.max(seen * every) {
            self.last.clear();
        }
    }
}
