//! Networks that were measured as a whole, and their energy as the sum over their layers.

use std::path::Path;

use jouletree_model::{Joules, Warning};

use super::table::{LAYERWISE, Rows, energy, whole};
use super::{AdditiveModel, Layer, PublishedModel, TableError};
use crate::operators::Operator;
use crate::operators::builtin::{Choice, builtin};

/// A network that was measured as a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredNetwork {
    /// Its table.
    pub table: &'static str,
    /// Its name.
    pub name: String,
    /// Samples of one pass.
    pub batch: u64,
    /// Its operators at that batch.
    pub operators: Vec<Operator>,
    /// The energy of one pass.
    pub energy: Joules,
}

/// The energy of a network as the sum over its operators.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkPrediction {
    /// The sum of the operators' energies.
    pub energy: Joules,
    /// The sum of the lower ends of their intervals.
    pub low: Joules,
    /// The sum of the upper ends of their intervals.
    pub high: Joules,
    /// Operators that were never measured and count nothing, and those outside of what was measured.
    pub warnings: Vec<Warning>,
}

/// Networks as a whole, from `architectures_layerwise` and `architectures_whole`. A network that is not built in is
/// left out, with a warning.
pub fn read_networks(folder: &Path, warnings: &mut Vec<Warning>) -> Result<Vec<MeasuredNetwork>, TableError> {
    let mut networks = Vec::new();
    for stem in [LAYERWISE, "architectures_whole"] {
        let Some(rows) = Rows::find(folder, stem)? else { continue };
        let [name, batch, index, taken] =
            ["architecture", "batch_size", "layer_idx", "cpu_energy"].map(|column| rows.column(column));
        let (name, batch, index, taken) = (name?, batch?, index?, taken?);
        for (number, record) in rows.records.iter().enumerate() {
            let text = |column: usize| record.get(column).unwrap_or_default();
            // Other rows are single modules of the network.
            if whole(text(index)) != Some(0) {
                continue;
            }
            let mut skip = |why: String| {
                let warning = Warning::new(rows.path.clone(), format!("{why}; the row is left out"));
                warnings.push(warning.at(format!("row {}", number + 1)));
            };
            let (Some(batch), Some(energy)) = (whole(text(batch)), energy(text(taken))) else {
                skip("`batch_size` or `cpu_energy` is not a positive number".to_owned());
                continue;
            };
            match builtin(text(name), Choice { batch: Some(batch), ..Choice::default() }) {
                Ok(operators) => {
                    let name = text(name).to_owned();
                    networks.push(MeasuredNetwork { table: stem, name, batch, operators, energy });
                }
                Err(error) => skip(error.to_string()),
            }
        }
    }
    Ok(networks)
}

impl AdditiveModel {
    /// The energy of a network: the sum over its operators.
    pub fn predict_network(&self, name: &str, operators: &[Operator]) -> NetworkPrediction {
        let zero = Joules::ZERO;
        let mut sum = NetworkPrediction { energy: zero, low: zero, high: zero, warnings: Vec::new() };
        for operator in operators {
            let at = |message: String| Warning::new(name, message).at(operator.name());
            let Some(prediction) = self.predict(operator) else {
                sum.warnings.push(at("no such operator was measured; it counts as nothing".to_owned()));
                continue;
            };
            sum.energy += prediction.energy;
            sum.low += prediction.low;
            sum.high += prediction.high;
            sum.warnings.extend(prediction.outside.into_iter().map(|what| at(format!("outside: {what}"))));
        }
        sum
    }
}

impl PublishedModel {
    /// The energy of a network the published way: every layer brings its intercept, and what was never measured counts
    /// nothing.
    pub fn predict_network(&self, operators: &[Operator]) -> Joules {
        operators.iter().filter_map(|operator| self.predict(&Layer::of(operator.shape())?)).sum()
    }
}
