//! Units as types: an energy is never mistaken for a power, nor a duration for a number.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

use serde::{Deserialize, Serialize};

/// An amount of energy.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Joules(pub f64);

/// An amount of energy in the unit of counters.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Microjoules(pub f64);

/// A rate of energy.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Watts(pub f64);

/// An amount of energy as electricity is sold and carbon is counted.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KilowattHours(pub f64);

/// A mass of CO2 equivalent.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Grams(pub f64);

/// Grams of CO2 equivalent per kilowatt-hour of electricity.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GramsPerKwh(pub f64);

impl GramsPerKwh {
    /// Grams for an energy.
    pub fn grams(self, energy: Joules) -> Grams {
        self * energy.kilowatt_hours()
    }

    /// Grams per joule.
    pub fn per_joule(self) -> f64 {
        self.0 / Joules::PER_KILOWATT_HOUR
    }
}

/// A point in time as nanoseconds since the Unix epoch, or the distance between two such points.
///
/// Arithmetic saturates: a hostile time stamp can make a duration absurd, never a panic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub i64);

/// A half-open stretch of time: `start` belongs to it, `end` does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeRange {
    /// The first instant inside.
    pub start: Nanos,
    /// The first instant after.
    pub end: Nanos,
}

impl Joules {
    /// No energy at all.
    pub const ZERO: Joules = Joules(0.0);
    /// Joules of one kilowatt-hour.
    pub const PER_KILOWATT_HOUR: f64 = 3.6e6;

    /// This energy in kilowatt-hours.
    pub fn kilowatt_hours(self) -> KilowattHours {
        KilowattHours(self.0 / Joules::PER_KILOWATT_HOUR)
    }
}

impl Nanos {
    /// The earliest instant that can be written.
    pub const MIN: Nanos = Nanos(i64::MIN);
    /// The latest instant that can be written.
    pub const MAX: Nanos = Nanos(i64::MAX);

    /// This duration in seconds.
    #[inline]
    pub fn seconds(self) -> f64 {
        self.0 as f64 * 1e-9
    }
}

impl TimeRange {
    /// Everything that can be written.
    pub const ALL: TimeRange = TimeRange { start: Nanos::MIN, end: Nanos::MAX };

    /// The smallest range that holds both.
    pub fn union(self, other: TimeRange) -> TimeRange {
        TimeRange { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// What the two have in common; empty (`end <= start`) when they do not meet.
    pub fn intersection(self, other: TimeRange) -> TimeRange {
        TimeRange { start: self.start.max(other.start), end: self.end.min(other.end) }
    }

    /// Whether no instant lies inside.
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// How long it lasts; zero when it is empty.
    pub fn duration(self) -> Nanos {
        if self.is_empty() { Nanos(0) } else { self.end - self.start }
    }
}

impl Add for Nanos {
    type Output = Nanos;
    #[inline]
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    #[inline]
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

impl AddAssign for Nanos {
    #[inline]
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

impl Add for Joules {
    type Output = Joules;
    #[inline]
    fn add(self, other: Joules) -> Joules {
        Joules(self.0 + other.0)
    }
}

impl Sub for Joules {
    type Output = Joules;
    #[inline]
    fn sub(self, other: Joules) -> Joules {
        Joules(self.0 - other.0)
    }
}

impl AddAssign for Joules {
    #[inline]
    fn add_assign(&mut self, other: Joules) {
        self.0 += other.0;
    }
}

impl Sum for Joules {
    fn sum<I: Iterator<Item = Joules>>(values: I) -> Joules {
        Joules(values.map(|joules| joules.0).sum())
    }
}

impl Sum for Grams {
    fn sum<I: Iterator<Item = Grams>>(values: I) -> Grams {
        Grams(values.map(|grams| grams.0).sum())
    }
}

impl Sum for KilowattHours {
    fn sum<I: Iterator<Item = KilowattHours>>(values: I) -> KilowattHours {
        KilowattHours(values.map(|energy| energy.0).sum())
    }
}

/// Carbon intensity times energy is carbon.
impl Mul<KilowattHours> for GramsPerKwh {
    type Output = Grams;
    #[inline]
    fn mul(self, energy: KilowattHours) -> Grams {
        Grams(self.0 * energy.0)
    }
}

/// Energy over time is power.
impl Div<Nanos> for Joules {
    type Output = Watts;
    #[inline]
    fn div(self, time: Nanos) -> Watts {
        Watts(self.0 / time.seconds())
    }
}

/// Power times time is energy.
impl Mul<Nanos> for Watts {
    type Output = Joules;
    #[inline]
    fn mul(self, time: Nanos) -> Joules {
        Joules(self.0 * time.seconds())
    }
}

/// The significant digits of a number unless a format asks for others: `{:.2}` writes two.
const DIGITS: usize = 3;

/// Writes a value with the prefix that leaves one to three digits before the point: `12.3 mJ`.
fn with_prefix(value: f64, unit: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const PREFIXES: [(f64, &str); 7] =
        [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")];
    let digits = f.precision().unwrap_or(DIGITS).clamp(1, 15) as i32;
    // The next prefix begins where the significant digits would round up to it: 999.6 mJ is 1.00 J.
    let size = value.abs() / (1.0 - 0.5 * 10_f64.powi(-digits)) * 1.000_000_1;
    let (scale, prefix) = if size == 0.0 || !size.is_finite() {
        (1.0, "")
    } else {
        PREFIXES.into_iter().find(|(scale, _)| size >= *scale).unwrap_or((1e-9, "n"))
    };
    // A sum of nothing is minus zero.
    let scaled = value / scale + 0.0;
    let rounds_to = |limit: f64| scaled.abs() >= limit * (1.0 - 0.5 * 10_f64.powi(-digits));
    let before = if rounds_to(100.0) { 3 } else { 1 + i32::from(rounds_to(10.0)) };
    let decimals = usize::try_from(digits - before).unwrap_or(0);
    let step = 10_f64.powi((before - digits).max(0));
    let rounded = if step > 1.0 { (scaled / step).round() * step } else { scaled };
    let text = format!("{rounded:.decimals$} {prefix}{unit}");
    // Padding takes a precision for the most letters.
    let missing = f.width().unwrap_or(0).saturating_sub(text.chars().count());
    match f.precision() {
        Some(_) => write!(f, "{text}{}", " ".repeat(missing)),
        None => f.pad(&text),
    }
}

impl fmt::Display for Joules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_prefix(self.0, "J", f)
    }
}

impl fmt::Display for Watts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_prefix(self.0, "W", f)
    }
}

/// A duration with the unit that suits it: `4.01 ms`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_prefix(self.seconds(), "s", f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_power_and_time_convert_into_each_other() {
        assert_eq!(Watts(50.0) * Nanos(4_000_000), Joules(0.2));
        assert_eq!(Joules(0.2) / Nanos(4_000_000), Watts(50.0));
    }

    #[test]
    fn intensity_times_energy_is_carbon() {
        assert_eq!(Joules(7.2e6).kilowatt_hours(), KilowattHours(2.0));
        assert_eq!(GramsPerKwh(331.0).grams(Joules(7.2e6)), Grams(662.0));
        let sum: Grams = [Grams(1.0), Grams(2.5)].into_iter().sum();
        assert_eq!(serde_json::to_value(sum).unwrap(), 3.5);
    }

    #[test]
    fn time_saturates_instead_of_overflowing() {
        assert_eq!(Nanos::MAX - Nanos::MIN, Nanos::MAX);
        assert_eq!(Nanos::MIN + Nanos(-1), Nanos::MIN);
    }

    #[test]
    fn display_keeps_three_digits_and_picks_the_prefix() {
        let shown: Vec<String> =
            [0.0, 1.0, 12.345, 123.4, 1234.5, 0.9996, 0.012, 3.2e-8, -5.0].map(|j| Joules(j).to_string()).into();
        assert_eq!(
            shown,
            ["0.00 J", "1.00 J", "12.3 J", "123 J", "1.23 kJ", "1.00 J", "12.0 mJ", "32.0 nJ", "-5.00 J"]
        );
        assert_eq!(Nanos(4_010_000).to_string(), "4.01 ms");
        assert_eq!(format!("{:>9}", Watts(48.1)), "   48.1 W");
    }

    #[test]
    fn ranges_meet_and_join() {
        let a = TimeRange { start: Nanos(0), end: Nanos(10) };
        let b = TimeRange { start: Nanos(5), end: Nanos(20) };
        assert_eq!(a.intersection(b), TimeRange { start: Nanos(5), end: Nanos(10) });
        assert_eq!(a.union(b), TimeRange { start: Nanos(0), end: Nanos(20) });
        let apart = a.intersection(TimeRange { start: Nanos(10), end: Nanos(11) });
        assert!(apart.is_empty());
        assert_eq!(apart.duration(), Nanos(0));
    }
}
