//! The numbers in a power file: times to the nanosecond, and amounts that can be an energy or a power.

use jiff::Timestamp;
use jouletree_model::Nanos;

use super::PowerProblem;
use super::columns::text;

/// How a column writes time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeUnit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Rfc3339,
}

/// From the beginning of 2000 to the end of 2100, in nanoseconds.
const PLAUSIBLE: std::ops::Range<i128> = 946_684_800_000_000_000..4_133_980_800_000_000_000;

/// The units time stamps come in, by their length in nanoseconds, and what to do with each.
const UNITS: [(i128, &str); 4] = [
    (1_000_000_000, "as epoch_s it would be plausible: multiply by 1000 and name the column epoch_ms"),
    (1_000_000, "name the column epoch_ms if it is milliseconds"),
    (1_000, "name the column epoch_us if it is microseconds"),
    (1, "name the column epoch_ns if it is nanoseconds"),
];

/// The instant a field names.
pub(super) fn time(column: &str, unit: TimeUnit, field: &[u8]) -> Result<Nanos, PowerProblem> {
    let unreadable = |remedy: &str| PowerProblem::Time {
        column: column.to_owned(),
        text: text(field).into_owned(),
        remedy: remedy.to_owned(),
    };
    let instant = match unit {
        TimeUnit::Nanoseconds => scaled_decimal(field, 0),
        TimeUnit::Microseconds => scaled_decimal(field, 3),
        TimeUnit::Milliseconds => scaled_decimal(field, 6),
        TimeUnit::Rfc3339 => text(field).parse::<Timestamp>().ok().map(Timestamp::as_nanosecond),
    };
    let Some(instant) = instant else {
        return Err(match (unit, scaled_decimal(field, 0)) {
            (TimeUnit::Rfc3339, Some(number)) => unreadable(plausible_unit(number)),
            (TimeUnit::Rfc3339, None) => {
                unreadable("write RFC 3339 with the offset: 2026-11-15T12:00:00.25Z or …+01:00")
            }
            _ => unreadable("write all its digits, without exponent: floats lose nanoseconds"),
        });
    };
    match i64::try_from(instant) {
        Ok(nanos) if PLAUSIBLE.contains(&instant) => Ok(Nanos(nanos)),
        _ => {
            let remedy = match unit {
                TimeUnit::Rfc3339 => "set the logger's clock",
                _ => plausible_unit(scaled_decimal(field, 0).unwrap_or(instant)),
            };
            Err(PowerProblem::Year {
                column: column.to_owned(),
                text: text(field).into_owned(),
                remedy: remedy.to_owned(),
            })
        }
    }
}

/// The number of watts or joules a field names.
pub(super) fn amount(column: &str, field: &[u8]) -> Result<f64, PowerProblem> {
    let parsed = std::str::from_utf8(field).ok().and_then(|field| field.parse::<f64>().ok());
    match parsed {
        Some(value) if value.is_finite() && value >= 0.0 => Ok(value),
        refused => {
            let (column, text) = (column.to_owned(), text(field).into_owned());
            Err(match refused {
                Some(value) if value.is_finite() => PowerProblem::Negative { column, text },
                Some(_) => PowerProblem::NotFinite { column, text },
                None => PowerProblem::Number { column, text },
            })
        }
    }
}

/// `1794770717476000.125` times ten to the `digits`, what is smaller than one cut off; `None` unless it is a plain
/// decimal number. Never through a float: an f64 has 53 bits and epoch nanoseconds need 61.
fn scaled_decimal(field: &[u8], digits: usize) -> Option<i128> {
    let (negative, field) = match field {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let point = field.iter().position(|byte| *byte == b'.');
    let (whole, fraction) = match point {
        Some(point) => (&field[..point], &field[point + 1..]),
        None => (field, &field[..0]),
    };
    if whole.is_empty() || !whole.iter().chain(fraction).all(u8::is_ascii_digit) {
        return None;
    }
    let padded = fraction.iter().copied().chain(std::iter::repeat(b'0')).take(digits);
    // Saturation is far outside the plausible years, and stays there.
    let append = |number: i128, digit: u8| number.saturating_mul(10).saturating_add(i128::from(digit - b'0'));
    let number = match i64_of_digits(whole) {
        Some(number) => padded.fold(i128::from(number), append),
        None => whole.iter().copied().chain(padded).fold(0, append),
    };
    Some(if negative { -number } else { number })
}

/// The common case, without 128-bit arithmetic for each digit.
fn i64_of_digits(digits: &[u8]) -> Option<i64> {
    (digits.len() <= 18).then(|| digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
}

fn plausible_unit(number: i128) -> &'static str {
    UNITS.iter().find(|(length, _)| PLAUSIBLE.contains(&number.saturating_mul(*length))).map_or(
        "in no unit (s, ms, us, ns) it is a time since 1970: write the time of the wall clock",
        |(_, remedy)| remedy,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_keep_every_nanosecond() {
        assert_eq!(scaled_decimal(b"1794770717476000.125", 3), Some(1_794_770_717_476_000_125));
        assert_eq!(scaled_decimal(b"1794770717476000.1259", 3), Some(1_794_770_717_476_000_125));
        assert_eq!(scaled_decimal(b"1794770717476.", 6), Some(1_794_770_717_476_000_000));
        assert_eq!(scaled_decimal(b"1794770717476000001", 0), Some(1_794_770_717_476_000_001));
        assert_eq!(scaled_decimal(b"-7.5", 3), Some(-7_500));
        for wrong in ["", "-", ".5", "1.2.3", "1e18", "12x", "0x10", "1 2"] {
            assert_eq!(scaled_decimal(wrong.as_bytes(), 3), None, "{wrong}");
        }
        assert_eq!(scaled_decimal("9".repeat(400).as_bytes(), 6), Some(i128::MAX));
    }

    #[test]
    fn times_in_another_unit_name_the_unit() {
        for (text, unit) in [
            ("1794770717", "epoch_s"),
            ("1794770717476", "epoch_ms"),
            ("1794770717476000", "epoch_us"),
            ("17", "no unit"),
            ("-5", "no unit"),
        ] {
            let error = time("epoch_ns", TimeUnit::Nanoseconds, text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("wrong unit?") && error.contains(unit), "{error}");
        }
    }

    #[test]
    fn rfc_3339_needs_its_offset() {
        let parsed = time("time", TimeUnit::Rfc3339, b"2026-11-15T12:00:00.000000001+01:00");
        assert_eq!(parsed, Ok(Nanos(1_794_740_400_000_000_001)));
        for (text, hint) in
            [("2026-11-15T12:00:00", "offset"), ("1794770717476", "epoch_ms"), ("1926-11-15T12:00:00Z", "clock")]
        {
            let error = time("time", TimeUnit::Rfc3339, text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(hint), "{error}");
        }
    }
}
