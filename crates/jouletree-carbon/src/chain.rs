//! Which carbon intensity holds: the first of a chain that is known, from the user's own value to `unknown`.

use jouletree_model::GramsPerKwh;

use crate::tables::{Country, GOOGLE_SOURCE, GOOGLE_YEAR, Grid, WORLD_AVERAGE};
use crate::{Intensity, Location, Origin};

/// What the chain may use beside the place.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// A value of the user, which wins.
    pub given: Option<GramsPerKwh>,
    /// What a service says that it is now.
    pub live: Option<Intensity>,
    /// Whether the mean of the world may be used for an unknown location.
    pub world_average: bool,
}

/// The intensity at a place; none when it is not known.
pub fn intensity(known: &Known, place: &Location) -> Option<Intensity> {
    known
        .given
        .map(Intensity::given)
        .or_else(|| known.live.clone())
        .or_else(|| of_cloud(place))
        .or_else(|| place.grid.map(of_grid))
        .or_else(|| place.country.and_then(published))
        .or_else(|| place.country.and_then(of_mix))
        .or_else(|| known.world_average.then(world_average))
}

/// Of a region of a cloud: the provider's own figure, else that of the grid of its location. AWS and Azure publish none.
fn of_cloud(place: &Location) -> Option<Intensity> {
    let region = place.cloud?.region?;
    let own = region.google.map(|value| Intensity {
        value,
        zone: region.zone(),
        year: Some(GOOGLE_YEAR),
        source: format!("{GOOGLE_SOURCE}, by way of CodeCarbon 3.3.2"),
        origin: Origin::Published,
        note: None,
    });
    let country = Country::by_code(&region.iso3);
    own.or_else(|| Grid::by_code(&region.grid).map(of_grid))
        .or_else(|| country.and_then(published))
        .or_else(|| country.and_then(of_mix))
        .map(|found| Intensity { zone: in_cloud(&found.zone, &region.zone()), ..found })
}

/// `aws/eu-west-1 in IRL`.
fn in_cloud(zone: &str, region: &str) -> String {
    if zone == region { zone.to_owned() } else { format!("{region} in {zone}") }
}

fn of_grid(grid: &Grid) -> Intensity {
    Intensity {
        value: grid.intensity,
        zone: grid.code.clone(),
        year: Some(grid.year),
        source: grid.source().to_owned(),
        origin: Origin::Published,
        note: grid.note().map(str::to_owned),
    }
}

/// What was published for a country. A zero is a hole in the table: no electricity is made from nothing.
fn published(country: &Country) -> Option<Intensity> {
    (country.intensity.0 > 0.0).then(|| Intensity {
        value: country.intensity,
        zone: country.iso3.clone(),
        year: Some(country.year),
        source: crate::tables::COUNTRY_SOURCE.to_owned(),
        origin: Origin::Published,
        note: None,
    })
}

/// From what a country makes its electricity.
pub fn of_mix(country: &Country) -> Option<Intensity> {
    Some(Intensity {
        value: country.mix().intensity()?,
        zone: country.iso3.clone(),
        year: Some(country.year),
        source: format!("sources of electricity by {}, each with its factor", crate::tables::COUNTRY_SOURCE),
        origin: Origin::Mix,
        note: None,
    })
}

fn world_average() -> Intensity {
    Intensity {
        value: WORLD_AVERAGE,
        zone: "world".to_owned(),
        year: Some(2019),
        source: "IEA, mean of the world".to_owned(),
        origin: Origin::WorldAverage,
        note: Some("location unknown; add --country".to_owned()),
    }
}
