//! Tables as JSON lines: an object in each line, whose keys are the columns. Numbers are taken as they are in the
//! text, so that none of their digits is lost.

use std::io::{BufRead, BufReader};

use jouletree_model::Trace;

use super::cell::Cell;
use super::columns::{Header, is_known};
use super::events::Events;
use super::text::Lines;
use crate::error::TraceError;
use crate::input::Progress;
use crate::json::{Scanner, Stop};
use crate::options::ReadOptions;
use crate::source::Source;

pub(super) fn read(source: &Source, options: &ReadOptions, progress: &Progress) -> Result<Trace, TraceError> {
    let columns_error = |what| TraceError::Columns { file: source.name().to_owned(), what };
    let mut lines = BufReader::new(Lines::new(source.open(progress)?));
    // The keys seen so far that mean anything; a header is made of them.
    let mut keys: Vec<String> = Vec::new();
    let mut header = Header::default();
    let mut events = Events::new(source, header.clone(), "line", options.census);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let length = lines.read_until(b'\n', &mut line);
        if length.map_err(|error| TraceError::Io { file: source.name().to_owned(), error })? == 0 {
            break;
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let known = keys.len();
        let Ok(fields) = fields(&line, &mut keys) else {
            let text = String::from_utf8_lossy(&line).trim().to_owned();
            events.reject(number, ("that are not JSON objects", text));
            continue;
        };
        if keys.len() > known {
            header = Header::of(keys.iter().map(String::as_str)).map_err(columns_error)?;
            events.set_header(header.clone());
        }
        events.row(number, |column| {
            let field = header.get(column).and_then(|place| fields.get(place.index));
            field.cloned().unwrap_or(Cell::Empty)
        })?;
    }
    let ending = lines.get_ref().warning(source.name(), events.used);
    events.finish(source, options, ending)
}

/// The values in a line, in the order of `keys`, to which new ones are added.
fn fields<'a>(line: &'a [u8], keys: &mut Vec<String>) -> Result<Vec<Cell<'a>>, Stop> {
    let known = keys.len();
    read_fields(line, keys).inspect_err(|_| keys.truncate(known))
}

fn read_fields<'a>(line: &'a [u8], keys: &mut Vec<String>) -> Result<Vec<Cell<'a>>, Stop> {
    let mut fields = vec![Cell::Empty; keys.len()];
    let mut scanner = Scanner::new(line);
    scanner.require(b'{', "an object")?;
    let mut first = true;
    while scanner.next_member(&mut first, b'}')? {
        let key = scanner.key()?.text();
        let cell = match scanner.peek()? {
            b'"' => Cell::of_text(scanner.string()?.text().into()),
            b'0'..=b'9' | b'-' => Cell::of_text(String::from_utf8_lossy(scanner.number()?)),
            _ => {
                scanner.skip_value()?;
                Cell::Empty
            }
        };
        let index = match keys.iter().position(|known| *known == key) {
            Some(index) => index,
            None if is_known(&key) => {
                keys.push(key);
                fields.push(Cell::Empty);
                keys.len() - 1
            }
            None => continue,
        };
        fields[index] = cell;
    }
    Ok(fields)
}
