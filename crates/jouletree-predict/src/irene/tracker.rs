//! The software baseline of the publication: what experiment-impact-tracker (Henderson et al., 2020, after Strubell et al.,
//! 2019) would say, `energy = PUE · Σ share · energy of the resource` over processor, memory and device.
//!
//! The published data hold utilisation and the device's energy, but neither the energy of the processor nor that of the
//! memory. A nominal power times the latency replaces these; so this repeats the formula and not the published
//! figures, which were made with logs that were not published.

use jouletree_model::{Joules, Watts};
use serde::Serialize;

use super::tree::{Resources, Tree};

/// The formula's constants.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SoftwareTracker {
    /// What a data centre takes for each joule of its computers.
    pub pue: f64,
    /// The power of the processor, all of it in use.
    pub processor: Watts,
    /// The power of the memory, all of it in use.
    pub memory: Watts,
}

impl Default for SoftwareTracker {
    /// The tracker's own 1.58, and what CodeCarbon takes for a processor and for memory that it does not know.
    fn default() -> SoftwareTracker {
        SoftwareTracker { pue: 1.58, processor: Watts(85.0), memory: Watts(10.0) }
    }
}

impl SoftwareTracker {
    /// The energy of a node with this utilisation. The device runs nothing else, so that all of its energy is the node's.
    pub fn energy(&self, seen: &Resources) -> Joules {
        let used = |power: Watts, percent: f64| power.0 * percent / 100.0;
        let rest = (used(self.processor, seen.cpu) + used(self.memory, seen.mem)) * seen.time.0;
        Joules(self.pue * (seen.device_energy.0 + rest))
    }

    /// The energy of every node; `None` where a node has no log.
    pub(crate) fn tree(&self, tree: &Tree) -> Option<Vec<Joules>> {
        tree.nodes.iter().map(|node| Some(self.energy(&node.resources?))).collect()
    }

    /// The formula with its constants, in words.
    pub fn formula(&self) -> String {
        format!(
            "{} × (device energy + processor use × {} W × latency + memory use × {} W × latency)",
            self.pue, self.processor.0, self.memory.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::irene::tree::Seconds;

    #[test]
    fn the_formula_by_hand() {
        let seen = Resources {
            cpu: 10.0,
            mem: 50.0,
            time: Seconds(0.5),
            device_energy: Joules(20.0),
            ..Resources::default()
        };
        let tracker = SoftwareTracker { pue: 1.5, processor: Watts(80.0), memory: Watts(10.0) };
        assert!((tracker.energy(&seen).0 - 1.5 * (20.0 + 4.0 + 2.5)).abs() < 1e-12);
        assert!(tracker.formula().starts_with("1.5 × (device energy + processor use × 80 W"));
    }
}
