//! What ties theory to a machine: the energy of one run of this model, of another, or a run that was recorded.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail};
use jouletree_account::Tef;
use jouletree_model::{Joules, Pass, Warning};
use jouletree_predict::operators::builtin::Choice;
use jouletree_predict::operators::from_tree;
use jouletree_predict::theory::{Bits, Calibration, Costs, OperatorEstimate, estimate};
use serde::Serialize;

use crate::named_model::found;
use crate::run;

/// A calibration, and where it comes from.
#[derive(Serialize)]
pub struct Calibrated {
    /// Whose energy was measured.
    pub by: String,
    pub measured_j: f64,
    pub avoidable_traffic: f64,
    pub cost_factor: f64,
    #[serde(skip)]
    pub calibration: Calibration,
}

/// What `--calibrate` says: joules of one run of `model`, `OTHER=JOULES`, or a run folder.
pub fn calibrated(
    said: &str,
    model: &OperatorEstimate,
    bits: Bits,
    costs: &Costs,
    warnings: &mut Vec<Warning>,
) -> Result<Calibrated> {
    let (by, measured, basis) = if let Ok(joules) = said.parse::<f64>() {
        (model.name.clone(), Joules(joules), model.clone())
    } else if Path::new(said).is_dir() {
        of_run(said, bits, costs, warnings)?
    } else {
        let Some((other, joules)) = said.rsplit_once('=') else {
            bail!("`{said}` calibrates nothing; give joules of one run, MODEL=JOULES, or a run folder");
        };
        let joules: f64 = joules.parse().with_context(|| format!("`{joules}` is no number of joules"))?;
        let other = found(other, Choice::default())?;
        let total = estimate(&other.name, &other.operators, bits, costs).total;
        (other.name, Joules(joules), total)
    };
    let calibration = Calibration::by(&basis, measured)?;
    Ok(Calibrated {
        by,
        measured_j: measured.0,
        avoidable_traffic: calibration.avoidable_traffic,
        cost_factor: calibration.cost_factor,
        calibration,
    })
}

/// The forward pass of one step of a run, which is what theory counts.
fn of_run(
    path: &str,
    bits: Bits,
    costs: &Costs,
    warnings: &mut Vec<Warning>,
) -> Result<(String, Joules, OperatorEstimate)> {
    let footprint = run::opened(Path::new(path))?.read_footprint()?;
    let steps = footprint.steps.iter().filter_map(|step| step.step.number()).collect::<BTreeSet<_>>().len().max(1);
    let forward = Tef::from(&footprint).by_pass().get(&Pass::Forward);
    let found = from_tree(&footprint.model, path).with_context(|| path.to_owned())?;
    warnings.extend(found.warnings);
    let by = format!("{path}, the forward pass of a step (mean of {steps})");
    let total = estimate(path, &found.operators, bits, costs).total;
    Ok((by, Joules(forward.0 / steps as f64), total))
}
