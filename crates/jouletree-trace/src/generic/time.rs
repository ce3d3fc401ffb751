//! What the numbers in columns of time mean. Never through floating point, unless the file itself holds such numbers.

use jiff::Timestamp;
use jouletree_model::Nanos;

use super::cell::Cell;
use super::columns::{Column, ColumnPosition, Header};
use crate::json::scaled_decimal;

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
}

impl Unit {
    pub(super) fn of_suffix(suffix: &str) -> Option<Unit> {
        match suffix {
            "ns" => Some(Unit::Nanoseconds),
            "us" => Some(Unit::Microseconds),
            "ms" => Some(Unit::Milliseconds),
            "s" => Some(Unit::Seconds),
            _ => None,
        }
    }

    /// How many decimal places make it nanoseconds.
    fn places(self) -> i32 {
        match self {
            Unit::Nanoseconds => 0,
            Unit::Microseconds => 3,
            Unit::Milliseconds => 6,
            Unit::Seconds => 9,
        }
    }
}

/// A whole number above this, of the year 1973, can only be nanoseconds since the epoch.
const SURELY_EPOCH_NANOS: i64 = 100_000_000_000_000_000;

/// How a column writes time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Number(Unit),
    /// A time of day: RFC 3339, or a time stamp that says its unit itself.
    Instant,
}

/// How the columns of time of a table are to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Forms {
    pub(super) start: Form,
    pub(super) end: Option<Form>,
    pub(super) duration: Option<Form>,
}

impl Forms {
    /// Finds them from the header and a first row; `Ok(None)` when that row has none.
    pub(super) fn of<'a>(header: &Header, cell: &impl Fn(Column) -> Cell<'a>) -> Result<Option<Forms>, String> {
        let Some(place) = header.get(Column::Start) else { return Ok(None) };
        let start_cell = cell(Column::Start);
        let start = match (place.unit, &start_cell) {
            (_, Cell::Empty) => return Ok(None),
            (_, Cell::Instant(_)) => Form::Instant,
            (Some(unit), _) => Form::Number(unit),
            (None, cell) if instant(cell).is_some() => Form::Instant,
            (None, cell) => match cell_number(cell, Unit::Nanoseconds) {
                None => return Ok(None),
                Some(number) if number > SURELY_EPOCH_NANOS && is_whole(cell) => Form::Number(Unit::Nanoseconds),
                Some(_) => return Err(unknown_unit(place, &cell.text())),
            },
        };
        // A column without a unit follows `start` without one.
        let follows = place.unit.is_none() && start == Form::Number(Unit::Nanoseconds);
        let other = |column, may_be_instant: bool| -> Result<Option<Form>, String> {
            let Some(place) = header.get(column) else { return Ok(None) };
            let cell = cell(column);
            match place.unit {
                _ if may_be_instant && instant(&cell).is_some() => Ok(Some(Form::Instant)),
                Some(unit) => Ok(Some(Form::Number(unit))),
                None if follows => Ok(Some(Form::Number(Unit::Nanoseconds))),
                None if may_be_instant && start == Form::Instant => Ok(Some(Form::Instant)),
                None => Err(unknown_unit(place, &cell.text())),
            }
        };
        let end = other(Column::End, true)?;
        // What the end determines, the duration need not.
        let duration = if end.is_some() { None } else { other(Column::Duration, false)? };
        let forms = Forms { start, end, duration };
        let is_day = |form, cell: &Cell<'_>| time(cell, form).is_some_and(|at| at.0 > SURELY_EPOCH_NANOS);
        if end == Some(Form::Instant) && !is_day(start, &start_cell) {
            return Err(format!("`{}` does not count from 1970 and the end does", place.written));
        }
        Ok(Some(forms))
    }
}

fn unknown_unit(place: &ColumnPosition, text: &str) -> String {
    let name = &place.written;
    format!(
        "column `{name}` (`{text}`) does not say its unit: name it {name}_ns, {name}_us, {name}_ms or {name}_s; \
         times of day may also be written as RFC 3339"
    )
}

fn is_whole(cell: &Cell<'_>) -> bool {
    cell.text().bytes().all(|byte| byte.is_ascii_digit())
}

/// The time of day that a field holds, if it holds one in words.
fn instant(cell: &Cell<'_>) -> Option<Nanos> {
    match cell {
        Cell::Instant(instant) => Some(*instant),
        Cell::Text(text) if text.contains('-') && text.contains(':') => {
            let instant: Timestamp = text.parse().ok()?;
            i64::try_from(instant.as_nanosecond()).ok().map(Nanos)
        }
        _ => None,
    }
}

fn cell_number(cell: &Cell<'_>, unit: Unit) -> Option<i64> {
    match cell {
        Cell::Empty | Cell::Instant(_) => None,
        Cell::Integer(number) if unit == Unit::Nanoseconds => Some(*number),
        cell => scaled_decimal(cell.text().as_bytes(), unit.places()),
    }
}

/// The time or duration that a field holds.
pub(super) fn time(cell: &Cell<'_>, form: Form) -> Option<Nanos> {
    match form {
        Form::Instant => instant(cell),
        Form::Number(unit) => cell_number(cell, unit).map(Nanos),
    }
}

/// How far off a floating-point number may be, if that is more than a nanosecond.
pub(super) fn coarseness(cell: &Cell<'_>, form: Form) -> Option<Nanos> {
    let (Cell::Float(number), Form::Number(unit)) = (cell, form) else { return None };
    let step = number.abs() * f64::EPSILON * 10_f64.powi(unit.places());
    (step > 1.0).then_some(Nanos(step as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms(header: &str, row: &str) -> Result<Option<Forms>, String> {
        let header = Header::of(header.split(',')).unwrap();
        let fields: Vec<&str> = row.split(',').collect();
        Forms::of(&header, &|column| {
            header.get(column).map_or(Cell::Empty, |place| Cell::of_text(fields[place.index].into()))
        })
    }

    fn forms_of(header: &str, row: &str) -> (Form, Option<Form>, Option<Form>) {
        let forms = forms(header, row).unwrap().unwrap();
        (forms.start, forms.end, forms.duration)
    }

    const NANOS: Form = Form::Number(Unit::Nanoseconds);
    const MICROS: Form = Form::Number(Unit::Microseconds);

    #[test]
    fn units_stand_in_the_header() {
        assert_eq!(forms_of("start_us,dur_ns,op", "1.5,7,a"), (MICROS, None, Some(NANOS)));
        assert_eq!(forms_of("start_us,end_us,dur,op", "1.5,7,3,a"), (MICROS, Some(MICROS), None));
    }

    #[test]
    fn epoch_nanoseconds_and_rfc_3339_need_no_unit() {
        assert_eq!(forms_of("start,end,op", "1794771668117931424,1,a"), (NANOS, Some(NANOS), None));
        assert_eq!(forms_of("start,dur,op", "1794771668117931424,17,a"), (NANOS, None, Some(NANOS)));
        let row = "2026-11-15T12:00:00.000000001Z,2026-11-15T12:00:00.5+01:00,a";
        assert_eq!(forms_of("start,end,op", row), (Form::Instant, Some(Form::Instant), None));
        let mixed = "1794771668117931424,2026-11-15T12:00:00Z,a";
        assert_eq!(forms_of("start_ns,end,op", mixed), (NANOS, Some(Form::Instant), None));
    }

    #[test]
    fn nothing_is_guessed() {
        for (header, row, part) in [
            ("start,end,op", "17,18,a", "`start` (`17`) does not say its unit"),
            ("start,end,op", "1794771668.5,1,a", "start_ns"),
            ("start,end,op", "1794771668117931424.5,1,a", "start_ns"),
            ("start_us,dur,op", "17,18,a", "dur_us"),
            ("start_ns,end,op", "17,18,a", "end_ns"),
            ("start,dur,op", "2026-11-15T12:00:00Z,5,a", "dur_ns"),
            ("start_ns,end,op", "17,2026-11-15T12:00:00Z,a", "does not count from 1970"),
        ] {
            let error = forms(header, row).unwrap_err();
            assert!(error.contains(part), "{header}: {error}");
        }
        assert!(forms("start,end,op", "soon,later,a").unwrap().is_none(), "a row without times");
    }

    #[test]
    fn decimals_keep_every_nanosecond() {
        let text =
            |text: &str, unit| time(&Cell::of_text(text.to_owned().into()), Form::Number(unit)).map(|at| at.0);
        assert_eq!(text("1794771668.117931424", Unit::Seconds), Some(1_794_771_668_117_931_424));
        assert_eq!(text("1794771668117.931424", Unit::Milliseconds), Some(1_794_771_668_117_931_424));
        assert_eq!(text("1794771668117931424", Unit::Nanoseconds), Some(1_794_771_668_117_931_424));
        assert_eq!(text("0.6", Unit::Nanoseconds), Some(1));
        assert_eq!(text("1e3", Unit::Microseconds), Some(1_000_000));
        assert_eq!(text("99999999999", Unit::Seconds), None);
        assert_eq!(time(&Cell::Float(0.1), Form::Number(Unit::Seconds)), Some(Nanos(100_000_000)));
    }

    #[test]
    fn coarse_numbers_are_told() {
        let seconds = Form::Number(Unit::Seconds);
        assert!(coarseness(&Cell::Float(1_794_771_668.1), seconds).is_some_and(|step| step > Nanos(100)));
        assert_eq!(coarseness(&Cell::Float(17.5), seconds), None);
        assert_eq!(coarseness(&Cell::Integer(1_794_771_668), seconds), None);
    }
}
