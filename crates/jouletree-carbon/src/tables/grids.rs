//! Parts of countries that have figures of their own: states of the USA, provinces, Nordic bidding zones.

use jouletree_model::GramsPerKwh;
use serde::Deserialize;

use super::GRIDS;
use crate::suggest::nearest;

/// A part of a country and the intensity of its electricity in one year.
#[derive(Debug, Clone, Deserialize)]
pub struct Grid {
    /// The country.
    pub iso3: String,
    /// Its code, by ISO 3166-2 or as ENTSO-E has it: `US-CA`, `CA-QC`, `CN-BJ`, `SE3`.
    pub code: String,
    /// Its name.
    pub name: String,
    aliases: String,
    /// The year of the figure.
    pub year: u16,
    /// Grams of CO2 equivalent per kilowatt-hour.
    #[serde(rename = "g_per_kwh")]
    pub intensity: GramsPerKwh,
    dataset: String,
    note: String,
}

impl Grid {
    /// By its code.
    pub fn by_code(code: &str) -> Option<&'static Grid> {
        GRIDS.iter().find(|grid| code.eq_ignore_ascii_case(&grid.code))
    }

    /// The part of a country with this name, code or other name.
    pub fn find(iso3: &str, text: &str) -> Option<&'static Grid> {
        let text = simple(text);
        Grid::of(iso3).find(|grid| grid.names().any(|name| simple(name) == text))
    }

    /// All parts of a country.
    pub fn of(iso3: &str) -> impl Iterator<Item = &'static Grid> {
        GRIDS.iter().filter(move |grid| grid.iso3 == iso3)
    }

    /// The part whose name is nearest to something unknown.
    pub(crate) fn nearest(iso3: &str, text: &str) -> Option<String> {
        let names = Grid::of(iso3).flat_map(|grid| [grid.name.as_str(), grid.code.as_str()]);
        nearest(text, names).map(str::to_owned)
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let aliases = self.aliases.split('|').filter(|alias| !alias.is_empty());
        [self.name.as_str(), self.code.as_str()].into_iter().chain(aliases)
    }

    /// Who published the figure.
    pub fn source(&self) -> &'static str {
        match self.dataset.as_str() {
            "epa-egrid" => "EPA eGRID",
            "mee-china" => "Ministry of Ecology and Environment of China, by way of CodeCarbon 3.3.2",
            "entsoe-nordic" => "ENTSO-E, by way of CodeCarbon 3.3.2",
            _ => "mix of the province by way of CodeCarbon 3.3.2, with its factors of combustion",
        }
    }

    /// What one should know about the figure.
    pub fn note(&self) -> Option<&str> {
        (!self.note.is_empty()).then_some(&*self.note)
    }
}

/// A name as people type it: case, accents of Québec and words such as `province` do not matter.
fn simple(name: &str) -> String {
    let name = name.trim().to_lowercase().replace('é', "e").replace(['_', '-'], " ");
    let common = [" autonomous region", " province", " municipality", " state"];
    common.iter().fold(name, |name, ending| name.strip_suffix(ending).map_or(name.clone(), str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_people_type_them() {
        let code = |iso3, text| Grid::find(iso3, text).map(|grid| grid.code.as_str());
        assert_eq!(code("USA", "california"), Some("US-CA"));
        assert_eq!(code("USA", "CA"), Some("US-CA"));
        assert_eq!(code("USA", "us-ca"), Some("US-CA"));
        assert_eq!(code("CAN", "Québec"), Some("CA-QC"));
        assert_eq!(code("CHN", "Inner Mongolia Autonomous Region"), Some("CN-NM"));
        assert_eq!(code("SWE", "SE3"), Some("SE3"));
        assert_eq!(code("USA", "atlantis"), None);
        assert_eq!(Grid::nearest("USA", "Califronia").as_deref(), Some("California"));
    }
}
