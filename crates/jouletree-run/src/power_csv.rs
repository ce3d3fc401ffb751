//! Power CSV: readings of meters as anybody can log them. Rows become one record for each device and domain;
//! what cannot be meant is an error with its line, what can be mended is mended with one warning for each record.

mod columns;
mod number;
mod problem;
mod readings;

use std::collections::HashMap;

use csv::ByteRecord;
use jouletree_model::{Device, Kind, PowerRecord, Warning};

use columns::Columns;
pub use problem::{PowerError, PowerProblem};
use readings::{Reading, Readings};

/// What a power file says.
#[derive(Debug, Clone, PartialEq)]
pub struct PowerFile {
    /// A record for each device and domain, in the order in which they first appear.
    pub records: Vec<PowerRecord>,
    /// What was wrong with the file although it could be used.
    pub warnings: Vec<Warning>,
}

/// Reads a power CSV; `source` is the file's name as messages should show it.
pub fn read_power_csv(source: &str, bytes: &[u8]) -> Result<PowerFile, PowerError> {
    let bytes = utf8_part(bytes).map_err(|line| PowerError::at(source, line, PowerProblem::NotUtf8))?;
    let mut rows = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
    let mut row = ByteRecord::new();
    let unreadable = |error: csv::Error, row: &ByteRecord| {
        PowerError::at(source, line_of(row), PowerProblem::Unreadable(error.to_string()))
    };

    if !rows.read_byte_record(&mut row).map_err(|error| unreadable(error, &row))? {
        return Err(PowerError::whole(source, PowerProblem::NoHeader));
    }
    let columns = Columns::from_header(&row).map_err(|problem| PowerError::at(source, line_of(&row), problem))?;

    let mut records = Records::default();
    let mut cut: Option<(u64, PowerProblem)> = None;
    let mut last_line = None;
    while rows.read_byte_record(&mut row).map_err(|error| unreadable(error, &row))? {
        let line = line_of(&row);
        last_line = Some(line);
        if let Err(problem) = records.add(&columns, &row, line) {
            let is_last = rows.position().byte() >= bytes.len() as u64;
            if !(is_last && lacks_newline(bytes)) {
                return Err(PowerError::at(source, line, problem));
            }
            cut = Some((line, problem));
        }
    }
    if records.readings.is_empty() {
        // A lone row that cannot be read is a mistake of the writer rather than of a killed logger.
        return Err(match cut {
            Some((line, problem)) => PowerError::at(source, line, problem),
            None => PowerError::whole(source, PowerProblem::NoRows),
        });
    }

    let mut file = PowerFile { records: Vec::new(), warnings: columns.warning(source).into_iter().collect() };
    let mut cut = cut.map(|(line, _)| line);
    let unfinished = last_line.filter(|_| lacks_newline(bytes));
    for readings in records.readings {
        let (record, warnings) = readings.into_record(source, columns.unit, unfinished, &mut cut)?;
        file.records.push(record);
        file.warnings.extend(warnings);
    }
    if let Some(line) = cut {
        let message = "the last line is cut off (was the logger killed?); it was left out";
        file.warnings.push(Warning::new(source, message).at(format!("line {line}")));
    }
    Ok(file)
}

/// The readings of every device and domain, found again without allocation.
#[derive(Default)]
struct Records {
    readings: Vec<Readings>,
    /// Where rows that spell device, domain and kind in just this way belong.
    by_spelling: HashMap<Box<[u8]>, usize>,
    by_meter: HashMap<(Device, Option<String>), usize>,
    spelling: Vec<u8>,
}

impl Records {
    fn add(&mut self, columns: &Columns, row: &ByteRecord, line: u64) -> Result<(), PowerProblem> {
        columns.check_length(row)?;
        let time = columns.time(row)?;
        let value = columns.value(row)?;
        let index = self.index_of(columns, row)?;
        if let Some(readings) = self.readings.get_mut(index) {
            readings.push(Reading { time, value, line }, columns.unit);
        }
        Ok(())
    }

    fn index_of(&mut self, columns: &Columns, row: &ByteRecord) -> Result<usize, PowerProblem> {
        self.spelling.clear();
        for field in [columns.device(row), columns.domain(row), columns.kind(row)] {
            self.spelling.extend_from_slice(field);
            self.spelling.push(b'\n');
        }
        if let Some(index) = self.by_spelling.get(self.spelling.as_slice()) {
            return Ok(*index);
        }
        let device: Device = columns::text(columns.device(row)).parse()?;
        let domain = Some(columns::text(columns.domain(row))).filter(|domain| !domain.is_empty());
        let kind: Kind = match columns::text(columns.kind(row)).to_ascii_lowercase() {
            kind if kind.is_empty() => Kind::Measured,
            kind => kind.parse()?,
        };
        let meter = (device, domain.map(|domain| domain.into_owned()));
        let index = match self.by_meter.get(&meter) {
            Some(index) => *index,
            None => {
                let (device, domain) = meter.clone();
                self.readings.push(Readings::new(device, domain, kind));
                self.by_meter.insert(meter, self.readings.len() - 1);
                self.readings.len() - 1
            }
        };
        if let Some(known) = self.readings.get(index).filter(|known| known.kind != kind) {
            return Err(PowerProblem::KindChanges { meter: known.name(), from: known.kind, to: kind });
        }
        self.by_spelling.insert(self.spelling.as_slice().into(), index);
        Ok(index)
    }
}

/// The bytes up to a character cut off at the very end, or the line that is not UTF-8.
fn utf8_part(bytes: &[u8]) -> Result<&[u8], u64> {
    match std::str::from_utf8(bytes) {
        Ok(_) => Ok(bytes),
        Err(error) if error.error_len().is_none() => Ok(&bytes[..error.valid_up_to()]),
        Err(error) => {
            let newlines = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
            Err(newlines as u64 + 1)
        }
    }
}

fn lacks_newline(bytes: &[u8]) -> bool {
    !matches!(bytes.last(), Some(b'\n' | b'\r'))
}

fn line_of(row: &ByteRecord) -> u64 {
    row.position().map_or(1, csv::Position::line)
}
