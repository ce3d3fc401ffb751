//! Tables of energies: a row for each call and device, as FECoM's rule gives them.

use std::str::FromStr;

use csv::StringRecord;
use jouletree_model::{Device, Joules, Nanos, Watts};

use super::record::{device, seconds};
use super::{FecomError, FecomKind, FecomProblem, FecomSizes, PROJECT_LEVEL};

/// What a call used of one device.
#[derive(Debug, Clone, PartialEq)]
pub struct FecomRow {
    /// What it is part of.
    pub kind: FecomKind,
    /// The program.
    pub project: String,
    /// Which run of it.
    pub experiment: u32,
    /// Which call of the run, counted from zero; of a call with growing input, which size.
    pub call: u32,
    /// What was called.
    pub function: String,
    /// The device.
    pub device: Device,
    /// How long it took.
    pub duration: Nanos,
    /// How many samples are counted; without samples there is no energy.
    pub samples: u64,
    /// What they sum up to.
    pub gross: Option<Joules>,
    /// The power before the call.
    pub baseline: Option<Watts>,
    /// Its standard deviation.
    pub baseline_deviation: Option<Watts>,
    /// What is left of the sum, as FECoM computes it.
    pub net: Option<Joules>,
    /// The same with the window one sample later, where the call was.
    pub net_shifted: Option<Joules>,
    /// How long the power stays up afterwards.
    pub tail_duration: Option<Nanos>,
    /// What is used then, over the baseline.
    pub tail_net: Option<Joules>,
    /// How large its input was.
    pub sizes: FecomSizes,
    /// Whether samplers were restarted within the call, so that its numbers mean nothing.
    pub is_corrupt: bool,
}

/// Reads a table; `source` is the file's name as messages should show it. Rows of `project-level` are whole programs,
/// others are of `kind`.
pub fn read_fecom_rows(source: &str, bytes: &[u8], kind: FecomKind) -> Result<Vec<FecomRow>, FecomError> {
    let mut rows = Vec::new();
    Fields::each(source, bytes, |fields| {
        let duration = fields.number("exec_time_s")?;
        let whole = |column| fields.optional_number::<f64>(column).map(|bytes| bytes.map(|bytes| bytes as u64));
        let joules = |column| fields.optional_number(column).map(|value| value.map(Joules));
        let watts = |column| fields.optional_number(column).map(|value| value.map(Watts));
        let function = fields.text("function")?.to_owned();
        rows.push(FecomRow {
            kind: if function == PROJECT_LEVEL { FecomKind::Project } else { kind },
            project: fields.text("project")?.to_owned(),
            experiment: fields.number("experiment")?,
            call: fields.number("call_index")?,
            function,
            device: device(fields.text("device")?).ok_or_else(|| fields.wrong("device", "cpu, ram or gpu"))?,
            duration: seconds(duration).ok_or_else(|| fields.wrong("exec_time_s", "a number of seconds"))?,
            samples: fields.number("n_samples")?,
            gross: joules("gross_j")?,
            baseline: watts("baseline_w")?,
            baseline_deviation: watts("baseline_sd_w")?,
            net: joules("net_j")?,
            net_shifted: joules("net_shifted_j")?,
            tail_duration: fields.optional_number("tail_time_s")?.and_then(seconds),
            tail_net: joules("tail_net_j")?,
            sizes: FecomSizes {
                args: whole("args_bytes")?,
                kwargs: whole("kwargs_bytes")?,
                object: whole("object_bytes")?,
            },
            is_corrupt: fields.optional("nested_corrupt") == Some("1"),
        });
        Ok(())
    })?;
    Ok(rows)
}

/// A number in a table.
pub(super) trait TableNumber: FromStr {
    /// What messages call it.
    const WANTED: &'static str;
    /// Whether it can be used.
    fn is_usable(&self) -> bool {
        true
    }
}

impl TableNumber for u32 {
    const WANTED: &'static str = "a whole number";
}

impl TableNumber for u64 {
    const WANTED: &'static str = "a whole number";
}

impl TableNumber for f64 {
    const WANTED: &'static str = "a finite number";
    fn is_usable(&self) -> bool {
        self.is_finite()
    }
}

/// The fields of a row by the names of their columns.
pub(super) struct Fields<'a> {
    header: &'a StringRecord,
    row: &'a StringRecord,
}

impl Fields<'_> {
    /// Hands the rows of a table on; problems are reported with their line.
    pub(super) fn each(
        source: &str,
        bytes: &[u8],
        mut take: impl FnMut(&Fields<'_>) -> Result<(), FecomProblem>,
    ) -> Result<(), FecomError> {
        let mut rows = csv::Reader::from_reader(bytes);
        let broken = |error: csv::Error| {
            let line = error.position().map(|position| format!("line {}", position.line()));
            FecomError { file: source.to_owned(), place: line, problem: FecomProblem::Csv(error.to_string()) }
        };
        let header = rows.headers().map_err(broken)?.clone();
        let mut row = StringRecord::new();
        while rows.read_record(&mut row).map_err(broken)? {
            let line = row.position().map_or(0, csv::Position::line);
            take(&Fields { header: &header, row: &row })
                .map_err(|problem| FecomError::at(source, format!("line {line}"), problem))?;
        }
        Ok(())
    }

    /// A field, or nothing where it is empty or the column is missing.
    pub(super) fn optional(&self, column: &str) -> Option<&str> {
        let place = self.header.iter().position(|name| name == column)?;
        self.row.get(place).filter(|text| !text.is_empty())
    }

    pub(super) fn text(&self, column: &'static str) -> Result<&str, FecomProblem> {
        let place = self.header.iter().position(|name| name == column).ok_or(FecomProblem::NoColumn(column))?;
        Ok(self.row.get(place).unwrap_or_default())
    }

    pub(super) fn number<T: TableNumber>(&self, column: &'static str) -> Result<T, FecomProblem> {
        let text = self.text(column)?;
        text.parse().ok().filter(T::is_usable).ok_or_else(|| self.wrong(column, T::WANTED))
    }

    pub(super) fn optional_number<T: TableNumber>(&self, column: &str) -> Result<Option<T>, FecomProblem> {
        let Some(text) = self.optional(column) else { return Ok(None) };
        let number = text.parse().ok().filter(T::is_usable);
        number.map(Some).ok_or_else(|| self.wrong(column, T::WANTED))
    }

    /// A complaint about a field.
    pub(super) fn wrong(&self, column: &str, wanted: &'static str) -> FecomProblem {
        let text = self.optional(column).unwrap_or_default().to_owned();
        FecomProblem::Field { column: column.to_owned(), text, wanted }
    }
}
