//! Branches and loops: what may have been assigned after them.

use rustc_hash::FxHashMap;

use super::{Knowledge, Outcome, Overwritten};
use crate::values::Values;

impl<'a> Knowledge<'a> {
    pub fn mark(&self) -> usize {
        self.log.len()
    }

    /// Undoes everything since a mark, and returns what it was.
    pub fn undo(&mut self, mark: usize) -> Outcome<'a> {
        let mut outcome: Outcome<'a> = FxHashMap::default();
        while self.log.len() > mark {
            let Some(entry) = self.log.pop() else { break };
            if let Some(binding) = self.binding(entry.scope, entry.name) {
                let after = *binding;
                binding.now = entry.before.now;
                binding.is_assigned = entry.before.is_assigned;
                outcome.entry((entry.scope, entry.name)).or_insert((entry.before, after)).0 = entry.before;
            }
        }
        outcome
    }

    /// Goes on after branches of which any one was taken, or none unless they are exhaustive.
    pub fn merge(&mut self, outcomes: &[Outcome<'a>], is_exhaustive: bool) {
        let mut names: Vec<(usize, &'a str)> =
            outcomes.iter().flat_map(|outcome| outcome.keys().copied()).collect();
        names.sort_unstable();
        names.dedup();
        for key in names {
            let mut merged = Values::default();
            let mut before = None;
            for outcome in outcomes {
                if let Some((was, is)) = outcome.get(&key) {
                    before = Some(*was);
                    merged.join(&is.now);
                }
            }
            let is_missing = outcomes.iter().any(|outcome| !outcome.contains_key(&key));
            if let Some(before) = before.filter(|before| before.is_assigned && (is_missing || !is_exhaustive)) {
                merged = before.now.joined(&merged);
            }
            if let Some(binding) = self.binding(key.0, key.1) {
                let before = *binding;
                binding.now = merged;
                binding.is_assigned = true;
                self.log.push(Overwritten { scope: key.0, name: key.1, before });
            }
        }
    }

    /// At the head of a loop its own assignments may have happened.
    pub fn enter_loop(&mut self, scope: usize, start: u32) {
        let names = self.scopes.loops.remove(&(self.file, start)).unwrap_or_default();
        for name in &names {
            if let Some(binding) = self.binding(scope, name)
                && binding.is_assigned
            {
                let before = *binding;
                binding.now.join(&before.ever);
                self.log.push(Overwritten { scope, name, before });
            }
        }
        self.scopes.loops.insert((self.file, start), names);
    }
}
