//! What can be wrong with a power file, and what to do about it.

use jouletree_model::{DeviceParseError, Kind, UnknownKind};

/// Why a power file cannot be used, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {}{problem}", .line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct PowerError {
    /// The file's name.
    pub file: String,
    /// The line, counted from one; `None` when it is about the file as a whole.
    pub line: Option<u64>,
    /// What is wrong.
    pub problem: PowerProblem,
}

/// What is wrong with a power file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PowerProblem {
    /// Bytes that are no text.
    #[error("this is not UTF-8 text; save the file as UTF-8 (PowerShell's `>` writes UTF-16)")]
    NotUtf8,
    /// The CSV reader gave up.
    #[error("not readable as CSV: {0}")]
    Unreadable(String),
    /// An empty file, or one that begins with data.
    #[error("the first line must name the columns, for example: epoch_ns,device,watts")]
    NoHeader,
    /// A column that every power file has is missing.
    #[error("there is no column {wanted}; the columns are {found}")]
    Missing {
        /// The column, or the choice of columns.
        wanted: &'static str,
        /// The columns there are.
        found: String,
    },
    /// Two columns say the same thing.
    #[error("`{0}` and `{1}` say the same thing twice; keep one of the columns")]
    Twice(String, String),
    /// A power or energy column in another unit.
    #[error(
        "column `{0}` is in an unknown or another unit; convert to watts (power) or joules (a cumulative counter) and name the column so"
    )]
    OtherUnit(String),
    /// The header and no data.
    #[error("there are no readings below the header; was the logger running?")]
    NoRows,
    /// A row of another length.
    #[error(
        "the row has {found} fields, the header names {wanted}; quote fields with commas, and write 1.5 rather than 1,5"
    )]
    Length {
        /// How many columns the header names.
        wanted: usize,
        /// How many fields the row has.
        found: usize,
    },
    /// A field that should be a number.
    #[error("`{text}` in column {column} is not a number; write plain digits, such as 48.25")]
    Number {
        /// The column.
        column: String,
        /// The value in the file.
        text: String,
    },
    /// NaN or infinity.
    #[error("`{text}` in column {column} is not finite; leave out rows without a reading")]
    NotFinite {
        /// The column.
        column: String,
        /// The value in the file.
        text: String,
    },
    /// Less than nothing.
    #[error("`{text}` in column {column} is negative; power and energy are counted from zero upwards")]
    Negative {
        /// The column.
        column: String,
        /// The value in the file.
        text: String,
    },
    /// A time that cannot be read.
    #[error("`{text}` in column {column} is not a time; {remedy}")]
    Time {
        /// The column.
        column: String,
        /// The value in the file.
        text: String,
        /// How to write it.
        remedy: String,
    },
    /// A time far from any run.
    #[error("`{text}` in column {column} is not between the years 2000 and 2100: wrong unit? {remedy}")]
    Year {
        /// The column.
        column: String,
        /// The value in the file.
        text: String,
        /// The unit that would make sense of it.
        remedy: String,
    },
    /// An unknown device.
    #[error(transparent)]
    Device(#[from] DeviceParseError),
    /// An unknown kind.
    #[error(transparent)]
    Kind(#[from] UnknownKind),
    /// Measured numbers mixed with others.
    #[error("{meter} is {from} above and {to} here; one meter has one kind: give the rows a domain of their own")]
    KindChanges {
        /// The device and domain.
        meter: String,
        /// Its kind so far.
        from: Kind,
        /// Its kind here.
        to: Kind,
    },
    /// A cumulative counter that falls.
    #[error("the counter of {meter} falls from {from} J to {to} J: it wrapped or was reset; unwrap it first")]
    CounterFalls {
        /// The device and domain.
        meter: String,
        /// The reading before.
        from: String,
        /// The reading here.
        to: String,
    },
}

impl PowerError {
    pub(super) fn at(file: &str, line: u64, problem: PowerProblem) -> PowerError {
        PowerError { file: file.to_owned(), line: Some(line), problem }
    }

    pub(super) fn whole(file: &str, problem: PowerProblem) -> PowerError {
        PowerError { file: file.to_owned(), line: None, problem }
    }
}
