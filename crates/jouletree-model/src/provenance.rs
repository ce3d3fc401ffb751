//! How a number came to be: an estimate must not be taken for a measurement.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How a number came about, the most direct first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Read from a meter.
    Measured,
    /// Computed from measured numbers by a rule without free parameters.
    Derived,
    /// From a model of the machine, for want of a meter.
    Estimated,
    /// From a model of the program, without running it.
    Predicted,
}

/// A kind that is not one of [`Kind::ALL`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a kind of number; kinds are measured, derived, estimated and predicted")]
pub struct UnknownKind(String);

impl Kind {
    /// Every kind, the most trustworthy first.
    pub const ALL: [Kind; 4] = [Kind::Measured, Kind::Derived, Kind::Estimated, Kind::Predicted];

    /// Its name as it is written in files and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Measured => "measured",
            Kind::Derived => "derived",
            Kind::Estimated => "estimated",
            Kind::Predicted => "predicted",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = UnknownKind;
    fn from_str(text: &str) -> Result<Kind, UnknownKind> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| UnknownKind(text.to_owned()))
    }
}
