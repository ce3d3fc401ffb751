//! What can be wrong with the data or with a request, each with what to do about it.

use std::path::PathBuf;

/// Why trees could not be read, fitted or predicted.
#[derive(Debug, thiserror::Error)]
pub enum IreneError {
    /// A file could not be opened or read to its end.
    #[error("{}: {error}; check that the path is right and the file is whole", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// One of the four tables of a folder is absent.
    #[error(
        "{}: there is no `{table}.csv` nor `{table}.csv.gz`; the folder needs ml1_, ml2_, module_ and \
         model_level_features",
        folder.display()
    )]
    MissingTable {
        /// The folder.
        folder: PathBuf,
        /// The table's name without its ending.
        table: &'static str,
    },
    /// A table has no column of that name.
    #[error("{}: there is no column `{column}`; the header must name it", path.display())]
    MissingColumn {
        /// The file.
        path: PathBuf,
        /// The column that is needed.
        column: &'static str,
    },
    /// A value is not what its column holds.
    #[error("{}: line {line}: `{column}` is `{value}`: {wanted}; correct the value or remove the whole tree", path.display())]
    BadValue {
        /// The file.
        path: PathBuf,
        /// The line, counted from one.
        line: u64,
        /// The column or field.
        column: String,
        /// The value in the file.
        value: String,
        /// The value that is expected.
        wanted: &'static str,
    },
    /// A line is no row or no object of the layout.
    #[error("{}: line {line}: {message}; each line must follow the layout of the first", path.display())]
    BadLine {
        /// The file.
        path: PathBuf,
        /// The line, counted from one.
        line: u64,
        /// What is wrong with it.
        message: String,
    },
    /// There is nothing in the file.
    #[error("{}: holds no rows; measure at least two models before a predictor can be fitted", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A fit was asked for with nothing to fit on.
    #[error("there is nothing to fit {what} on; give trees that hold {needed}")]
    NothingToFit {
        /// What was to be fitted.
        what: &'static str,
        /// What the trees lack.
        needed: &'static str,
    },
    /// Utilisation, latency or device energy is needed and absent.
    #[error(
        "{model}: `{scope}` has no measured resources; use the features `specs` or the method `specs-only`, or measure it"
    )]
    NoResources {
        /// The tree's model.
        model: String,
        /// The node.
        scope: String,
    },
    /// The protocol leaves nothing to train or to test on.
    #[error("the protocol `{protocol}` leaves nothing to {purpose}: {why}")]
    NoFolds {
        /// The protocol.
        protocol: &'static str,
        /// `train on` or `test on`.
        purpose: &'static str,
        /// What the data lack.
        why: String,
    },
    /// Nothing is called so.
    #[error("there is no {what} `{name}`; choose one of {known}")]
    UnknownName {
        /// What was to be chosen.
        what: &'static str,
        /// The name that was given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A decomposition did not converge.
    #[error("the least squares of {what} did not converge; look for extreme values in its columns")]
    NotConverged {
        /// What was fitted.
        what: String,
    },
}
