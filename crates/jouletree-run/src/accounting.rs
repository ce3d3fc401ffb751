//! How a run was accounted, as its manifest keeps it.
//!
//! Version 1 of the format had texts: the rule and the semantics of a prediction were both `predicted`.

use jouletree_model::{Explanation, Origin, PolicyName, Rule, Scope, Semantics};
use serde::{Deserialize, Serialize};

/// How a run was accounted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Record", into = "Record")]
pub struct Accounting {
    /// The command line.
    pub command: Vec<String>,
    /// The power files.
    pub power: Vec<String>,
    /// Where the energies come from. Of a prediction, what follows has no meaning.
    pub origin: Origin,
    /// The rule that turned readings into energy; `None` where each unit has its own.
    pub rule: Option<Rule>,
    /// The semantics of the alignment.
    pub semantics: Semantics,
    /// Whose energy was accounted: that of devices, or what the recorded process tree used of it.
    pub energy: Scope,
    /// The policy that shared energy among operations.
    pub attribution: PolicyName,
    /// What it did on each device and why, where it had a choice.
    pub attributed: Vec<Explanation>,
    /// How long a reading holds, in milliseconds, where the rule has such a limit.
    pub hold_ms: Option<f64>,
}

/// The fields in the manifest.
#[derive(Serialize, Deserialize)]
struct Record {
    command: Vec<String>,
    power: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rule: Option<RuleName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    semantics: Option<SemanticsName>,
    #[serde(default)]
    energy: Scope,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attribution: Option<PolicyName>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    attributed: Vec<Explanation>,
    #[serde(default)]
    hold_ms: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RuleName {
    /// Version 1 had a blank in it.
    #[serde(alias = "by unit")]
    ByUnit,
    Counter,
    Recency,
    /// Only version 1.
    Predicted,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SemanticsName {
    Exact,
    Paper,
    /// Only version 1.
    Predicted,
}

impl Accounting {
    /// Whether the operations are active as the exact semantics say; of a prediction, none was active.
    pub fn is_exact(&self) -> bool {
        self.origin == Origin::Accounted && self.semantics == Semantics::Exact
    }
}

impl From<Accounting> for Record {
    fn from(accounting: Accounting) -> Record {
        let Accounting { command, power, origin, rule, semantics, energy, attribution, attributed, hold_ms } =
            accounting;
        let is_accounted = origin == Origin::Accounted;
        let rule = match rule {
            None => RuleName::ByUnit,
            Some(Rule::Counter) => RuleName::Counter,
            Some(Rule::Recency) => RuleName::Recency,
        };
        let semantics = match semantics {
            Semantics::Exact => SemanticsName::Exact,
            Semantics::Paper => SemanticsName::Paper,
        };
        Record {
            command,
            power,
            origin: Some(origin),
            rule: is_accounted.then_some(rule),
            semantics: is_accounted.then_some(semantics),
            energy,
            attribution: is_accounted.then_some(attribution),
            attributed,
            hold_ms,
        }
    }
}

impl TryFrom<Record> for Accounting {
    type Error = &'static str;

    fn try_from(record: Record) -> Result<Accounting, &'static str> {
        let Record { command, power, origin, rule, semantics, energy, attribution, attributed, hold_ms } = record;
        let origin = match (origin, rule) {
            (None, Some(RuleName::Predicted)) => Origin::Predicted,
            (origin, _) => origin.unwrap_or_default(),
        };
        let (rule, semantics) = match (origin, rule, semantics) {
            (Origin::Predicted, ..) => (None, Semantics::default()),
            (Origin::Accounted, None | Some(RuleName::Predicted), _) => return Err("missing field `rule`"),
            (Origin::Accounted, _, None | Some(SemanticsName::Predicted)) => {
                return Err("missing field `semantics`");
            }
            (Origin::Accounted, Some(rule), Some(semantics)) => (
                match rule {
                    RuleName::Counter => Some(Rule::Counter),
                    RuleName::Recency => Some(Rule::Recency),
                    RuleName::ByUnit | RuleName::Predicted => None,
                },
                if semantics == SemanticsName::Paper { Semantics::Paper } else { Semantics::Exact },
            ),
        };
        // Shares were equal before manifests named a policy.
        let attribution = attribution.unwrap_or_default();
        Ok(Accounting { command, power, origin, rule, semantics, energy, attribution, attributed, hold_ms })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(mut more: Value) -> Result<Accounting, serde_json::Error> {
        more["command"] = json!(["jouletree"]);
        more["power"] = json!([]);
        serde_json::from_value(more)
    }

    #[test]
    fn version_1_is_read() {
        let by_unit = read(json!({"rule": "by unit", "semantics": "paper", "hold_ms": 2.0})).unwrap();
        assert_eq!((by_unit.origin, by_unit.rule, by_unit.semantics), (Origin::Accounted, None, Semantics::Paper));
        assert_eq!((by_unit.energy, by_unit.attribution.as_str()), (Scope::Device, "equal"));
        assert!(!by_unit.is_exact());
        let counter = json!({"rule": "counter", "semantics": "exact", "energy": "tree", "hold_ms": null});
        let counter = read(counter).unwrap();
        assert_eq!((counter.rule, counter.energy, counter.is_exact()), (Some(Rule::Counter), Scope::Tree, true));
        let predicted = read(json!({"rule": "predicted", "semantics": "predicted", "hold_ms": null})).unwrap();
        assert_eq!((predicted.origin, predicted.is_exact()), (Origin::Predicted, false));
    }

    #[test]
    fn what_is_written_is_read() {
        let accounted = Accounting {
            command: vec!["jouletree".into()],
            rule: Some(Rule::Recency),
            semantics: Semantics::Paper,
            energy: Scope::Tree,
            attribution: PolicyName::from("later"),
            attributed: Vec::new(),
            hold_ms: Some(0.1),
            ..Accounting::default()
        };
        let written = serde_json::to_value(&accounted).unwrap();
        let wanted = json!({"command": ["jouletree"], "power": [], "origin": "accounted", "rule": "recency",
            "semantics": "paper", "energy": "tree", "attribution": "later", "hold_ms": 0.1});
        assert_eq!(written, wanted);
        assert_eq!(serde_json::from_value::<Accounting>(written).unwrap(), accounted);
        let predicted = Accounting { origin: Origin::Predicted, ..Accounting::default() };
        let written = serde_json::to_value(&predicted).unwrap();
        assert_eq!((&written["origin"], written.get("rule")), (&json!("predicted"), None));
        assert_eq!(serde_json::from_value::<Accounting>(written).unwrap(), predicted);
        assert_eq!(serde_json::to_value(Accounting::default()).unwrap()["rule"], "by_unit");
    }

    #[test]
    fn what_is_missing_or_unknown_is_refused() {
        for wrong in [
            json!({"semantics": "exact"}),
            json!({"rule": "counter"}),
            json!({"rule": "counter", "semantics": "half-open"}),
            json!({"rule": "best", "semantics": "exact"}),
            json!({"origin": "heard", "rule": "counter", "semantics": "exact"}),
        ] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
