//! Countries: the intensity of their electricity and what it is made from.

use jouletree_model::GramsPerKwh;
use serde::Deserialize;

use super::sources::{BIOFUEL, COAL, GAS, HYDRO, Mix, NUCLEAR, OIL, OTHER_RENEWABLE, SOLAR, WIND};
use super::{COUNTRIES, read};
use crate::suggest::nearest;

/// Who published the figures.
pub(crate) const SOURCE: &str = "Our World in Data / Ember (CC BY 4.0), by way of CodeCarbon 3.3.2";

/// A country and its electricity in one year.
#[derive(Debug, Clone, Deserialize)]
pub struct Country {
    /// Its code of three letters.
    pub iso3: String,
    /// Its code of two letters.
    pub iso2: String,
    /// Its name.
    #[serde(rename = "country")]
    pub name: String,
    /// The year of the figures.
    pub year: u16,
    /// Grams of CO2 equivalent per kilowatt-hour; zero where the origin has a hole.
    #[serde(rename = "g_per_kwh")]
    pub intensity: GramsPerKwh,
    total_twh: f64,
    coal_twh: f64,
    oil_twh: f64,
    gas_twh: f64,
    nuclear_twh: f64,
    hydro_twh: f64,
    wind_twh: f64,
    solar_twh: f64,
    biofuel_twh: f64,
    other_renewable_twh: f64,
}

impl Country {
    /// By its code of two or three letters, in any case.
    pub fn by_code(code: &str) -> Option<&'static Country> {
        COUNTRIES
            .iter()
            .find(|country| code.eq_ignore_ascii_case(&country.iso3) || code.eq_ignore_ascii_case(&country.iso2))
    }

    /// By its code or its name.
    pub fn find(text: &str) -> Option<&'static Country> {
        let text = text.trim();
        Country::by_code(text)
            .or_else(|| COUNTRIES.iter().find(|country| text.eq_ignore_ascii_case(&country.name)))
    }

    /// The country whose code or name is nearest to something unknown.
    pub(crate) fn nearest(text: &str) -> Option<String> {
        let names = COUNTRIES.iter().flat_map(|country| [country.iso3.as_str(), country.name.as_str()]);
        let found = Country::find(nearest(text, names)?)?;
        Some(format!("{} ({})", found.iso3, found.name))
    }

    /// What its electricity was made from, in terawatt-hours, without sums of others.
    pub fn mix(&self) -> Mix {
        let parts = [
            (COAL, self.coal_twh),
            (OIL, self.oil_twh),
            (GAS, self.gas_twh),
            (NUCLEAR, self.nuclear_twh),
            (HYDRO, self.hydro_twh),
            (WIND, self.wind_twh),
            (SOLAR, self.solar_twh),
            (BIOFUEL, self.biofuel_twh),
            (OTHER_RENEWABLE, self.other_renewable_twh),
        ];
        let mut mix = Mix::default();
        for (source, amount) in parts {
            mix.add(source, amount);
        }
        mix
    }

    /// All the electricity it made, in terawatt-hours.
    pub fn total_twh(&self) -> f64 {
        self.total_twh
    }
}

/// The same table without published intensities, as if there were none: for tests of the rule below it.
#[doc(hidden)]
pub fn without_published() -> Vec<Country> {
    let mut countries: Vec<Country> = read(include_str!("../../data/countries.csv"));
    countries.iter_mut().for_each(|country| country.intensity = GramsPerKwh(0.0));
    countries
}
