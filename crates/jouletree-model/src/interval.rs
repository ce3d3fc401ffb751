//! How far off an energy may be: as factors that hold for all energies of a device, and as joules on both sides of one.
//!
//! The level is a part of the type, so that intervals of two levels are never added or compared. Where no level is written
//! it is [`LEVEL`], the one that people are shown; another is shown with a label.

use std::fmt;

use serde::Serialize;

use crate::Joules;

/// Two sides are called equal when they differ by no more than this part of the wider one.
const EVEN: f64 = 0.1;

/// The level of intervals, in percent, unless they say otherwise.
pub const LEVEL: u8 = 95;

/// The ends of an interval as factors of the value between them. It is a common factor: all energies of a device are
/// off by the same, whatever part of the whole they are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread<const PERCENT: u8 = LEVEL> {
    low: f64,
    high: f64,
}

/// The ends of an interval that holds an energy in so many of 100 cases.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval<const PERCENT: u8 = LEVEL> {
    /// The lower end; the cases outside are shared by both ends.
    pub low: Joules,
    /// The upper end.
    pub high: Joules,
}

impl<const PERCENT: u8> Interval<PERCENT> {
    /// Its level in percent.
    pub const LEVEL: u8 = PERCENT;

    /// The interval of the sum of two energies that are off in the same direction: rather too wide than too narrow.
    pub fn together(self, other: Interval<PERCENT>) -> Interval<PERCENT> {
        Interval { low: self.low + other.low, high: self.high + other.high }
    }
}

impl<const PERCENT: u8> Spread<PERCENT> {
    /// The spread of an energy whose interval is known; `None` where that says nothing about other energies: nothing was
    /// used, or the energy is not inside.
    pub fn of(energy: Joules, interval: Interval<PERCENT>) -> Option<Spread<PERCENT>> {
        let (low, high) = (interval.low.0 / energy.0, interval.high.0 / energy.0);
        let can_be = energy.0 > 0.0 && (0.0..=1.0).contains(&low) && high >= 1.0 && high.is_finite();
        can_be.then_some(Spread { low, high })
    }

    /// The factor of the lower end, from 0 to 1.
    pub fn low(self) -> f64 {
        self.low
    }

    /// The factor of the upper end, 1 or more.
    pub fn high(self) -> f64 {
        self.high
    }

    /// The interval of an energy that is off by this factor.
    pub fn around(self, energy: Joules) -> Interval<PERCENT> {
        Interval { low: Joules(energy.0 * self.low), high: Joules(energy.0 * self.high) }
    }

    /// How many significant digits an energy deserves that is off by this factor: two, three, or four.
    pub fn digits(self) -> usize {
        match (1.0 - self.low).max(self.high - 1.0) {
            reach if reach >= 0.1 => 2,
            reach if reach >= 0.01 => 3,
            _ => 4,
        }
    }

    /// Whether it reaches about as far down as up, so that one number describes it.
    pub fn is_even(self) -> bool {
        let (down, up) = (1.0 - self.low, self.high - 1.0);
        (down - up).abs() <= EVEN * down.max(up)
    }
}

/// One number for an even spread, two for another: `± 1.7 %`, `−30 % … +48 %`.
impl<const PERCENT: u8> fmt::Display for Spread<PERCENT> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (down, up) = (1.0 - self.low, self.high - 1.0);
        if self.is_even() {
            return f.pad(&format!("± {}", percent(down.max(up))));
        }
        f.pad(&format!("−{} … +{}", percent(down), percent(up)))
    }
}

/// A share in percent with two digits that count.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let digits = match percent {
        x if x >= 9.95 || x == 0.0 => 0,
        x if x >= 0.995 => 1,
        _ => 2,
    };
    format!("{percent:.digits$} %")
}

/// Both ends in the unit and with the digits of the upper: `8.1 … 25.0 J`.
impl<const PERCENT: u8> fmt::Display for Interval<PERCENT> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let high = self.high.to_string();
        let number = high.split(' ').next().unwrap_or_default();
        let digits = number.split_once('.').map_or(0, |(_, digits)| digits.len());
        // Rounded, for the number has lost digits and prefixes are powers of a thousand.
        let prefix = (self.high.0 / number.parse().unwrap_or(1.0)).log(1000.0).round();
        let unit = if prefix.is_finite() { 1000_f64.powf(prefix) } else { 1.0 };
        f.pad(&format!("{:.digits$} … {high}", self.low.0 / unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(low: f64, high: f64) -> Interval {
        Interval { low: Joules(low), high: Joules(high) }
    }

    #[test]
    fn a_spread_holds_for_every_part() {
        let spread = Spread::of(Joules(10.0), interval(7.0, 15.0)).unwrap();
        assert_eq!((spread.low(), spread.high()), (0.7, 1.5));
        assert_eq!(spread.around(Joules(2.0)), interval(1.4, 3.0));
        assert_eq!(spread.around(Joules::ZERO), interval(0.0, 0.0));
    }

    #[test]
    fn an_interval_keeps_its_level() {
        let (one, other) = (Interval::<90> { low: Joules(1.0), high: Joules(3.0) }, interval(2.0, 4.0));
        assert_eq!((Interval::<90>::LEVEL, Interval::<LEVEL>::LEVEL), (90, 95));
        assert_eq!(other.together(other), interval(4.0, 8.0));
        let spread: Option<Spread<90>> = Spread::of(Joules(2.0), one);
        assert_eq!(spread.unwrap().around(Joules(4.0)), Interval::<90> { low: Joules(2.0), high: Joules(6.0) });
    }

    #[test]
    fn nothing_is_concluded_from_what_cannot_be() {
        assert_eq!(Spread::of(Joules::ZERO, interval(0.0, 0.0)), None);
        assert_eq!(Spread::of(Joules(1.0), interval(1.1, 1.2)), None);
        assert_eq!(Spread::of(Joules(1.0), interval(0.5, 0.9)), None);
        assert_eq!(Spread::of(Joules(1.0), interval(-0.5, 2.0)), None);
        assert_eq!(Spread::of(Joules(1.0), interval(0.5, f64::INFINITY)), None);
        assert_eq!(Spread::of(Joules(f64::NAN), interval(0.5, 2.0)), None);
    }

    #[test]
    fn one_number_is_enough_for_an_even_spread() {
        let text = |low, high| Spread::of(Joules(1.0), interval(low, high)).unwrap().to_string();
        assert_eq!(text(0.983, 1.017), "± 1.7 %");
        assert_eq!(text(0.9988, 1.0012), "± 0.12 %");
        assert_eq!(text(1.0, 1.0), "± 0 %");
        assert_eq!(text(0.7, 1.48), "−30 % … +48 %");
    }

    #[test]
    fn digits_follow_the_interval() {
        let digits = |low, high| Spread::of(Joules(1.0), interval(low, high)).unwrap().digits();
        assert_eq!((digits(0.65, 2.19), digits(0.983, 1.017), digits(0.9988, 1.0012)), (2, 3, 4));
        let text = |joules: f64, digits: usize| format!("{:.digits$}", Joules(joules));
        assert_eq!((text(64.345, 2).as_str(), text(64.345, 3).as_str()), ("64 J", "64.3 J"));
        assert_eq!((text(245.6, 2).as_str(), text(996.0, 2).as_str()), ("250 J", "1.0 kJ"));
        assert_eq!(
            (text(9.57, 2).as_str(), text(9.96, 2).as_str(), text(0.0, 2).as_str()),
            ("9.6 J", "10 J", "0.0 J")
        );
        assert_eq!(text(1.23456, 4), "1.235 J");
        assert_eq!(format!("{:8.2}|", Joules(64.0)), "64 J    |");
    }

    #[test]
    fn an_interval_says_its_unit_once() {
        assert_eq!(interval(8.1, 25.0).to_string(), "8.1 … 25.0 J");
        assert_eq!(interval(0.81, 2.5).to_string(), "0.81 … 2.50 J");
        assert_eq!(interval(290.4, 966.0).to_string(), "290 … 966 J");
        assert_eq!(interval(810.0, 2500.0).to_string(), "0.81 … 2.50 kJ");
        assert_eq!(interval(0.0, 0.0).to_string(), "0.00 … 0.00 J");
        assert_eq!(interval(2.86e-3, 9.52e-3).to_string(), "2.86 … 9.52 mJ");
    }
}
