//! The `.meta.json` that our Python package leaves beside a trace: what the trace itself does not contain.

use std::path::PathBuf;

use jouletree_model::{ModelTree, Warning};
use serde::Deserialize;

use crate::model_file::read_model;
use crate::source::Source;

/// What a `.meta.json` may say about a trace.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Sidecar {
    /// When the clock of the file began.
    pub(crate) start_ns: Option<i64>,
    /// An instant before, and …
    pub(crate) before_start_ns: Option<i64>,
    /// … one after that.
    pub(crate) after_start_ns: Option<i64>,
    /// The file beside it that holds the model that ran.
    model: Option<String>,
    /// What the model is called, if the program ran several.
    root: Option<String>,
    #[serde(skip)]
    path: PathBuf,
}

impl Sidecar {
    /// That of a trace, if there is one that can be read.
    pub(crate) fn of(source: &Source, warnings: &mut Vec<Warning>) -> Option<Sidecar> {
        let path = source.sidecar()?;
        let text = std::fs::read(&path).ok()?;
        match serde_json::from_slice::<Sidecar>(&text) {
            Ok(sidecar) => Some(Sidecar { path, ..sidecar }),
            Err(error) => {
                let message = format!("is not used: not the time base of a trace ({error})");
                warnings.push(Warning::new(path.display().to_string(), message));
                None
            }
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> String {
        self.path.display().to_string()
    }

    /// The model that ran. It lies in the same folder, whatever the file says.
    pub(crate) fn model(&self) -> Option<ModelTree> {
        let name = PathBuf::from(self.model.as_ref()?);
        read_model(&self.path.with_file_name(name.file_name()?)).ok()
    }

    /// What all paths are below: one component.
    pub(crate) fn root(&self) -> Option<String> {
        let root = self.root.as_ref()?.replace('/', "_");
        (!root.is_empty()).then_some(root)
    }
}
