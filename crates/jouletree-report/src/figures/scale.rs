//! Axes: from a largest value to ticks, from a number to its label.

/// Prefixes of units, with their factors.
const PREFIXES: [(f64, &str); 6] = [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ")];
/// An axis of numbers that are all nothing ends here.
const NO_END: f64 = 1.0;

/// An axis, mostly from zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    /// Its unit, with a prefix that keeps the labels short.
    pub unit: String,
    /// Where it begins, in the unit without prefix.
    pub start: f64,
    /// Where it ends, in the unit without prefix.
    pub end: f64,
    /// The ticks, in the unit without prefix, with their labels.
    pub ticks: Vec<(f64, String)>,
}

impl Scale {
    /// An axis that holds everything up to `most`, with about so many ticks.
    pub fn up_to(most: f64, unit: &str, about: usize) -> Scale {
        let mut scale = Scale::within(most, unit, about);
        if let (Some((last, _)), true) = (scale.ticks.last(), most > 0.0) {
            let step = step(most, about);
            if *last < most * (1.0 - 1e-9) {
                let (factor, _) = prefix(most);
                scale.ticks.push((last + step, label((last + step) / factor, step / factor)));
            }
            scale.end = scale.ticks.last().map_or(most, |(last, _)| *last);
        }
        scale
    }

    /// An axis that ends at `most`, wherever the last tick is.
    pub fn within(most: f64, unit: &str, about: usize) -> Scale {
        let most = if most.is_finite() && most > 0.0 { most } else { NO_END };
        let (factor, prefix) = prefix(most);
        let step = step(most, about);
        let count = (most / step * (1.0 + 1e-9)).floor() as usize;
        let tick = |number: usize| {
            let value = number as f64 * step;
            (value, label(value / factor, step / factor))
        };
        Scale { unit: format!("{prefix}{unit}"), start: 0.0, end: most, ticks: (0..=count).map(tick).collect() }
    }

    /// An axis without a unit around everything from `least` to `most`, wherever zero is.
    pub fn around(least: f64, most: f64, about: usize) -> Scale {
        let room = most - least;
        let room = if room.is_finite() && room > 0.0 { room } else { most.abs().max(NO_END) * 0.1 };
        let step = step(room, about);
        let (first, last) =
            ((least / step).floor(), (most / step * (1.0 + 1e-12)).ceil().max((least / step).floor() + 1.0));
        let count = (last - first).clamp(1.0, 100.0) as usize;
        let tick = |number: usize| {
            let value = (first + number as f64) * step;
            (value, label(value, step))
        };
        let ticks: Vec<(f64, String)> = (0..=count).map(tick).collect();
        Scale { unit: String::new(), start: first * step, end: (first + count as f64) * step, ticks }
    }

    /// Where a value lies, as a part of the axis.
    pub fn part(&self, value: f64) -> f64 {
        let part = (value - self.start) / (self.end - self.start);
        if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// A value with three digits and the unit.
    pub fn value(&self, value: f64) -> String {
        let (factor, prefix) = prefix(value);
        let unit = self.unit.trim_start_matches(|letter| letter != 'J' && letter != 'W' && letter != 's');
        format!("{} {prefix}{unit}", three_digits(value / factor))
    }
}

fn prefix(most: f64) -> (f64, &'static str) {
    let fits = |(factor, _): &&(f64, &str)| most >= *factor;
    if most > 0.0 { PREFIXES.iter().find(fits).copied().unwrap_or((1e-6, "µ")) } else { (1.0, "") }
}

/// One, two or five times a power of ten, so that about so many steps go into `most`.
fn step(most: f64, about: usize) -> f64 {
    let raw = most / about.max(1) as f64;
    let power = 10_f64.powf(raw.log10().floor());
    let round = [1.0, 2.0, 5.0, 10.0].into_iter().find(|round| round * power >= raw * 0.999).unwrap_or(10.0);
    round * power
}

fn label(value: f64, step: f64) -> String {
    let decimals = (-step.log10() - 1e-9).ceil().clamp(0.0, 9.0) as usize;
    format!("{value:.decimals$}")
}

/// A number with three digits.
pub fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

/// A part of a whole in percent, two digits or three.
pub fn percent(part: f64) -> String {
    let percent = if part.is_finite() { part * 100.0 } else { 0.0 };
    match percent {
        0.0 => "0 %".to_owned(),
        percent if percent < 0.05 => "< 0.1 %".to_owned(),
        percent => format!("{percent:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(scale: &Scale) -> Vec<&str> {
        scale.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn ticks_are_round() {
        let scale = Scale::up_to(87.0, "J", 5);
        assert_eq!(
            (scale.unit.as_str(), scale.end, labels(&scale)),
            ("J", 100.0, vec!["0", "20", "40", "60", "80", "100"])
        );
        let scale = Scale::up_to(1234.0, "J", 4);
        assert_eq!((scale.unit.as_str(), labels(&scale)), ("kJ", vec!["0.0", "0.5", "1.0", "1.5"]));
        let scale = Scale::within(0.0123, "s", 4);
        assert_eq!((scale.unit.as_str(), scale.end, labels(&scale)), ("ms", 0.0123, vec!["0", "5", "10"]));
        assert_eq!(labels(&Scale::up_to(0.0, "J", 2)), ["0.0", "0.5", "1.0"]);
        assert_eq!(labels(&Scale::up_to(f64::NAN, "J", 2)), ["0.0", "0.5", "1.0"]);
    }

    #[test]
    fn an_axis_may_begin_elsewhere() {
        let scale = Scale::around(80.3, 92.7, 5);
        assert_eq!((scale.start, scale.end), (80.0, 95.0));
        assert_eq!(labels(&scale), ["80", "85", "90", "95"]);
        assert!((scale.part(87.5) - 0.5).abs() < 1e-12);
        let flat = Scale::around(0.9, 0.9, 4);
        assert!(flat.start <= 0.9 && flat.end >= 0.9 && flat.end > flat.start, "{flat:?}");
    }

    #[test]
    fn numbers_have_three_digits() {
        let scale = Scale::up_to(1e4, "J", 4);
        assert_eq!(
            (scale.value(1234.0), scale.value(45.67), scale.value(0.0)),
            ("1.23 kJ".into(), "45.7 J".into(), "0.00 J".into())
        );
        assert_eq!(Scale::up_to(1e4, "W", 4).value(0.5), "500 mW");
        assert_eq!(
            (percent(0.1234), percent(0.0), percent(1e-5), percent(f64::NAN)),
            ("12.3 %".into(), "0 %".into(), "< 0.1 %".into(), "0 %".into())
        );
    }

    proptest! {
        #[test]
        fn an_axis_holds_what_it_shows(exponent in -8.0..9.0_f64, about in 1..9_usize) {
            let most = 10_f64.powf(exponent);
            let scale = Scale::up_to(most, "J", about);
            prop_assert!(scale.end >= most * (1.0 - 1e-6) && scale.end <= most * 10.0, "{:?}", scale);
            prop_assert!(scale.ticks.len() >= 2 && scale.ticks.len() <= about + 3, "{:?}", scale);
            let mut labels = labels(&scale);
            labels.dedup();
            prop_assert_eq!(labels.len(), scale.ticks.len(), "{:?}", scale);
            prop_assert!(labels.iter().all(|label| label.len() <= 8), "{:?}", scale);
        }
    }
}
