//! How a run came to its numbers, in the words of its manifest.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whose energy it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// All that devices used.
    #[default]
    Device,
    /// What the process tree of the recording used of it.
    Tree,
}

/// Where the energies of a run come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Operations were aligned with power.
    #[default]
    Accounted,
    /// Nothing ran: a predictor gave them.
    Predicted,
}

/// How power follows from readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// A reading holds until the next one, as in the Smaragdine paper.
    Recency,
    /// Energy is linear between changes of a counter.
    Counter,
}

/// The meaning of "active at an instant".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Semantics {
    /// Half-open intervals of nanoseconds; the innermost event of each lane is active.
    #[default]
    Exact,
    /// Algorithm 2 of the Smaragdine paper as printed: whole microseconds, end included, a set of operations.
    Paper,
}

/// The name of the policy that shared energy among operations; that of a later version may not be known here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PolicyName(Box<str>);

impl Scope {
    /// Its name in manifests and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Device => "device",
            Scope::Tree => "tree",
        }
    }

    /// The scope of this name.
    pub fn named(name: &str) -> Option<Scope> {
        [Scope::Device, Scope::Tree].into_iter().find(|scope| scope.as_str() == name)
    }
}

impl Rule {
    /// Its name in manifests and on command lines.
    pub fn as_str(self) -> &'static str {
        match self {
            Rule::Recency => "recency",
            Rule::Counter => "counter",
        }
    }
}

impl Semantics {
    /// Its name in manifests and on command lines.
    pub fn as_str(self) -> &'static str {
        match self {
            Semantics::Exact => "exact",
            Semantics::Paper => "paper",
        }
    }
}

impl PolicyName {
    /// The name as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Equal shares: the only policy before manifests named one.
impl Default for PolicyName {
    fn default() -> PolicyName {
        PolicyName::from("equal")
    }
}

impl From<&str> for PolicyName {
    fn from(name: &str) -> PolicyName {
        PolicyName(name.into())
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for Semantics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_files() {
        for scope in [Scope::Device, Scope::Tree] {
            assert_eq!(Scope::named(scope.as_str()), Some(scope));
            assert_eq!(serde_json::to_value(scope).unwrap(), scope.as_str());
        }
        assert_eq!(Scope::named("ours"), None);
        for semantics in [Semantics::Exact, Semantics::Paper] {
            assert_eq!(serde_json::to_value(semantics).unwrap(), semantics.as_str());
        }
        assert_eq!(PolicyName::default().as_str(), "equal");
    }
}
