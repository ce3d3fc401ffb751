//! Tables as CSV: separated by commas, semicolons or tabs, which the header shows.

use std::borrow::Cow;

use csv::{ByteRecord, ReaderBuilder};
use jouletree_model::Trace;

use super::cell::Cell;
use super::columns::{Header, is_table};
use super::events::Events;
use super::text::Lines;
use crate::error::TraceError;
use crate::input::Progress;
use crate::options::ReadOptions;
use crate::source::Source;

/// What parts the fields of a header that is one of a table of events.
pub(super) fn delimiter(header: &str) -> Option<u8> {
    [b',', b';', b'\t'].into_iter().find(|delimiter| {
        let mut reader =
            ReaderBuilder::new().has_headers(false).delimiter(*delimiter).from_reader(header.as_bytes());
        let mut fields = csv::StringRecord::new();
        reader.read_record(&mut fields).unwrap_or(false) && is_table(fields.iter())
    })
}

pub(super) fn read(source: &Source, options: &ReadOptions, progress: &Progress) -> Result<Trace, TraceError> {
    let io_error = |error: csv::Error| TraceError::Io { file: source.name().to_owned(), error: error.into() };
    let input = source.open(progress)?;
    let first_line = input.window().split(|byte| *byte == b'\n').next().unwrap_or_default();
    let delimiter = delimiter(&String::from_utf8_lossy(first_line)).unwrap_or(b',');
    let mut reader = ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(Lines::new(input));
    let header = reader.byte_headers().map_err(io_error)?;
    let header: Vec<String> = header.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let header = Header::of(header.iter().map(String::as_str))
        .map_err(|what| TraceError::Columns { file: source.name().to_owned(), what })?;
    let mut events = Events::new(source, header.clone(), "line", options.census);
    let mut record = ByteRecord::new();
    while reader.read_byte_record(&mut record).map_err(io_error)? {
        let line = record.position().map_or(0, csv::Position::line);
        events.row(line, |column| {
            let field = header.get(column).and_then(|place| record.get(place.index)).unwrap_or_default();
            let text = match std::str::from_utf8(field) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => String::from_utf8_lossy(field),
            };
            Cell::of_text(text)
        })?;
    }
    let ending = reader.get_ref().warning(source.name(), events.used);
    events.finish(source, options, ending)
}
