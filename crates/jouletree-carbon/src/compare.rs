//! The same energy in other regions of clouds, and what others have published about one of them.

use jouletree_model::{GramsPerKwh, Joules};

use crate::tables::{CloudRegion, GOOGLE_SOURCE, Providers};
use crate::{Cloud, Facility, Impact, Intensity, Location, PlaceError, chain};

/// A region, and the impact of an energy there.
#[derive(Debug, Clone)]
pub struct Alternative {
    /// The region.
    pub region: &'static CloudRegion,
    /// The intensity there, by the same chain as everywhere; none where it is not known.
    pub intensity: Option<Intensity>,
    /// The impact of the energy there.
    pub impact: Impact,
}

/// What a table says about a region.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Published {
    /// Who says so.
    pub source: &'static str,
    /// Of which year, or of which edition of the table where that has none.
    pub year: &'static str,
    /// Grams of CO2 equivalent per kilowatt-hour.
    pub intensity: GramsPerKwh,
}

/// Every provider.
pub const ALL: &str = "all";

/// The providers that were named; `all` is all of them.
pub fn providers(names: &[String]) -> Result<Vec<&'static str>, PlaceError> {
    let mut found: Vec<&'static str> = Vec::new();
    for name in names {
        match Providers::find(name) {
            _ if name.trim().eq_ignore_ascii_case(ALL) => found.extend(Providers::all()),
            Some(provider) => found.push(provider),
            None => {
                let known = Providers::all().chain([ALL]).collect::<Vec<_>>().join(", ");
                return Err(PlaceError::Provider { given: name.clone(), known });
            }
        }
    }
    // Who names one twice sees it once.
    let named = |provider: &&str| found.contains(provider);
    Ok(Providers::all().filter(named).collect())
}

/// The impact of an energy in every region of some providers, the fewest grams first, what is not known last.
pub fn alternatives(providers: &[&'static str], it_energy: Joules, facility: Facility) -> Vec<Alternative> {
    let regions =
        providers.iter().flat_map(|provider| CloudRegion::of(provider).map(move |region| (provider, region)));
    let alternative = |(provider, region): (&&'static str, &'static CloudRegion)| {
        let place = Location { cloud: Some(Cloud { provider, region: Some(region) }), ..Location::default() };
        let intensity = chain::intensity(&chain::Known::default(), &place);
        let impact = Impact::of(it_energy, facility, intensity.as_ref());
        Alternative { region, intensity, impact }
    };
    let mut found: Vec<Alternative> = regions.map(alternative).collect();
    let grams = |one: &Alternative| one.intensity.as_ref().map_or(f64::INFINITY, |found| found.value.0);
    found.sort_by(|one, other| grams(one).total_cmp(&grams(other)));
    found
}

/// What each published table says about a region. They differ by year and by what they count, so all are worth seeing.
pub fn published(region: &CloudRegion) -> Vec<Published> {
    let tables = [
        (GOOGLE_SOURCE, "2023", region.google),
        ("Cloud Carbon Footprint", "coefficients of 2026-04", region.ccf),
        ("ML CO2 calculator", "2019 to 2021", region.mlco2),
    ];
    tables
        .into_iter()
        .filter_map(|(source, year, intensity)| Some(Published { source, year, intensity: intensity? }))
        .collect()
}

#[cfg(test)]
mod tests {
    use jouletree_model::Grams;

    use super::*;

    #[test]
    fn regions_stand_in_the_order_of_their_grams() {
        let found =
            alternatives(&["aws", "gcp"], Joules(Joules::PER_KILOWATT_HOUR), Facility { pue: 2.0, wue: 0.0 });
        assert_eq!(found.len(), CloudRegion::of("aws").count() + CloudRegion::of("gcp").count());
        let grams: Vec<f64> =
            found.iter().map(|one| one.impact.carbon.map_or(f64::INFINITY, |grams| grams.0)).collect();
        assert!(grams.is_sorted(), "{grams:?}");
        let belgium = found.iter().find(|one| one.region.region == "europe-west1");
        assert_eq!(belgium.and_then(|one| one.impact.carbon), Some(Grams(2.0 * 122.0)));
    }

    #[test]
    fn providers_by_any_of_their_names() {
        let found = |names: &[&str]| providers(&names.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(found(&["Google", "aws", "gcp"]), Ok(vec!["aws", "gcp"]));
        assert_eq!(found(&["all"]).map(|all| all.len()), Ok(Providers::all().count()));
        assert!(found(&["gpc"]).is_err_and(|error| error.to_string().contains("gcp")));
    }

    /// Taiwan, where the three tables say 451, 541 and 557.
    #[test]
    fn tables_that_differ_are_all_told() {
        let taiwan = CloudRegion::find("gcp", "asia-east1").map(published).unwrap_or_default();
        assert_eq!(taiwan.len(), 3, "{taiwan:?}");
        assert!(taiwan.iter().any(|one| one.intensity != taiwan[0].intensity));
    }
}
