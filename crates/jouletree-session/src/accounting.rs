//! Accounting: operations and power become a footprint, which is kept in a run folder. The one way that `account`, the end
//! of a recorded program and the operations of a call take.

use std::path::Path;

use jouletree_account::{AccountError, Attribution, Metered, Rule, Semantics, account_by, on_host_of};
use jouletree_model::{Footprint, MeteredSeries, Nanos, Origin, PolicyName, Trace};
use jouletree_run::{Accounting, RunContents, RunError, RunFolder, Scope};

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
    fn described(&self, power: Vec<String>) -> Accounting {
        Accounting {
            command: std::env::args().collect(),
            power,
            origin: Origin::Accounted,
            rule: self.rule,
            semantics: self.semantics,
            energy: self.energy,
            attribution: PolicyName::from(self.attribution.as_str()),
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
    method: Method,
}

/// Aligns operations with power.
pub fn account(trace: Trace, power: Vec<MeteredSeries>, method: Method) -> Result<Accounted, AccountError> {
    let trace = on_host_of(trace, &power);
    let footprint = account_by(&trace, &Metered::devices(&power), method.semantics, method.attribution)?;
    Ok(Accounted { trace, power, footprint, method })
}

impl Accounted {
    /// Writes it to a new run folder; `files` held the power.
    pub fn create(&self, path: &Path, files: Vec<String>) -> Result<RunFolder, RunError> {
        RunFolder::create(path, &self.contents(files))
    }

    /// Completes the recording that it was made from.
    pub fn complete(&self, recording: &RunFolder) -> Result<RunFolder, RunError> {
        recording.complete(&self.contents(Vec::new()))
    }

    fn contents(&self, files: Vec<String>) -> RunContents<'_> {
        RunContents {
            accounting: self.method.described(files),
            trace: &self.trace,
            power: &self.power,
            footprint: &self.footprint,
        }
    }
}
