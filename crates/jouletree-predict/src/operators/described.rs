//! Description files: a model as a short list of operators in TOML or JSON, for models that never ran anywhere.
//!
//! ```toml
//! [[operator]]
//! name = "hidden"
//! kind = "dense"
//! rows = 32
//! inputs = 784
//! outputs = 256
//!
//! [[operator]]
//! name = "act"
//! kind = "relu"
//! elements = 8192
//! repeat = 2
//! ```
//!
//! Each operator has a `name`, a `kind` and the fields of that [`Shape`]. `repeat` means as many of it in a row,
//! named `act.0`, `act.1`, …; with `shared = true` they have one set of weights.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{Operator, Shape, ShapeError};

/// The language of a description file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Tables of TOML.
    Toml,
    /// An object of JSON with a list `operator`.
    Json,
}

/// A description that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DescriptionError {
    /// Not TOML, or not a description.
    #[error("not a description of a model: {0}")]
    Toml(#[from] toml::de::Error),
    /// Not JSON, or not a description.
    #[error("not a description of a model: {0}")]
    Json(#[from] serde_json::Error),
    /// A shape that cannot be.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// No operators.
    #[error("the description has no operators; add tables `[[operator]]` with `name`, `kind` and a shape")]
    Empty,
    /// One name twice.
    #[error("two operators are called `{0}`; give each a name of its own")]
    Twice(String),
    /// More operators than any model has.
    #[error("operator `{0}` is repeated more than {MOST_REPEATS} times; check `repeat`")]
    TooMany(String),
}

const MOST_REPEATS: u64 = 10_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    #[serde(default)]
    operator: Vec<Described>,
}

#[derive(Deserialize)]
struct Described {
    name: String,
    #[serde(default = "once")]
    repeat: u64,
    #[serde(default)]
    shared: bool,
    #[serde(flatten)]
    shape: Shape,
}

fn once() -> u64 {
    1
}

/// The operators that a description lists.
pub fn described(text: &str, format: Format) -> Result<Vec<Operator>, DescriptionError> {
    let description: Description = match format {
        Format::Toml => toml::from_str(text)?,
        Format::Json => serde_json::from_str(text)?,
    };
    let mut operators = Vec::new();
    let mut names = BTreeSet::new();
    for described in description.operator {
        if !names.insert(described.name.clone()) {
            return Err(DescriptionError::Twice(described.name));
        }
        if described.repeat > MOST_REPEATS {
            return Err(DescriptionError::TooMany(described.name));
        }
        if described.repeat == 1 {
            operators.push(Operator::new(described.name, described.shape)?);
            continue;
        }
        for index in 0..described.repeat {
            let operator = Operator::new(format!("{}.{index}", described.name), described.shape)?;
            let borrows = described.shared && index > 0;
            operators.push(if borrows { operator.with_borrowed_weights() } else { operator });
        }
    }
    if operators.is_empty() {
        return Err(DescriptionError::Empty);
    }
    Ok(operators)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DENSE: &str = "[[operator]]\nname = \"a\"\nkind = \"dense\"\nrows = 2\ninputs = 3\noutputs = 5\nrepeat = 2\nshared = true\n";

    #[test]
    fn both_languages_say_the_same() {
        let json = r#"{"operator": [{"name": "a", "kind": "dense", "rows": 2, "inputs": 3, "outputs": 5,
            "repeat": 2, "shared": true}]}"#;
        let operators = described(DENSE, Format::Toml).unwrap();
        assert_eq!(operators, described(json, Format::Json).unwrap());
        assert_eq!(operators.iter().map(Operator::parameters).sum::<u64>(), 20);
        assert_eq!(operators[1].name(), "a.1");
    }

    #[test]
    fn convolutions_take_what_is_usual() {
        let text = "[[operator]]\nname = \"c\"\nkind = \"conv2d\"\nbatch = 1\nin_channels = 3\nout_channels = 4\n\
                    height = 8\nwidth = 8\nkernel = [3, 3]\n";
        let operators = described(text, Format::Toml).unwrap();
        assert_eq!(operators[0].count().macs, 4 * 6 * 6 * 27);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |text: &str| described(text, Format::Toml).unwrap_err().to_string();
        assert!(error("").contains("no operators"));
        assert!(error(&format!("{DENSE}{DENSE}")).contains("two operators are called `a`"));
        assert!(error(&DENSE.replace("dense", "cobweb")).contains("cobweb"));
        assert!(error(&DENSE.replace("rows", "rose")).contains("rose"));
        assert!(error(&DENSE.replace("repeat = 2", "repeat = 20000")).contains("check `repeat`"));
    }
}
