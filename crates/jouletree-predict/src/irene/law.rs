//! The law of a node that was measured itself: the machine takes a multiple of what its device counts, for the losses of
//! the supply, and a constant power for everything else while the call lasts.

use jouletree_model::{Joules, Watts};
use serde::{Deserialize, Serialize};

use super::error::IreneError;
use super::tree::{Resources, Tree};
use crate::non_negative::NormalEquations;

/// `energy = gain · device energy + rest · latency`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PowerLaw {
    /// Joules at the wall per joule of the device's own count.
    pub gain: f64,
    /// The power of everything but the device.
    pub rest: Watts,
}

impl PowerLaw {
    /// The two numbers that make the relative errors of all measured nodes smallest.
    pub fn fit<'a>(trees: impl IntoIterator<Item = &'a Tree>) -> Result<PowerLaw, IreneError> {
        let mut sums = NormalEquations::new(2);
        let mut rows = 0;
        for tree in trees {
            for node in &tree.nodes {
                if let Some(seen) = node.resources.filter(|_| node.measured.0 > 0.0) {
                    sums.add(&[seen.device_energy.0, seen.time.0], node.measured.0, node.measured.0);
                    rows += 1;
                }
            }
        }
        if rows < 2 {
            let needed = "nodes with a latency and a device energy";
            return Err(IreneError::NothingToFit { what: "the law of measured nodes", needed });
        }
        let solution = sums.solve_non_negative();
        Ok(PowerLaw { gain: solution[0], rest: Watts(solution[1]) })
    }

    /// The energy of a node that was measured so.
    pub fn energy(&self, seen: &Resources) -> Joules {
        Joules(self.gain * seen.device_energy.0 + self.rest.0 * seen.time.0)
    }
}
