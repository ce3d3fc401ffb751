//! Operations of recorded steps, of all steps, and outside of steps, as `jouletree show` has them.

use anyhow::{Result, bail};
use jouletree_account::{Tef, TefEntry};
use jouletree_model::{Footprint, Joules, Program, Semantics, Warning};
use jouletree_report::{PhaseRow, ProgramEnergy};
use jouletree_run::RunFolder;

use crate::numbers::Numbers;
use crate::page::Page;
use crate::{program, tables};

/// How many operations outside of steps are listed.
const OUTSIDE_ROWS: usize = 5;
/// They are listed when they used more than this share of what operations within steps used.
const WORTH_A_TABLE: f64 = 0.005;

/// Adds the operations that ran outside of recorded steps, which are in no other table.
pub fn outside(page: &mut Page, footprint: &Footprint, numbers: &Numbers<'_>) {
    let outside = Tef::from(&footprint.outside_steps());
    let attributed: Joules = footprint.devices.iter().map(|balance| balance.attributed).sum();
    if outside.total().0 <= WORTH_A_TABLE * attributed.0 {
        return;
    }
    page.title(format!("operations outside of recorded steps: {}, not in the tables above", outside.total()));
    let ranked: Vec<&TefEntry> = outside.entries().iter().take(OUTSIDE_ROWS).collect();
    page.table(tables::operations(&outside, &ranked, numbers, false));
}

/// The operations of all steps, as an estimate from those of recorded ones.
pub fn all(run: &RunFolder, footprint: &Footprint, program: &Program) -> Result<Footprint> {
    if !footprint.parts.is_empty() {
        return Ok(footprint.of_all_steps());
    }
    match ProgramEnergy::new(program, run.read_power()?).phases().as_slice() {
        [] => Ok(footprint.clone()),
        [only] => Ok(footprint.scaled(only.factor.unwrap_or(1.0))),
        _ => bail!("{}: {}", run.path().display(), without_parts(run)),
    }
}

/// What limits the figures of steps.
pub fn warnings(run: &RunFolder, of_all_steps: bool) -> Result<Vec<Warning>> {
    let program = run.read_program()?;
    let about = run.path().display().to_string();
    let mut warnings = Vec::new();
    let manifest = run.manifest();
    let is_exact = manifest.accounting.as_ref().is_some_and(|accounting| accounting.semantics == Semantics::Exact);
    if manifest.parts.is_empty() && is_exact && program.steps().next().is_some() {
        warnings.push(Warning::new(about.as_str(), without_parts(run)));
    }
    if of_all_steps {
        let phases = ProgramEnergy::new(&program, run.read_power()?).phases();
        let missing = phases.iter().filter(|row| row.factor.is_none() && row.energy.0 > 0.0);
        let warning = |row: &PhaseRow| {
            let (name, steps, energy) = (program::named(row), row.steps, row.energy);
            let message = format!("--all-steps leaves out {name}: {steps} steps, {energy}, none recorded");
            Warning::new(about.as_str(), message)
        };
        warnings.extend(missing.map(warning));
    }
    Ok(warnings)
}

/// Why the operations of a run are not known by phase, and the remedy.
fn without_parts(run: &RunFolder) -> String {
    let path = run.path().display();
    format!(
        "this run was accounted without its phases, so that figures of operations hold what ran outside of recorded steps; \
         account it again with: jouletree account {path} -o NEW"
    )
}
