//! Results as rows for programs, as JSON and CSV; `docs/json.md` documents every field.

use std::borrow::Cow;
use std::collections::BTreeSet;

use jouletree_account::{EnergyTree, Spreads, Tef, TefEntry, TypeEnergy};
use jouletree_model::{Device, DeviceEnergy, Footprint, Joules, Kind, Pass, StepEnergy};
use serde::Serialize;

use crate::{Trust, Whole};

/// A device.
#[derive(Debug, Serialize)]
pub struct DeviceRow<'a> {
    device: &'a Device,
    kind: Option<Kind>,
    measured_j: Option<f64>,
    attributed_j: Option<f64>,
    unattributed_j: Option<f64>,
    outside_trace_j: Option<f64>,
    busy_s: f64,
    metered_s: f64,
    uncovered_s: f64,
    low_j: Option<f64>,
    high_j: Option<f64>,
    /// Columns that are there for all rows or for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    low_90_j: Option<Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high_90_j: Option<Option<f64>>,
}

/// An operation on a device.
#[derive(Debug, Serialize)]
pub struct OpRow<'a> {
    name: &'a str,
    path: &'a str,
    r#type: &'a str,
    pass: Pass,
    device: &'a Device,
    energy_j: Option<f64>,
    busy_s: f64,
    power_w: Option<f64>,
    count: u64,
    approximate: bool,
    low_j: Option<f64>,
    high_j: Option<f64>,
    /// Columns that are there for all rows or for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    low_90_j: Option<Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high_90_j: Option<Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    standard_error_j: Option<Option<f64>>,
    label: Cow<'a, str>,
    run_share: f64,
    base_share: f64,
}

/// The tree of layers with all joules of the run beside it.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "docs/json.md documents every field")]
pub struct TreeOfRun<'a> {
    #[serde(flatten)]
    pub tree: &'a EnergyTree,
    pub whole: &'a Whole,
    pub trust: Option<&'a Trust>,
}

/// A kind of operation.
#[derive(Debug, Serialize)]
pub struct TypeRow {
    r#type: Box<str>,
    energy_j: f64,
    forward_j: f64,
    backward_j: f64,
    optimizer_j: f64,
    busy_s: f64,
    power_w: Option<f64>,
    count: u64,
    run_share: f64,
    base_share: f64,
}

/// A step on a device.
#[derive(Debug, Serialize)]
pub struct StepRow<'a> {
    step: u32,
    device: &'a Device,
    energy_j: f64,
    busy_s: f64,
}

/// The balance of every device.
pub fn device_rows<'a>(footprint: &'a Footprint, spreads: &Spreads) -> Vec<DeviceRow<'a>> {
    let is_predicted = !footprint.intervals.is_empty();
    let predicted = footprint.predicted_interval().filter(|_| footprint.devices.len() == 1);
    let row = |balance: &'a DeviceEnergy| {
        let bounds = balance.total.and_then(|energy| Some(spreads.get(&balance.device)?.around(energy)));
        DeviceRow {
            device: &balance.device,
            kind: balance.kind,
            measured_j: balance.total.map(|energy| energy.0),
            attributed_j: balance.total.map(|_| balance.attributed.0),
            unattributed_j: balance.total.map(|_| balance.unattributed.0),
            outside_trace_j: balance.total.map(|_| balance.outside_trace.0),
            busy_s: balance.busy.seconds(),
            metered_s: balance.metered.seconds(),
            uncovered_s: balance.uncovered.seconds(),
            low_j: bounds.map(|bounds| bounds.low.0),
            high_j: bounds.map(|bounds| bounds.high.0),
            low_90_j: is_predicted.then_some(predicted.map(|interval| interval.low.0)),
            high_90_j: is_predicted.then_some(predicted.map(|interval| interval.high.0)),
        }
    };
    footprint.devices.iter().map(row).collect()
}

/// Operations; those of a device that nothing metered have no energy.
pub fn op_rows<'a>(
    footprint: &'a Footprint,
    spreads: &Spreads,
    whole: &Whole,
    entries: impl Iterator<Item = &'a TefEntry>,
) -> Vec<OpRow<'a>> {
    let metered: BTreeSet<&Device> =
        footprint.devices.iter().filter(|device| device.total.is_some()).map(|device| &device.device).collect();
    let has_errors = footprint.energies.iter().any(|charged| charged.standard_error.is_some());
    let is_predicted = !footprint.intervals.is_empty();
    let row = |entry: &'a TefEntry| {
        let predicted = footprint.interval_of(&entry.path, entry.pass, entry.energy);
        let bounds = spreads.get(&entry.device).map(|spread| spread.around(entry.energy));
        OpRow {
            name: &entry.name,
            path: &entry.path,
            r#type: &entry.op_type,
            pass: entry.pass,
            approximate: entry.approximate,
            device: &entry.device,
            energy_j: metered.contains(&entry.device).then_some(entry.energy.0),
            busy_s: entry.busy.seconds(),
            power_w: entry.power().map(|power| power.0),
            count: entry.count,
            low_j: bounds.map(|bounds| bounds.low.0),
            high_j: bounds.map(|bounds| bounds.high.0),
            low_90_j: is_predicted.then_some(predicted.map(|interval| interval.low.0)),
            high_90_j: is_predicted.then_some(predicted.map(|interval| interval.high.0)),
            standard_error_j: has_errors.then_some(entry.standard_error.map(|error| error.0)),
            label: entry.label(),
            run_share: whole.of_run(entry.energy),
            base_share: whole.of_base(entry.energy),
        }
    };
    entries.map(row).collect()
}

/// Kinds of operations, the largest first.
pub fn type_rows(tef: &Tef, whole: &Whole) -> Vec<TypeRow> {
    let row = |kind: TypeEnergy| TypeRow {
        energy_j: kind.energy.0,
        forward_j: kind.passes.get(&Pass::Forward).0,
        backward_j: kind.passes.get(&Pass::Backward).0,
        optimizer_j: kind.passes.get(&Pass::Optimizer).0,
        busy_s: kind.busy.seconds(),
        power_w: kind.power().map(|power| power.0),
        count: kind.count,
        run_share: whole.of_run(kind.energy),
        base_share: whole.of_base(kind.energy),
        r#type: kind.op_type,
    };
    tef.by_type().into_iter().map(row).collect()
}

/// What each step used.
pub fn step_rows(footprint: &Footprint) -> Vec<StepRow<'_>> {
    let row = |entry: &StepEnergy| {
        let device = &footprint.devices.get(entry.device)?.device;
        Some(StepRow {
            step: entry.step.number()?,
            device,
            energy_j: entry.energy.0,
            busy_s: entry.busy.seconds(),
        })
    };
    footprint.steps.iter().filter_map(row).collect()
}

/// A node of the tree as a row.
#[derive(Debug, Serialize)]
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
#[derive(Debug, Serialize)]
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
