//! What electricity costs, at each hour of the day.

use std::str::FromStr;

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use jouletree_model::{Joules, Nanos};

const MINUTES_OF_DAY: u32 = 24 * 60;

/// Prices of a kilowatt-hour, in whatever currency, by the local time of day.
///
/// Written `0.25`, or as intervals that make up a day: `8:30-19:00=0.31,19:00-8:30=0.22`.
#[derive(Debug, Clone, PartialEq)]
pub struct Tariff {
    /// When each price begins, in minutes of the day, in order, and the price. The last holds until the first.
    steps: Vec<(u32, f64)>,
}

/// A tariff that makes no sense.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TariffError {
    /// It cannot be read.
    #[error("`{0}` is no tariff; write a price as in 0.25, or intervals as in 8:30-19:00=0.31,19:00-8:30=0.22")]
    Unreadable(String),
    /// Intervals leave a gap or overlap.
    #[error("the tariff `{0}` has a gap or an overlap at {1}; its intervals must make up one day")]
    NotADay(String, String),
}

impl Tariff {
    /// One price for all hours.
    pub fn flat(price: f64) -> Tariff {
        Tariff { steps: vec![(0, price)] }
    }

    /// The price at a minute of the day.
    fn at(&self, minute: u32) -> f64 {
        let last = self.steps.last().map_or(0.0, |step| step.1);
        self.steps.iter().take_while(|step| step.0 <= minute).last().map_or(last, |step| step.1)
    }

    /// What an energy costs that was used from one time to another, by a function that returns how much of it was used
    /// in a part of that time.
    pub fn cost(
        &self,
        from: Nanos,
        until: Nanos,
        zone: &TimeZone,
        energy: impl Fn(Nanos, Nanos) -> Joules,
    ) -> f64 {
        let mut cost = 0.0;
        let mut begin = from;
        while begin < until {
            let (price, end) = self.until_change(begin, zone);
            let end = end.min(until).max(Nanos(begin.0.saturating_add(1)));
            cost += energy(begin, end).kilowatt_hours().0 * price;
            begin = end;
        }
        cost
    }

    /// What an energy costs that is used evenly over whole days, when the hours are unknown.
    pub fn cost_of_days(&self, energy: Joules) -> f64 {
        let starts = self.steps.iter().map(|step| step.0);
        let ends = starts.clone().skip(1).chain(starts.clone().take(1).map(|first| first + MINUTES_OF_DAY));
        let minutes = starts.zip(ends).map(|(start, end)| f64::from(end - start));
        let price: f64 = self.steps.iter().zip(minutes).map(|(step, minutes)| step.1 * minutes).sum();
        energy.kilowatt_hours().0 * price / f64::from(MINUTES_OF_DAY)
    }

    /// Whether it is the same at all hours.
    pub fn is_flat(&self) -> bool {
        self.steps.len() < 2
    }

    /// The price at a time, and until when it holds at least.
    fn until_change(&self, time: Nanos, zone: &TimeZone) -> (f64, Nanos) {
        let forever = (self.steps.first().map_or(0.0, |step| step.1), Nanos(i64::MAX));
        let Ok(timestamp) = Timestamp::from_nanosecond(i128::from(time.0)) else { return forever };
        if self.steps.len() < 2 {
            return forever;
        }
        let local = timestamp.to_zoned(zone.clone());
        let minute = local.hour() as u32 * 60 + local.minute() as u32;
        let price = self.at(minute);
        let next = self.steps.iter().map(|step| step.0).find(|begin| *begin > minute);
        let (day, next) = match next {
            Some(next) => (Ok(local.date()), next),
            None => (local.date().checked_add(1.day()), self.steps.first().map_or(0, |step| step.0)),
        };
        let civil = Time::new((next / 60) as i8, (next % 60) as i8, 0, 0);
        let end = day.and_then(|day| civil.and_then(|time| day.to_datetime(time).to_zoned(zone.clone())));
        let end = end.ok().and_then(|end| i64::try_from(end.timestamp().as_nanosecond()).ok());
        (price, Nanos(end.unwrap_or(i64::MAX)))
    }
}

impl FromStr for Tariff {
    type Err = TariffError;

    fn from_str(text: &str) -> Result<Tariff, TariffError> {
        let unreadable = || TariffError::Unreadable(text.to_owned());
        let price =
            |text: &str| text.trim().parse::<f64>().ok().filter(|price| price.is_finite() && *price >= 0.0);
        if let Some(price) = price(text) {
            return Ok(Tariff::flat(price));
        }
        let interval = |part: &str| {
            let (interval, value) = part.split_once('=')?;
            let (begin, end) = interval.split_once('-')?;
            Some((minute(begin)?, minute(end)? % MINUTES_OF_DAY, price(value)?))
        };
        let mut intervals = text.split(',').map(interval).collect::<Option<Vec<_>>>().ok_or_else(unreadable)?;
        intervals.iter_mut().for_each(|interval| interval.0 %= MINUTES_OF_DAY);
        intervals.sort_by_key(|interval| interval.0);
        // Each ends where the next begins, and the last where the first does.
        let nexts = intervals.iter().cycle().skip(1);
        for ((_, end, _), (next, _, _)) in intervals.iter().zip(nexts) {
            if end != next {
                let at = format!("{}:{:02}", end / 60, end % 60);
                return Err(TariffError::NotADay(text.to_owned(), at));
            }
        }
        Ok(Tariff { steps: intervals.into_iter().map(|(begin, _, price)| (begin, price)).collect() })
    }
}

/// `8:30`, `19` or `24:00` in minutes.
fn minute(text: &str) -> Option<u32> {
    let (hour, minute) = text.trim().split_once(':').unwrap_or((text.trim(), "0"));
    let (hour, minute) = (hour.parse::<u32>().ok()?, minute.parse::<u32>().ok()?);
    let total = hour.checked_mul(60)?.checked_add(minute)?;
    (minute < 60 && total <= MINUTES_OF_DAY).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One kilowatt for all of the time.
    fn kilowatt(from: Nanos, until: Nanos) -> Joules {
        Joules((until.0 - from.0) as f64 * 1e-9 * 1000.0)
    }

    const HOUR: i64 = 3_600_000_000_000;

    #[test]
    fn by_the_hour_of_the_day() {
        let tariff: Tariff = "8:30-19:00=0.3,19:00-8:30=0.2".parse().unwrap_or(Tariff::flat(f64::NAN));
        // A day from midnight: 10.5 hours by day and 13.5 by night.
        let cost = tariff.cost(Nanos(0), Nanos(24 * HOUR), &TimeZone::UTC, kilowatt);
        assert!((cost - (10.5 * 0.3 + 13.5 * 0.2)).abs() < 1e-9, "{cost}");
        // From 18:30 to 19:30.
        let (from, until) = (Nanos(18 * HOUR + HOUR / 2), Nanos(19 * HOUR + HOUR / 2));
        let cost = tariff.cost(from, until, &TimeZone::UTC, kilowatt);
        assert!((cost - (0.5 * 0.3 + 0.5 * 0.2)).abs() < 1e-9, "{cost}");
    }

    #[test]
    fn over_whole_days() {
        let tariff: Tariff = "8:30-19:00=0.3,19:00-8:30=0.2".parse().unwrap_or(Tariff::flat(f64::NAN));
        let day = tariff.cost(Nanos(0), Nanos(24 * HOUR), &TimeZone::UTC, kilowatt);
        let cost = tariff.cost_of_days(kilowatt(Nanos(0), Nanos(24 * HOUR)));
        assert!((cost - day).abs() < 1e-9, "{cost} {day}");
        assert!((Tariff::flat(0.1319).cost_of_days(kilowatt(Nanos(0), Nanos(161 * HOUR))) - 21.2359).abs() < 1e-9);
    }

    #[test]
    fn one_price() {
        let tariff: Tariff = "0.1319".parse().unwrap_or(Tariff::flat(f64::NAN));
        let cost = tariff.cost(Nanos(0), Nanos(161 * HOUR), &TimeZone::UTC, kilowatt);
        assert!((cost - 21.2359).abs() < 1e-9, "{cost}");
    }

    #[test]
    fn what_is_no_tariff() {
        for text in ["", "cheap", "-1", "8-19", "8-19=x", "25-26=1", "8:75-19=1", "NaN"] {
            assert!(matches!(text.parse::<Tariff>(), Err(TariffError::Unreadable(_))), "{text}");
        }
        for text in ["8-19=1", "8-19=1,20-8=2", "8-19=1,18-8=2"] {
            assert!(matches!(text.parse::<Tariff>(), Err(TariffError::NotADay(..))), "{text}");
        }
    }
}
