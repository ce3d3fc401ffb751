//! A model by what a user calls it: a name that is built in, a description file, or the tree of a run.

use std::fs;
use std::io;
use std::path::Path;

use jouletree_model::{ModelTree, Warning};

use super::builtin::{BuiltinError, Choice, NAMES, builtin};
use super::{DescriptionError, Format, Operator, TreeError, described, from_tree};

/// A model that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// What to call it.
    pub name: String,
    /// Its operators.
    pub operators: Vec<Operator>,
    /// What of it is not counted.
    pub warnings: Vec<Warning>,
}

/// A model that was not found, or is none.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// Neither a file nor a name.
    #[error("`{0}` is neither a file nor a model that is built in ({names})", names = NAMES.join(", "))]
    Unknown(String),
    /// A name that is built in, with choices that make no model.
    #[error(transparent)]
    Builtin(BuiltinError),
    /// A file that cannot be read.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// A description that cannot be read.
    #[error("{path}: {error}")]
    Description {
        /// The file.
        path: String,
        /// Why.
        error: DescriptionError,
    },
    /// A tree without anything to count.
    #[error("{path}: {error}")]
    Tree {
        /// The file.
        path: String,
        /// Why.
        error: TreeError,
    },
    /// Choices for a model whose shapes are already fixed.
    #[error(
        "{0}: its shapes are fixed; batch, sequence and the like can be chosen for models that are built in only"
    )]
    Fixed(String),
}

/// The model that a user means.
pub fn find(model: &str, choice: Choice) -> Result<Found, FindError> {
    let path = Path::new(model);
    if !path.exists() {
        return match builtin(model, choice) {
            Ok(operators) => Ok(Found { name: model.to_owned(), operators, warnings: Vec::new() }),
            Err(BuiltinError::Unknown(_)) => Err(FindError::Unknown(model.to_owned())),
            Err(error) => Err(FindError::Builtin(error)),
        };
    }
    if choice != Choice::default() {
        return Err(FindError::Fixed(model.to_owned()));
    }
    // The tree of a run is what a run's folder means here.
    let path = if path.is_dir() { path.join("tree.json") } else { path.to_owned() };
    let name = path.display().to_string();
    let text = fs::read_to_string(&path).map_err(|error| FindError::Io { path: name.clone(), error })?;
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    if !is_toml && let Ok(tree) = serde_json::from_str::<ModelTree>(&text) {
        let found = from_tree(&tree, &name).map_err(|error| FindError::Tree { path: name.clone(), error })?;
        return Ok(Found { name, operators: found.operators, warnings: found.warnings });
    }
    let format = if is_toml { Format::Toml } else { Format::Json };
    let operators =
        described(&text, format).map_err(|error| FindError::Description { path: name.clone(), error })?;
    Ok(Found { name, operators, warnings: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_descriptions_and_trees_are_found() {
        assert_eq!(find("vgg11", Choice::default()).unwrap().operators.len(), 27);
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let toml = write("m.toml", "[[operator]]\nname = \"a\"\nkind = \"relu\"\nelements = 4\n");
        assert_eq!(find(&toml, Choice::default()).unwrap().operators.len(), 1);
        let json = write("m.json", r#"{"operator": [{"name": "a", "kind": "relu", "elements": 4}]}"#);
        assert_eq!(find(&json, Choice::default()).unwrap().operators.len(), 1);
        let node = r#"{"path": "a", "type": "Relu", "name": "a", "pass": "forward", "outputs": [{"dims": [4]}]}"#;
        write("tree.json", &format!(r#"{{"nodes": [{node}], "edges": []}}"#));
        let run = folder.path().display().to_string();
        assert_eq!(find(&run, Choice::default()).unwrap().operators.len(), 1);
        let fixed = find(&run, Choice { batch: Some(2), ..Choice::default() }).unwrap_err();
        assert!(fixed.to_string().contains("shapes are fixed"));
    }

    #[test]
    fn what_is_not_there_is_named() {
        let error = find("no-such-model", Choice::default()).unwrap_err().to_string();
        assert!(error.contains("no-such-model") && error.contains("gpt2"), "{error}");
    }
}
