//! One line of a meter: what its fields mean, and their numbers.

use jiff::Timestamp;
use jouletree_model::{Nanos, PowerUnit};

/// From the beginning of 2000 to the end of 2100, in nanoseconds.
const PLAUSIBLE: std::ops::Range<i128> = 946_684_800_000_000_000..4_133_980_800_000_000_000;

/// How time may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeForm {
    /// A number of units since 1970, the unit given by its decimals in a nanosecond.
    Epoch(usize),
    /// RFC 3339, or a number since 1970 in the unit that makes it an instant of this century.
    Any,
}

/// Which field of a line says what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Columns {
    time: Option<(usize, TimeForm)>,
    value: usize,
    count: usize,
    pub(super) unit: PowerUnit,
}

/// A line that could be read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// Its time, when it has one.
    pub(super) time: Option<Nanos>,
    pub(super) value: f64,
}

impl Columns {
    /// What a header says; `None` when the line is none.
    pub(super) fn of_header(line: &str) -> Option<Columns> {
        let names: Vec<String> = fields(line).map(str::to_ascii_lowercase).collect();
        let place = |wanted: &str| names.iter().position(|name| name == wanted);
        let (value, unit) = match (place("watts"), place("joules")) {
            (Some(place), None) => (place, PowerUnit::Watts),
            (None, Some(place)) => (place, PowerUnit::Joules),
            _ => return None,
        };
        let forms = [
            ("epoch_s", TimeForm::Epoch(9)),
            ("epoch_ms", TimeForm::Epoch(6)),
            ("epoch_us", TimeForm::Epoch(3)),
            ("epoch_ns", TimeForm::Epoch(0)),
            ("time", TimeForm::Any),
            ("timestamp", TimeForm::Any),
        ];
        let time = forms.into_iter().find_map(|(name, form)| place(name).map(|place| (place, form)));
        Some(Columns { time, value, count: names.len(), unit })
    }

    /// What a line without a header means: a value, or a time and a value. `None` for more fields.
    pub(super) fn of_line(line: &str, unit: PowerUnit) -> Option<Columns> {
        match fields(line).count() {
            1 => Some(Columns { time: None, value: 0, count: 1, unit }),
            2 => Some(Columns { time: Some((0, TimeForm::Any)), value: 1, count: 2, unit }),
            _ => None,
        }
    }

    /// What a line says; `None` when it cannot be read.
    pub(super) fn read(&self, line: &str) -> Option<Point> {
        // A line with fewer fields was cut off, and its last number with it.
        if fields(line).count() != self.count {
            return None;
        }
        let value: f64 = fields(line).nth(self.value)?.parse().ok()?;
        let time = match self.time {
            Some((place, form)) => Some(instant(fields(line).nth(place)?, form)?),
            None => None,
        };
        (value.is_finite() && value >= 0.0).then_some(Point { time, value })
    }
}

fn fields(line: &str) -> impl Iterator<Item = &str> {
    line.split([',', ';', '\t']).map(str::trim)
}

fn instant(text: &str, form: TimeForm) -> Option<Nanos> {
    let plausible = |decimals: &usize| scaled(text, *decimals).filter(|instant| PLAUSIBLE.contains(instant));
    let instant = match form {
        TimeForm::Epoch(decimals) => plausible(&decimals)?,
        TimeForm::Any => match [9, 6, 3, 0].iter().find_map(plausible) {
            Some(instant) => instant,
            None => text.parse::<Timestamp>().ok()?.as_nanosecond(),
        },
    };
    i64::try_from(instant).ok().map(Nanos)
}

/// A plain decimal number times ten to the `decimals`, what is smaller than one cut off; never through a float, which
/// cannot hold the nanoseconds since 1970.
fn scaled(text: &str, decimals: usize) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = !whole.is_empty() && whole.len() <= 20;
    if !is_number || !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = whole.bytes().chain(fraction.bytes().chain(std::iter::repeat(b'0')).take(decimals));
    Some(digits.fold(0, |number, digit| number * 10 + i128::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(header: Option<&str>, line: &str) -> Option<Point> {
        let columns = match header {
            Some(header) => Columns::of_header(header),
            None => Columns::of_line(line, PowerUnit::Watts),
        };
        columns.and_then(|columns| columns.read(line))
    }

    #[test]
    fn times_come_in_every_unit() {
        let expected = Some(Point { time: Some(Nanos(1_794_770_717_250_000_000)), value: 12.5 });
        for line in [
            "1794770717.25,12.5",
            "1794770717250,12.5",
            "1794770717250000 ; 12.5",
            "1794770717250000000\t12.5",
            "2026-11-15T19:25:17.25Z,12.5",
            "2026-11-15T20:25:17.25+01:00, 1.25e1",
        ] {
            assert_eq!(read(None, line), expected, "{line}");
        }
        assert_eq!(read(Some("Watts,note,epoch_ms"), "12.5,x,1794770717250"), expected);
        assert_eq!(read(Some("epoch_s,watts"), "1794770717.250,12.5"), expected);
        assert_eq!(read(None, "12.5"), Some(Point { time: None, value: 12.5 }));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for line in ["", "x", "-3", "NaN", "inf", "17,12.5", "yesterday,12.5", "1794770717,12,5", "1794770717,"] {
            assert_eq!(read(None, line), None, "{line}");
        }
        // Half a line is not a value without a time.
        assert_eq!(read(Some("time,watts"), "12.5"), None);
        // Milliseconds that claim to be seconds.
        assert_eq!(read(Some("epoch_s,watts"), "1794770717250,12.5"), None);
        assert_eq!(read(Some("time,watts"), &format!("{},1", "9".repeat(400))), None);
    }

    #[test]
    fn headers_are_told_from_lines() {
        assert_eq!(Columns::of_header("time,joules").map(|columns| columns.unit), Some(PowerUnit::Joules));
        for line in ["1,2", "time,power", "time,watts,joules", ""] {
            assert_eq!(Columns::of_header(line), None, "{line}");
        }
    }
}
