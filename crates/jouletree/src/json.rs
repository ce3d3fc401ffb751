//! Results as JSON; `docs/json.md` documents every field.

use std::collections::BTreeSet;

use anyhow::Result;
use jouletree_account::{EnergyTree, Spreads, Tef, TefEntry, t2a};
use jouletree_model::{Device, DeviceEnergy, Footprint, Kind, Pass, StepEnergy, TraceSource, Warning};
use jouletree_report::{PartRow, parts};
use serde::Serialize;

/// Everything there is to say about a footprint.
#[derive(Serialize)]
struct Everything<'a> {
    devices: Vec<DeviceRow<'a>>,
    ops: Vec<OpRow<'a>>,
    summary: Vec<OpRow<'a>>,
    steps: Vec<StepRow<'a>>,
    parts: Vec<PartRow>,
    tree: &'a EnergyTree,
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
}

#[derive(Serialize)]
pub struct StepRow<'a> {
    step: u32,
    device: &'a Device,
    energy_j: f64,
    busy_s: f64,
}

/// All of a footprint, for programs.
pub fn everything(footprint: &Footprint, spreads: &Spreads, tef: &Tef, tree: &EnergyTree) -> Result<String> {
    let summary = t2a(tef);
    let everything = Everything {
        devices: device_rows(footprint, spreads),
        ops: op_rows(footprint, spreads, tef.entries().iter()),
        summary: op_rows(footprint, spreads, summary.entries().iter()),
        steps: step_rows(footprint),
        parts: parts(footprint),
        tree,
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
        }
    };
    entries.map(row).collect()
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
