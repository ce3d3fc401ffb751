//! A predicted model: the energy of every node, with what it rests on.

use jouletree_model::{Joules, Pass, PredictionInterval, Warning};
use serde::Serialize;

use super::sketch::Sketch;
use crate::irene::{Basis, Level, Tree, TreePrediction};
use crate::tradeoff::{MILLION, Tariff};

/// A model predicted for one call of it in one pass.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Predicted {
    /// The model.
    pub model: String,
    /// Samples of a call.
    pub batch: u64,
    /// Tokens of a sample.
    pub sequence: u64,
    /// The pass.
    pub pass: Pass,
    /// All nodes, parents first, siblings in the order in which they run.
    pub nodes: Vec<PredictedNode>,
    /// What was odd and what was done instead.
    pub warnings: Vec<Warning>,
}

/// One node of a predicted model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PredictedNode {
    /// Its path; empty for the model.
    pub path: String,
    /// Its class, or what it computes.
    pub kind: String,
    /// Its level.
    pub level: Level,
    /// How many nodes are above it.
    pub depth: usize,
    /// Its energy: that of its children and its glue.
    #[serde(rename = "energy_j")]
    pub energy: Joules,
    /// Where the energy of nine in ten such nodes is; `None` when too little was measured for an interval.
    #[serde(rename = "interval_j")]
    pub interval: Option<PredictionInterval>,
    /// Its share of the whole.
    pub share: f64,
    /// What no child takes.
    #[serde(rename = "glue_j")]
    pub glue: Joules,
    /// What the prediction rests on.
    pub basis: Basis,
    /// Millions of operations.
    pub megaflops: f64,
    /// MiB moved.
    pub mebibytes: f64,
    /// Parameters, those of what is inside included.
    pub parameters: f64,
    /// Whether it is larger or smaller than anything of its kind that was measured.
    pub is_outside: bool,
}

/// The cost of a million queries.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PerMillion {
    /// Its energy.
    pub kwh: f64,
    /// The ends of its interval.
    pub kwh_interval: Option<[f64; 2]>,
    /// What it costs, where a tariff was given.
    pub cost: Option<f64>,
}

impl Predicted {
    pub(super) fn new(sketch: &Sketch, tree: Tree, pass: Pass, prediction: TreePrediction) -> Predicted {
        let total = prediction.nodes.last().map_or(Joules::ZERO, |root| root.energy);
        let mut depths = vec![0_usize; tree.nodes.len()];
        // Parents follow their children; from the end, each knows its depth when its children ask.
        for place in (0..tree.nodes.len()).rev() {
            depths[place] = tree.nodes[place].parent.map_or(0, |parent| depths[parent] + 1);
        }
        let mut nodes = Vec::with_capacity(tree.nodes.len());
        let mut waiting = vec![tree.nodes.len().saturating_sub(1)];
        while let Some(place) = waiting.pop() {
            let (Some(node), Some(predicted)) = (tree.nodes.get(place), prediction.nodes.get(place)) else {
                break;
            };
            waiting.extend(node.children.iter().rev());
            nodes.push(PredictedNode {
                path: node.scope.clone(),
                kind: node.kind.clone(),
                level: node.level,
                depth: depths[place],
                energy: predicted.energy,
                interval: predicted.interval,
                share: if total.0 > 0.0 { predicted.energy.0 / total.0 } else { 0.0 },
                glue: predicted.glue,
                basis: predicted.basis,
                megaflops: node.specs.megaflops,
                mebibytes: node.specs.mebibytes,
                parameters: node.specs.parameters,
                is_outside: predicted.is_outside,
            });
        }
        let mut warnings = sketch.warnings.clone();
        warnings.extend(prediction.warnings);
        let outside = nodes.iter().filter(|node| node.is_outside).count();
        if outside > 0 {
            let message = format!(
                "{outside} primitives are larger or smaller than any of their kind that was measured; calibrate a size \
                 like this to be sure"
            );
            warnings.push(Warning::new(sketch.name.as_str(), message));
        }
        Predicted {
            model: sketch.name.clone(),
            batch: sketch.batch,
            sequence: sketch.sequence,
            pass,
            nodes,
            warnings,
        }
    }

    /// The energy of the whole, and its interval.
    pub fn total(&self) -> (Joules, Option<PredictionInterval>) {
        self.nodes.first().map_or((Joules::ZERO, None), |root| (root.energy, root.interval))
    }

    /// What a million samples take, each a query.
    pub fn per_million(&self, tariff: Option<Tariff>) -> PerMillion {
        let (energy, interval) = self.total();
        let million = |energy: Joules| Joules(energy.0 / self.batch.max(1) as f64 * MILLION);
        let kwh = |energy: Joules| million(energy).kilowatt_hours().0;
        PerMillion {
            kwh: kwh(energy),
            kwh_interval: interval.map(|interval| [kwh(interval.low), kwh(interval.high)]),
            cost: tariff.map(|tariff| tariff.cost(million(energy))),
        }
    }
}

/// The whole of a prediction.
#[derive(Debug, Clone, Copy)]
pub struct Total {
    /// What all passes and the optimiser take.
    pub energy: Joules,
    /// Within which that is; unknown with an optimiser.
    pub interval: Option<PredictionInterval>,
}

impl Total {
    /// What all passes and the optimiser take.
    pub fn of(passes: &[Predicted], optimizer: Option<Joules>) -> Total {
        let totals: Vec<(Joules, Option<PredictionInterval>)> = passes.iter().map(Predicted::total).collect();
        let energy = totals.iter().map(|(energy, _)| *energy).sum::<Joules>() + optimizer.unwrap_or(Joules::ZERO);
        // What the optimiser's figure may be off by is not known.
        let intervals: Option<Vec<PredictionInterval>> = totals.iter().map(|(_, interval)| *interval).collect();
        let interval = intervals.filter(|_| optimizer.is_none());
        let interval = interval.and_then(|intervals| intervals.into_iter().reduce(PredictionInterval::together));
        Total { energy, interval }
    }
}
