//! Accounting: operations and power become a footprint, which is kept in a run folder. The one way that `account`, the end
//! of a recorded program and the operations of a call take.

use std::path::Path;
use std::time::Instant;

use jouletree_account::{
    AccountError, Attribution, Explained, Metered, Rule, Semantics, account_explained, on_host_of,
};
use jouletree_model::{Explanation, Footprint, MeteredSeries, Nanos, Origin, PolicyName, Trace};
use jouletree_run::{Accounting, RunContents, RunError, RunFolder, Scope};
use tracing::info;

/// How operations and power become a footprint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Method {
    /// How readings became energy; `None` where each unit has its own rule.
    pub rule: Option<Rule>,
    /// How long a reading holds; `None` where the rule has no such limit.
    pub hold: Option<Nanos>,
    /// What "active at an instant" means.
    pub semantics: Semantics,
    /// Whose energy is accounted.
    pub energy: Scope,
    /// How operations share energy.
    pub attribution: Attribution,
}

impl Method {
    /// The method for power that jouletree recorded: counters, and what the process tree used.
    pub fn recorded(attribution: Attribution) -> Method {
        Method {
            rule: Some(Rule::Counter),
            hold: None,
            semantics: Semantics::Exact,
            energy: Scope::Tree,
            attribution,
        }
    }

    /// What the manifest says of it.
    fn described(&self, power: Vec<String>, attributed: &[Explanation]) -> Accounting {
        Accounting {
            command: std::env::args().collect(),
            power,
            origin: Origin::Accounted,
            rule: self.rule,
            semantics: self.semantics,
            energy: self.energy,
            attribution: PolicyName::from(self.attribution.as_str()),
            attributed: attributed.to_vec(),
            hold_ms: self.hold.map(|hold| hold.0 as f64 / 1e6),
        }
    }
}

/// Operations and power with the footprint that they make.
#[derive(Debug, Clone)]
pub struct Accounted {
    /// What ran when.
    pub trace: Trace,
    /// The energy that was accounted.
    pub power: Vec<MeteredSeries>,
    /// Where it went.
    pub footprint: Footprint,
    /// How energy was attributed on each device and why, where the policy had a choice.
    pub explanations: Vec<Explanation>,
    method: Method,
}

/// Aligns operations with power.
pub fn account(trace: Trace, power: Vec<MeteredSeries>, method: Method) -> Result<Accounted, AccountError> {
    let began = Instant::now();
    let trace = on_host_of(trace, &power);
    let explained = account_explained(&trace, &Metered::devices(&power), method.semantics, method.attribution)?;
    let Explained { footprint, explanations } = explained;
    let (events, series, took) = (trace.event_count(), power.len(), began.elapsed());
    info!(events, series, attribution = %method.attribution, semantics = method.semantics.as_str(), ?took, "energy attributed");
    Ok(Accounted { trace, power, footprint, explanations, method })
}

impl Accounted {
    /// Writes it to a new run folder; `files` held the power.
    pub fn create(&self, path: &Path, files: Vec<String>) -> Result<RunFolder, RunError> {
        let began = Instant::now();
        let run = RunFolder::create(path, &self.contents(files))?;
        info!(folder = %path.display(), took = ?began.elapsed(), "run written");
        Ok(run)
    }

    /// Completes the recording that it was made from.
    pub fn complete(&self, recording: &RunFolder) -> Result<RunFolder, RunError> {
        let began = Instant::now();
        let run = recording.complete(&self.contents(Vec::new()))?;
        info!(folder = %recording.path().display(), took = ?began.elapsed(), "run completed");
        Ok(run)
    }

    fn contents(&self, files: Vec<String>) -> RunContents<'_> {
        RunContents {
            accounting: self.method.described(files, &self.explanations),
            trace: &self.trace,
            power: &self.power,
            footprint: &self.footprint,
        }
    }
}
