//! What can make a file unreadable as a trace.

use std::io;

use jouletree_model::Warning;

use crate::chrome::Ending;

/// Why a file gave no trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be opened or read.
    #[error("{file}: cannot be read: {error}")]
    Io {
        /// The file.
        file: String,
        /// What the system says.
        error: io::Error,
    },
    /// The file is none of the formats we know.
    #[error("{file}: not a trace jouletree knows: {found}; it reads {known}")]
    Unrecognised {
        /// The file.
        file: String,
        /// What the file looks like.
        found: String,
        /// The formats there are.
        known: String,
    },
    /// The file is a trace, but there is nothing in it.
    #[error("{file}: {what}")]
    Empty {
        /// The file.
        file: String,
        /// What is missing and why.
        what: String,
    },
    /// The file is no model we know.
    #[error(
        "{file}: not a model jouletree knows: {found}; it reads .onnx files, TensorFlow graphs (GraphDef, \
         saved_model.pb), and model trees and graphs in JSON"
    )]
    UnknownModel {
        /// The file.
        file: String,
        /// What the file looks like.
        found: String,
    },
    /// The file is a model, but not a whole one.
    #[error("{file}: byte {at}: the model is damaged or cut short here ({what}); export or copy it again")]
    DamagedModel {
        /// The file.
        file: String,
        /// Where the damage is.
        at: usize,
        /// What is wrong there.
        what: String,
    },
    /// The file is a table of events whose columns cannot be understood.
    #[error("{file}: {what}; a table of events has the header start_ns,end_ns,device,lane,op")]
    Columns {
        /// The file.
        file: String,
        /// Which column, and what to write instead.
        what: String,
    },
    /// The file is of a known format and damaged beyond use.
    #[error("{file}: is damaged: {what}")]
    Damaged {
        /// The file.
        file: String,
        /// Where, and what to do.
        what: String,
    },
}

impl TraceError {
    /// A trace without anything to account; `warnings` say what was left out and so may say why.
    pub(crate) fn empty(file: &str, what: &str, warnings: &[Warning]) -> TraceError {
        let left_out = warnings.iter().map(|warning| match &warning.position {
            Some(position) => format!("; {position}: {}", warning.message),
            None => format!("; {}", warning.message),
        });
        TraceError::Empty { file: file.to_owned(), what: format!("{what}{}", left_out.collect::<String>()) }
    }
}

/// The warning that goes with a file that did not end as it should.
pub(crate) fn ending_warning(file: &str, ending: &Ending, events: u64) -> Option<Warning> {
    let (at, what) = match ending {
        Ending::Complete => return None,
        Ending::Cut { at, why } => {
            let why = why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
            (at, format!("the file is cut short here{why}"))
        }
        Ending::Wrong { at, expected } => (at, format!("the file is damaged here: expected {expected}")),
    };
    let message = format!("{what}; the {events} events before are used, what came after is lost");
    Some(Warning::new(file, message).at(format!("byte {at}")))
}
