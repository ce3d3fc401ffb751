//! Results as JSON; `docs/json.md` documents every field.

use anyhow::Result;
use jouletree_account::{EnergyTree, Tef, t2a};
use jouletree_model::{Explanation, TraceSource, Warning};
use jouletree_report::rows::{DeviceRow, OpRow, StepRow, device_rows, op_rows, step_rows};
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
    #[serde(skip_serializing_if = "Option::is_none")]
    attribution: Option<&'a [Explanation]>,
    whole: &'a Whole,
    trust: Option<&'a Trust>,
    traces: &'a [TraceSource],
    warnings: &'a [Warning],
}

/// All of a footprint, for programs.
pub fn everything(
    shown: &Shown<'_>,
    (tef, tree): (&Tef, &EnergyTree),
    attribution: Option<&[Explanation]>,
) -> Result<String> {
    let Shown { footprint, spreads, whole, trust, .. } = shown;
    let summary = t2a(tef);
    let everything = Everything {
        devices: device_rows(footprint, spreads),
        ops: op_rows(footprint, spreads, whole, tef.entries().iter()),
        summary: op_rows(footprint, spreads, whole, summary.entries().iter()),
        steps: step_rows(footprint),
        parts: parts(footprint),
        tree,
        attribution,
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
