//! Results as JSON; `docs/json.md` documents every field.

use std::borrow::Cow;
use std::collections::BTreeSet;

use anyhow::Result;
use jouletree_account::{EnergyTree, Spreads, Tef, TefEntry, TypeEnergy, t2a};
use jouletree_model::{Device, DeviceEnergy, Footprint, Kind, Pass, StepEnergy, TraceSource, Warning};
use jouletree_report::{PartRow, Trust, Whole, parts};
use serde::Serialize;

use crate::show::Shown;

/// Everything there is to say about a footprint.
#[derive(Serialize)]
struct Everything<'a> {
    devices: Vec<DeviceRow<'a>>,
    ops: Vec<OpRow<'a>>,
    summary: Vec<OpRow<'a>>,
    steps: Vec<StepRow<'a>>,
    parts: Vec<PartRow>,
    tree: &'a EnergyTree,
    whole: &'a Whole,
    trust: Option<&'a Trust>,
    traces: &'a [TraceSource],
    warnings: &'a [Warning],
}

#[derive(Serialize)]
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

#[derive(Serialize)]
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
#[derive(Serialize)]
pub struct TreeOfRun<'a> {
    #[serde(flatten)]
    pub tree: &'a EnergyTree,
    pub whole: &'a Whole,
    pub trust: Option<&'a Trust>,
}

#[derive(Serialize)]
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

#[derive(Serialize)]
pub struct StepRow<'a> {
    step: u32,
    device: &'a Device,
    energy_j: f64,
    busy_s: f64,
}

/// All of a footprint, for programs.
pub fn everything(shown: &Shown<'_>, tef: &Tef, tree: &EnergyTree) -> Result<String> {
    let Shown { footprint, spreads, whole, trust, .. } = shown;
    let summary = t2a(tef);
    let everything = Everything {
        devices: device_rows(footprint, spreads),
        ops: op_rows(footprint, spreads, whole, tef.entries().iter()),
        summary: op_rows(footprint, spreads, whole, summary.entries().iter()),
        steps: step_rows(footprint),
        parts: parts(footprint),
        tree,
        whole,
        trust: trust.as_ref(),
        traces: &footprint.sources,
        warnings: &footprint.warnings,
    };
    written(&everything)
}

/// A value as the text of a JSON document.
pub fn written(value: &impl Serialize) -> Result<String> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(text)
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
