//! What can be wrong with data of the FECoM study, and where.

/// Why data cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {}{problem}", .place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default())]
pub struct FecomError {
    /// The file's name.
    pub file: String,
    /// The line, or the record and its part; `None` when it is about the file as a whole.
    pub place: Option<String>,
    /// What is wrong.
    pub problem: FecomProblem,
}

/// What is wrong with data of the FECoM study.
#[derive(Debug, thiserror::Error)]
pub enum FecomProblem {
    /// The operating system refused.
    #[error("cannot be read: {0}")]
    Io(#[from] std::io::Error),
    /// Larger than anything the study published.
    #[error("unpacks to more than {0} bytes; is this the right file?")]
    TooLarge(u64),
    /// Not JSON.
    #[error("not JSON: {0}; was the file cut off?")]
    Json(String),
    /// JSON of another form.
    #[error("{0}")]
    Form(String),
    /// Not CSV.
    #[error("not readable as CSV: {0}")]
    Csv(String),
    /// Nothing that is known.
    #[error(
        "this is no data of FECoM: expected are experiment-N.json, a table with the columns project, function, device and \
         net_j, or raw samples with the columns device, time_s and value"
    )]
    Unknown,
    /// A folder without data.
    #[error(
        "no experiment-N.json and no table (method_level, project_level, data_size as .csv or .csv.gz) is in this folder"
    )]
    EmptyFolder,
    /// A column is missing.
    #[error("there is no column `{0}`")]
    NoColumn(&'static str),
    /// A field cannot be understood.
    #[error("`{text}` in column `{column}` is not {wanted}")]
    Field {
        /// The column.
        column: String,
        /// The value in the file.
        text: String,
        /// What should.
        wanted: &'static str,
    },
    /// Samples that are not in the order of time.
    #[error("time does not advance")]
    Time,
    /// The times of the samples are unknown.
    #[error("raw samples need their times beside them, in {0}")]
    NoTimes(String),
    /// Samples of a call that the times do not name.
    #[error("{0} has no times of `{1}`, experiment {2}")]
    NoTimesOf(String, String, u32),
}

impl FecomError {
    pub(super) fn whole(file: &str, problem: FecomProblem) -> FecomError {
        FecomError { file: file.to_owned(), place: None, problem }
    }

    pub(super) fn at(file: &str, place: impl Into<String>, problem: FecomProblem) -> FecomError {
        FecomError { file: file.to_owned(), place: Some(place.into()), problem }
    }
}
