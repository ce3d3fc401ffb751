//! The footprint of a run by the policy that was asked for: the recorded one is read, another is computed again.

use jouletree_account::{AccountError, Attribution, Metered, account_by};
use jouletree_model::Footprint;
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

/// The footprint of a run by `asked`, or as it was recorded. Operations and power are read and aligned again where another
/// policy is asked for; `threads` read events.
pub fn footprint_by(
    run: &RunFolder,
    asked: Option<Attribution>,
    threads: usize,
) -> Result<Footprint, AttributionError> {
    let Some(accounting) = &run.manifest().accounting else { return Ok(run.read_footprint()?) };
    let Some(asked) = asked.filter(|asked| asked.as_str() != recorded_attribution(accounting)) else {
        return Ok(run.read_footprint()?);
    };
    let power = accounted(run.read_power()?, accounting.energy);
    if power.is_empty() {
        return Err(AttributionError::NoPower(run.path().display().to_string(), asked));
    }
    Ok(account_by(&run.read_trace(threads)?, &Metered::devices(&power), accounting.semantics, asked)?)
}
