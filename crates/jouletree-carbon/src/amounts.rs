//! Amounts as people read them: three digits and a unit of the right size.

use jouletree_model::{Grams, KilowattHours};

/// Units from the smallest to the largest, each with what it is of the one that amounts are in.
type Units = [(f64, &'static str)];

const GRAMS: [(f64, &str); 5] = [(1e-6, "µg"), (1e-3, "mg"), (1.0, "g"), (1e3, "kg"), (1e6, "t")];
const KILOWATT_HOURS: [(f64, &str); 5] = [(1e-9, "µWh"), (1e-6, "mWh"), (1e-3, "Wh"), (1.0, "kWh"), (1e3, "MWh")];
/// Litres.
pub const LITRES: [(f64, &str); 3] = [(1e-6, "µL"), (1e-3, "mL"), (1.0, "L")];

/// `1.23 g`.
pub fn grams(grams: Grams) -> String {
    amount(grams.0, &GRAMS)
}

/// `4.56 kWh`.
pub fn kilowatt_hours(energy: KilowattHours) -> String {
    amount(energy.0, &KILOWATT_HOURS)
}

/// `7.89 L`.
pub fn litres(litres: f64) -> String {
    amount(litres, &LITRES)
}

/// An amount in the largest unit of which there is at least one.
pub fn amount(value: f64, units: &Units) -> String {
    let (size, unit) = units
        .iter()
        .rev()
        .find(|(size, _)| value.abs() >= *size)
        .or(if value == 0.0 { units.iter().find(|(size, _)| *size == 1.0) } else { units.first() })
        .copied()
        .unwrap_or((1.0, ""));
    format!("{} {unit}", significant(value / size))
}

/// A number with three digits; what is larger keeps all digits before the point.
pub fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value:.0}");
    }
    let digits = 2 - value.abs().log10().floor() as i32;
    match digits {
        0..=9 => format!("{value:.*}", digits as usize),
        10.. => format!("{value:.2e}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_unit() {
        assert_eq!(grams(Grams(1234.5)), "1.23 kg");
        assert_eq!(grams(Grams(0.00175)), "1.75 mg");
        assert_eq!(grams(Grams(0.0)), "0 g");
        assert_eq!(grams(Grams(1e-9)), "0.00100 µg");
        assert_eq!(kilowatt_hours(KilowattHours(0.25)), "250 Wh");
        assert_eq!(kilowatt_hours(KilowattHours(12345.0)), "12.3 MWh");
        assert_eq!(significant(123456.0), "123456");
    }
}
