//! Layers and passes as rows of CSV.

use jouletree_account::{EnergyTree, Tef};
use jouletree_model::{Joules, Pass};
use jouletree_report::Whole;

/// A node of the tree as a row.
#[derive(serde::Serialize)]
pub struct LayerRow {
    path: String,
    depth: u16,
    energy_j: f64,
    own_j: f64,
    forward_j: f64,
    backward_j: f64,
    optimizer_j: f64,
    busy_s: f64,
    power_w: Option<f64>,
    count: u64,
    low_j: Option<f64>,
    high_j: Option<f64>,
    /// Columns that are there for all rows or for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    low_90_j: Option<Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high_90_j: Option<Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    standard_error_j: Option<Option<f64>>,
    run_share: f64,
    base_share: f64,
}

/// The tree as rows, parents before children, as deep as asked for.
pub fn layer_rows(tree: &EnergyTree, whole: &Whole, depth: u16) -> Vec<LayerRow> {
    fn add(node: &EnergyTree, depth: u16, deepest: u16, about: (&Whole, bool, bool), rows: &mut Vec<LayerRow>) {
        let (whole, has_errors, is_predicted) = about;
        rows.push(LayerRow {
            path: node.path.clone(),
            depth,
            energy_j: node.energy.0,
            own_j: node.own.0,
            forward_j: node.passes.get(&Pass::Forward).0,
            backward_j: node.passes.get(&Pass::Backward).0,
            optimizer_j: node.passes.get(&Pass::Optimizer).0,
            busy_s: node.busy.seconds(),
            power_w: node.power().map(|power| power.0),
            count: node.count,
            low_j: node.interval.map(|interval| interval.low.0),
            high_j: node.interval.map(|interval| interval.high.0),
            low_90_j: is_predicted.then_some(node.predicted.map(|interval| interval.low.0)),
            high_90_j: is_predicted.then_some(node.predicted.map(|interval| interval.high.0)),
            standard_error_j: has_errors.then_some(node.standard_error.map(|error| error.0)),
            run_share: whole.of_run(node.energy),
            base_share: whole.of_base(node.energy),
        });
        if depth < deepest {
            node.children.iter().for_each(|child| add(child, depth + 1, deepest, about, rows));
        }
    }
    let mut rows = Vec::new();
    add(tree, 0, depth, (whole, tree.has_errors(), tree.is_predicted()), &mut rows);
    rows
}

/// A pass as a row.
#[derive(serde::Serialize)]
pub struct PassRow {
    pass: Pass,
    energy_j: f64,
    run_share: f64,
    base_share: f64,
}

/// What each pass used.
pub fn pass_rows(tef: &Tef, whole: &Whole) -> Vec<PassRow> {
    let shares = |energy| (whole.of_run(energy), whole.of_base(energy));
    let row = |(pass, energy): (&Pass, Joules)| {
        let (run_share, base_share) = shares(energy);
        PassRow { pass: *pass, energy_j: energy.0, run_share, base_share }
    };
    tef.by_pass().iter().map(row).collect()
}
