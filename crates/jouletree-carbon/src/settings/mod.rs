//! Settings, and where each comes from: flags, the environment, configuration files, and those of CodeCarbon below them.

mod keys;
mod sources;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

pub use keys::{KEYS, Key};
pub use sources::Sources;

/// Where a value comes from, the weakest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// The default holds.
    Default,
    /// What the cloud reports to its machines.
    CloudMetadata(PathBuf),
    /// CodeCarbon's file, in the home folder or here.
    CodeCarbonFile(PathBuf),
    /// CodeCarbon's variable of the environment.
    CodeCarbonVariable(String),
    /// The user's file.
    UserFile(PathBuf),
    /// The file of this folder.
    FolderFile(PathBuf),
    /// A variable of the environment.
    Variable(String),
    /// A flag, or an argument in a program.
    Flag(String),
}

impl Layer {
    /// Which of two layers wins: the larger.
    fn rank(&self) -> u8 {
        match self {
            Layer::Default => 0,
            Layer::CloudMetadata(_) => 1,
            Layer::CodeCarbonFile(_) => 2,
            Layer::CodeCarbonVariable(_) => 3,
            Layer::UserFile(_) => 4,
            Layer::FolderFile(_) => 5,
            Layer::Variable(_) => 6,
            Layer::Flag(_) => 7,
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layer::Default => f.write_str("default"),
            Layer::CloudMetadata(path)
            | Layer::CodeCarbonFile(path)
            | Layer::UserFile(path)
            | Layer::FolderFile(path) => write!(f, "{}", path.display()),
            Layer::CodeCarbonVariable(name) | Layer::Variable(name) => write!(f, "variable {name}"),
            Layer::Flag(name) => f.write_str(name),
        }
    }
}

/// A value and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// The value as it was written.
    pub text: String,
    /// Where.
    pub layer: Layer,
}

/// What is wrong with a setting or a file of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// A file cannot be read.
    #[error("{}: {why}; mend the file or move it away", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A value is not what it should be.
    #[error("{name} = {value} (from {layer}): {wanted} is expected")]
    Value {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: String,
        /// Where it comes from.
        layer: String,
        /// What would be right.
        wanted: &'static str,
    },
}

/// All settings with a value.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    values: BTreeMap<Key, Value>,
    /// Unknown names, and where they are.
    pub unknown: Vec<(String, Layer)>,
}

impl Settings {
    /// Takes a value, unless a stronger one is there.
    pub fn set(&mut self, key: Key, text: impl Into<String>, layer: Layer) {
        let text = text.into();
        let is_weaker = self.values.get(&key).is_some_and(|there| there.layer.rank() > layer.rank());
        // CodeCarbon's files and programs write what is not given as None.
        if !is_weaker && !matches!(text.trim(), "" | "None") {
            self.values.insert(key, Value { text: text.trim().to_owned(), layer });
        }
    }

    /// Forgets a value.
    pub fn unset(&mut self, key: Key) {
        self.values.remove(&key);
    }

    /// Whether it is the default.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The value of a setting and where it comes from; its default when it was not set.
    pub fn value(&self, key: Key) -> Option<Value> {
        let default = || key.default().map(|text| Value { text: text.to_owned(), layer: Layer::Default });
        self.values.get(&key).cloned().or_else(default)
    }

    /// The same, as text alone.
    pub fn text(&self, key: Key) -> Option<String> {
        self.value(key).map(|value| value.text)
    }

    /// The path of the table of emissions.
    pub fn emissions_csv(&self) -> PathBuf {
        let text = |key| self.text(key).unwrap_or_default();
        PathBuf::from(text(Key::OutputFolder)).join(text(Key::OutputFile))
    }

    /// A number that is not negative.
    pub fn number(&self, key: Key) -> Result<Option<f64>, SettingsError> {
        let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        self.parsed(key, "a number that is not negative", number)
    }

    /// Yes or no.
    pub fn flag(&self, key: Key) -> Result<bool, SettingsError> {
        let flag = |text: &str| match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" => Some(false),
            _ => None,
        };
        Ok(self.parsed(key, "true or false", flag)?.unwrap_or(false))
    }

    /// A value that is understood, or what is wrong with it.
    pub fn parsed<T>(
        &self,
        key: Key,
        wanted: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, SettingsError> {
        let Some(Value { text, layer }) = self.value(key) else { return Ok(None) };
        match parse(&text) {
            Some(value) => Ok(Some(value)),
            None => Err(SettingsError::Value { name: key.name(), value: text, layer: layer.to_string(), wanted }),
        }
    }

    /// Whether a setting was given more strongly than another.
    pub(crate) fn outranks(&self, key: Key, other: Key) -> bool {
        let rank = |key: Key| self.values.get(&key).map_or(0, |value| value.layer.rank());
        rank(key) > rank(other)
    }
}
