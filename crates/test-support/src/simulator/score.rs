//! How far an attribution is from the truth.

use std::collections::BTreeMap;

use jouletree_model::{ErrorSum, Footprint};

use super::program::Operation;
use super::scenarios::Run;

/// Standard errors on either side that make an interval of 90 %.
const NINETY: f64 = 1.645;

/// Errors in percent of all energy, and the parts of intervals of 90 % that hold.
#[derive(Debug, Clone, Copy, Default)]
pub struct Score {
    pub by_op: f64,
    pub by_layer: f64,
    pub by_type: f64,
    pub by_pass: f64,
    /// Of operations.
    pub held: f64,
    /// Of operations, each counted by its energy.
    pub held_energy: f64,
    /// Of layers, where covariances are known.
    pub held_layers: f64,
}

impl Score {
    /// The score of a footprint of a run.
    pub fn of(run: &Run, footprint: &Footprint) -> Score {
        let ops = &run.program.operations;
        let total: f64 = run.truth.iter().sum();
        let mut off: Vec<f64> = run.truth.iter().map(|truth| -truth).collect();
        let (mut held, mut held_energy) = (0.0, 0.0);
        let mut layers: BTreeMap<usize, (f64, ErrorSum)> = BTreeMap::new();
        for charged in &footprint.energies {
            let op = charged.op.index();
            off[op] += charged.energy.0;
            let error = charged.standard_error.map_or(0.0, |error| error.0);
            if off[op].abs() <= NINETY * error {
                (held, held_energy) = (held + 1.0, held_energy + run.truth[op]);
            }
            let known = footprint.errors.first().and_then(|errors| errors.of(charged.op, charged.energy));
            if let (Some(layer), Some(error)) = (ops[op].layer, known) {
                let layer = layers.entry(layer).or_default();
                layer.0 += off[op];
                layer.1.add(&error);
            }
        }
        let by = |key: &dyn Fn(&Operation) -> String| {
            let mut sums = BTreeMap::<String, f64>::new();
            for (op, off) in ops.iter().zip(&off) {
                *sums.entry(key(op)).or_default() += off;
            }
            100.0 * sums.values().map(|off| off.abs()).sum::<f64>() / total
        };
        let held_layers = layers.values().filter(|(off, error)| off.abs() <= NINETY * error.standard_error().0);
        Score {
            by_op: 100.0 * off.iter().map(|off| off.abs()).sum::<f64>() / total,
            by_layer: by(&|op| format!("{:?}", op.layer)),
            by_type: by(&|op| op.kind.to_owned()),
            by_pass: by(&|op| format!("{:?}", op.pass)),
            held: held / ops.len() as f64,
            held_energy: held_energy / total,
            held_layers: held_layers.count() as f64 / layers.len().max(1) as f64,
        }
    }

    /// The mean of several.
    pub fn mean(scores: &[Score]) -> Score {
        let mean = |of: fn(&Score) -> f64| scores.iter().map(of).sum::<f64>() / scores.len() as f64;
        Score {
            by_op: mean(|score| score.by_op),
            by_layer: mean(|score| score.by_layer),
            by_type: mean(|score| score.by_type),
            by_pass: mean(|score| score.by_pass),
            held: mean(|score| score.held),
            held_energy: mean(|score| score.held_energy),
            held_layers: mean(|score| score.held_layers),
        }
    }
}
