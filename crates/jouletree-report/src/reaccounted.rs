//! The footprint of a run by the policy that was asked for: the recorded one is read, another is computed again.

use jouletree_account::{AccountError, Attribution, Explained, Metered, account_explained};
use jouletree_model::{Explanation, Footprint};
use jouletree_run::{Accounting, RunError, RunFolder, accounted};

/// Why a run cannot be accounted by another policy.
#[derive(Debug, thiserror::Error)]
pub enum AttributionError {
    /// The run cannot be read.
    #[error(transparent)]
    Run(#[from] RunError),
    /// There is nothing to account.
    #[error(
        "{0}: --attribution {1} needs power over time, which this run does not hold; record or account it again"
    )]
    NoPower(String, Attribution),
    /// Operations and power do not match.
    #[error(transparent)]
    Account(#[from] AccountError),
}

/// The policy by which a run was accounted: shares were equal before manifests recorded it.
pub fn recorded_attribution(accounting: &Accounting) -> &str {
    accounting.attribution.as_str()
}

/// The footprint of a run by `asked`, or as it was recorded, with what was done and why. Operations and power are read and aligned
/// again where another policy is asked for, or where powers were estimated: how errors go together is not kept. `threads` read
/// events.
pub fn explained_by(
    run: &RunFolder,
    asked: Option<Attribution>,
    threads: usize,
) -> Result<Explained, AttributionError> {
    let kept = |explanations: &[Explanation]| -> Result<Explained, AttributionError> {
        Ok(Explained { footprint: run.read_footprint()?, explanations: explanations.to_vec() })
    };
    let Some(accounting) = &run.manifest().accounting else { return kept(&[]) };
    let recorded: Option<Attribution> = recorded_attribution(accounting).parse().ok();
    let is_estimated = accounting.attributed.iter().any(Explanation::is_regressed);
    let asked = match (asked, recorded) {
        (Some(asked), recorded) if Some(asked) != recorded => asked,
        (_, Some(recorded)) if is_estimated => recorded,
        _ => return kept(&accounting.attributed),
    };
    let power = accounted(run.read_power()?, accounting.energy);
    if power.is_empty() {
        return Err(AttributionError::NoPower(run.path().display().to_string(), asked));
    }
    let semantics = accounting.semantics;
    Ok(account_explained(&run.read_trace(threads)?, &Metered::devices(&power), semantics, asked)?)
}

/// The footprint alone.
pub fn footprint_by(
    run: &RunFolder,
    asked: Option<Attribution>,
    threads: usize,
) -> Result<Footprint, AttributionError> {
    Ok(explained_by(run, asked, threads)?.footprint)
}
