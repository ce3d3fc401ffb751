//! Mean errors in percent of what was measured, every row counting once: over everything, by model and by kind of primitive.

use std::collections::BTreeMap;

use jouletree_model::Joules;
use serde::Serialize;

use super::tree::{Level, Tree};

/// Mean relative errors of the three levels, in percent; `NaN` where nothing was tried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LevelErrors {
    /// Primitives.
    pub ml: f64,
    /// Modules.
    pub module: f64,
    /// Whole models.
    pub model: f64,
}

/// A mean being taken.
#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1.0;
    }

    fn value(self) -> f64 {
        self.sum / self.count
    }
}

/// Errors being summed up.
#[derive(Debug, Clone, Default)]
pub(crate) struct Score {
    all: [Mean; 3],
    by_model: BTreeMap<String, [Mean; 3]>,
    by_kind: BTreeMap<String, Mean>,
}

impl Score {
    pub fn add_tree(&mut self, tree: &Tree, predicted: impl IntoIterator<Item = Joules>) {
        let of_model = self.by_model.entry(tree.model.clone()).or_default();
        for (node, predicted) in tree.nodes.iter().zip(predicted) {
            let error = 100.0 * (predicted - node.measured).0.abs() / node.measured.0;
            self.all[node.level as usize].add(error);
            of_model[node.level as usize].add(error);
            if node.level == Level::Leaf {
                match self.by_kind.get_mut(&node.kind) {
                    Some(mean) => mean.add(error),
                    None => self.by_kind.entry(node.kind.clone()).or_default().add(error),
                }
            }
        }
    }

    pub fn errors(&self) -> LevelErrors {
        levels(&self.all)
    }

    pub fn by_model(&self) -> BTreeMap<String, LevelErrors> {
        self.by_model.iter().map(|(model, means)| (model.clone(), levels(means))).collect()
    }

    pub fn by_kind(&self) -> BTreeMap<String, f64> {
        self.by_kind.iter().map(|(kind, mean)| (kind.clone(), mean.value())).collect()
    }
}

fn levels(means: &[Mean; 3]) -> LevelErrors {
    means.map(Mean::value).into()
}

impl From<[f64; 3]> for LevelErrors {
    fn from([ml, module, model]: [f64; 3]) -> LevelErrors {
        LevelErrors { ml, module, model }
    }
}
