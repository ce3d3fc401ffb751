//! What the user should know about the input although it could be used.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Something that is wrong or missing in an input, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// The file it was found in, or the device it is about.
    pub source: String,
    /// The place in that file, such as `line 17` or `byte 8812`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
    /// What is wrong, what was done about it and what the user can do.
    pub message: String,
}

impl Warning {
    /// A warning about a source as a whole.
    pub fn new(source: impl Into<String>, message: impl Into<String>) -> Warning {
        Warning { source: source.into(), position: None, message: message.into() }
    }

    /// The same warning with the place it is about.
    pub fn at(self, position: impl Into<String>) -> Warning {
        Warning { position: Some(position.into()), ..self }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.position {
            Some(position) => write!(f, "{}: {position}: {}", self.source, self.message),
            None => write!(f, "{}: {}", self.source, self.message),
        }
    }
}
