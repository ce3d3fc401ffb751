//! The location of a computer, as far as it is set. Nothing is ever guessed.

use crate::suggest::question;
use crate::tables::{CloudRegion, Country, Grid, Providers};

/// A place that is known to the tables.
#[derive(Debug, Clone, Copy, Default)]
pub struct Location {
    /// The country.
    pub country: Option<&'static Country>,
    /// The part of the country, where that has figures of its own.
    pub grid: Option<&'static Grid>,
    /// The cloud.
    pub cloud: Option<Cloud>,
}

/// A provider and one of its regions.
#[derive(Debug, Clone, Copy)]
pub struct Cloud {
    /// The provider.
    pub provider: &'static str,
    /// The region, where it is known.
    pub region: Option<&'static CloudRegion>,
}

/// An unknown place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// Not a country.
    #[error("`{given}` is no country that has figures{} Give its code of three letters, such as ITA", question(.nearest))]
    Country {
        /// What was given.
        given: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
    /// Not a part of the country.
    #[error("`{given}` is no part of {country} that has figures{} Leave it out for the whole country", question(.nearest))]
    Region {
        /// The country.
        country: String,
        /// What was given.
        given: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
    /// A part of which country?
    #[error("the region `{0}` needs its country (--country) or its cloud provider (--provider)")]
    RegionOfWhat(String),
    /// Not a provider.
    #[error("`{given}` is no cloud provider with figures; those are {known}")]
    Provider {
        /// What was given.
        given: String,
        /// All of them.
        known: String,
    },
    /// Not a region of the provider.
    #[error("`{given}` is no region of {provider} that has figures{}", question(.nearest))]
    CloudRegion {
        /// The provider.
        provider: String,
        /// What was given.
        given: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
}

impl Location {
    /// Checks what was said. With a provider and without a region of a cloud, `region` is taken for that.
    pub fn find(
        country: Option<&str>,
        region: Option<&str>,
        provider: Option<&str>,
        cloud_region: Option<&str>,
    ) -> Result<Location, PlaceError> {
        let (region, cloud_region) = match (provider, cloud_region, country) {
            (Some(_), None, None) => (None, region),
            _ => (region, cloud_region),
        };
        let cloud = provider.map(|provider| Cloud::find(provider, cloud_region)).transpose()?;
        let country = country.map(of_country).transpose()?;
        let grid = match (country, region) {
            (Some(country), Some(region)) => of_region(country, region)?,
            (None, Some(region)) if cloud.is_none() => return Err(PlaceError::RegionOfWhat(region.to_owned())),
            _ => None,
        };
        Ok(Location { country, grid, cloud })
    }

    /// The country, of the cloud's region unless another was named.
    pub fn country(&self) -> Option<&'static Country> {
        self.country.or_else(|| Country::by_code(&self.cloud?.region?.iso3))
    }
}

impl Cloud {
    fn find(provider: &str, region: Option<&str>) -> Result<Cloud, PlaceError> {
        let unknown = || PlaceError::Provider {
            given: provider.to_owned(),
            known: Providers::all().collect::<Vec<_>>().join(", "),
        };
        let provider = Providers::find(provider).ok_or_else(unknown)?;
        let region = region.map(|region| {
            CloudRegion::find(provider, region).ok_or_else(|| PlaceError::CloudRegion {
                provider: provider.to_owned(),
                given: region.to_owned(),
                nearest: CloudRegion::nearest(provider, region),
            })
        });
        Ok(Cloud { provider, region: region.transpose()? })
    }
}

fn of_country(text: &str) -> Result<&'static Country, PlaceError> {
    Country::find(text)
        .ok_or_else(|| PlaceError::Country { given: text.to_owned(), nearest: Country::nearest(text) })
}

/// The part of a country; none where no part of it has figures.
fn of_region(country: &'static Country, text: &str) -> Result<Option<&'static Grid>, PlaceError> {
    if Grid::of(&country.iso3).next().is_none() {
        return Ok(None);
    }
    let unknown = || PlaceError::Region {
        country: country.name.clone(),
        given: text.to_owned(),
        nearest: Grid::nearest(&country.iso3, text),
    };
    Grid::find(&country.iso3, text).map(Some).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(country: Option<&str>, region: Option<&str>, provider: Option<&str>) -> String {
        Location::find(country, region, provider, None)
            .map_or_else(|error| error.to_string(), |_| "found".to_owned())
    }

    #[test]
    fn who_mistypes_is_asked() {
        assert!(outcome(Some("Itly"), None, None).contains("did you mean `ITA (Italy)`?"));
        assert!(outcome(Some("USA"), Some("Califronia"), None).contains("did you mean `California`?"));
        assert!(outcome(None, Some("europe-wets1"), Some("gcp")).contains("did you mean `europe-west1`?"));
        assert!(outcome(None, None, Some("oracel")).contains("aws, azure, coreweave, gcp"));
        assert!(outcome(None, Some("California"), None).contains("needs its country"));
    }

    #[test]
    fn parts_of_countries_without_figures_are_the_country() {
        assert_eq!(outcome(Some("FRA"), Some("bretagne"), None), "found");
        assert_eq!(outcome(Some("fr"), None, None), "found");
        assert_eq!(outcome(Some("united states"), Some("CA"), None), "found");
    }
}
