//! What other trackers write, from one [`Record`] of a run: CodeCarbon's rows, Eco2AI's, CarbonTracker's log, the samples of
//! experiment-impact-tracker, BoAmps reports.

pub mod boamps;
pub mod carbontracker;
pub mod codecarbon;
pub mod eco2ai;
pub mod impact_tracker;
mod record;
mod side_file;
mod table_file;

pub use record::{ClassEnergy, Machine, Parts, Record};
pub use side_file::write_side_file;
pub use table_file::{Mode, TableError, Written, write_row, write_row_or_report};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use jouletree_model::{Nanos, in_spreadsheet};

/// A value of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Not known.
    Empty,
    /// Text.
    Text(String),
    /// A number.
    Number(f64),
    /// A count.
    Count(u64),
}

impl Cell {
    /// As it is written in a table.
    pub fn text(&self) -> String {
        match self {
            Cell::Empty => String::new(),
            Cell::Text(text) => in_spreadsheet(text).into_owned(),
            // What is whole still looks like a measured number to those who read it.
            Cell::Number(number) => format!("{number:?}"),
            Cell::Count(count) => count.to_string(),
        }
    }

    /// As JSON; a number that is none is null.
    pub fn json(&self) -> serde_json::Value {
        match self {
            Cell::Empty => serde_json::Value::Null,
            Cell::Text(text) => text.clone().into(),
            Cell::Number(number) => (*number).into(),
            Cell::Count(count) => (*count).into(),
        }
    }
}

impl From<Option<f64>> for Cell {
    fn from(number: Option<f64>) -> Cell {
        number.map_or(Cell::Empty, Cell::Number)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        if text.is_empty() { Cell::Empty } else { Cell::Text(text.to_owned()) }
    }
}

/// A time as people of the place write it: `2026-11-16T18:04:05`, with another separator if need be.
pub(crate) fn local_time(time: Nanos, separator: char) -> String {
    let zone = TimeZone::system();
    let time = Timestamp::from_nanosecond(i128::from(time.0)).unwrap_or_default().to_zoned(zone);
    time.strftime(&format!("%Y-%m-%d{separator}%H:%M:%S")).to_string()
}
