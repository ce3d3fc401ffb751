//! What electricity is made from, and what each source emits over its life.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jouletree_model::GramsPerKwh;
use serde::Deserialize;

use super::read;

/// Grams per kilowatt-hour in the mean of the world, by the IEA's report of 2019.
pub const WORLD_AVERAGE: GramsPerKwh = GramsPerKwh(475.0);

pub(crate) const COAL: &str = "coal";
pub(crate) const OIL: &str = "petroleum";
pub(crate) const GAS: &str = "natural_gas";
pub(crate) const NUCLEAR: &str = "nuclear";
pub(crate) const HYDRO: &str = "hydroelectricity";
pub(crate) const WIND: &str = "wind";
pub(crate) const SOLAR: &str = "solar";
pub(crate) const BIOFUEL: &str = "biofuel";
/// Mostly heat from the earth.
pub(crate) const OTHER_RENEWABLE: &str = "geothermal";

/// Names that tables use for the same source.
const ALIASES: [(&str, &str); 6] = [
    ("oil", OIL),
    ("gas", GAS),
    ("naturalgas", GAS),
    ("hydro", HYDRO),
    ("biomass", BIOFUEL),
    ("other_renewable", OTHER_RENEWABLE),
];

#[derive(Deserialize)]
struct Source {
    source: String,
    g_per_kwh: GramsPerKwh,
}

static FACTORS: LazyLock<Vec<Source>> = LazyLock::new(|| read(include_str!("../../data/sources.csv")));

/// Grams per kilowatt-hour of a source; none for a sum of others such as `fossil`, which would be counted twice.
pub fn factor(source: &str) -> Option<GramsPerKwh> {
    let source = source.trim().to_ascii_lowercase();
    let source = ALIASES.iter().find(|(alias, _)| *alias == source).map_or(source.as_str(), |(_, name)| name);
    let is_sum = matches!(source, "fossil" | "world_average" | "renewables" | "low_carbon");
    FACTORS.iter().find(|known| known.source == source && !is_sum).map(|known| known.g_per_kwh)
}

/// A mix of sources, in any unit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mix(BTreeMap<String, f64>);

impl Mix {
    /// Adds an amount of a source.
    pub fn add(&mut self, source: &str, amount: f64) {
        if amount > 0.0 {
            *self.0.entry(source.to_owned()).or_default() += amount;
        }
    }

    /// Everything in it.
    pub fn total(&self) -> f64 {
        self.0.values().sum()
    }

    /// Grams per kilowatt-hour, if something is in it and every source has a factor.
    pub fn intensity(&self) -> Option<GramsPerKwh> {
        let parts = self.0.iter().map(|(source, amount)| Some(factor(source)?.0 * amount));
        let grams: f64 = parts.sum::<Option<f64>>()?;
        (self.total() > 0.0).then(|| GramsPerKwh(grams / self.total()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 25 % coal, 35 % oil, 26 % gas, 14 % nuclear: 995 × .25 + 816 × .35 + 743 × .26 + 29 × .14.
    #[test]
    fn a_mix_by_hand() {
        let mut mix = Mix::default();
        for (source, part) in [("coal", 0.25), ("oil", 0.35), ("gas", 0.26), ("nuclear", 0.14)] {
            mix.add(source, part);
        }
        assert!((mix.intensity().unwrap_or_default().0 - 731.59).abs() < 1e-9);
        assert_eq!(Mix::default().intensity(), None);
    }

    #[test]
    fn sums_of_others_have_no_factor() {
        for sum in ["fossil", "renewables", "low_carbon", "world_average", "unobtainium"] {
            assert_eq!(factor(sum), None, "{sum}");
        }
    }
}
