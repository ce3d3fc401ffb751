//! The tables that ship with jouletree: grids, cloud regions, accelerators, processors and servers.
//!
//! They are read when they are first asked for. `data/README.md` has the origin and licence of each.

mod accelerators;
mod clouds;
mod countries;
mod grids;
mod processors;
mod servers;
mod sources;

use std::sync::LazyLock;

use serde::de::DeserializeOwned;

pub use accelerators::{ACCELERATOR_SOURCE, Accelerator};
pub use clouds::{CloudRegion, Providers};
pub(crate) use clouds::{GOOGLE_SOURCE, GOOGLE_YEAR};
pub(crate) use countries::SOURCE as COUNTRY_SOURCE;
pub use countries::{Country, without_published};
pub use grids::Grid;
pub use processors::Processors;
pub use servers::server;
pub use sources::{Mix, WORLD_AVERAGE, factor};

/// Every country with electricity.
pub static COUNTRIES: LazyLock<Vec<Country>> = LazyLock::new(|| read(include_str!("../../data/countries.csv")));
/// Parts of countries: states, provinces, bidding zones.
pub static GRIDS: LazyLock<Vec<Grid>> = LazyLock::new(|| read(include_str!("../../data/regions.csv")));
/// Regions of cloud providers.
pub static CLOUD_REGIONS: LazyLock<Vec<CloudRegion>> =
    LazyLock::new(|| read(include_str!("../../data/cloud_regions.csv")));
/// GPUs, TPUs and some processors, with their thermal design power.
pub static ACCELERATORS: LazyLock<Vec<Accelerator>> =
    LazyLock::new(|| read(include_str!("../../data/accelerators.csv")));

/// The rows of a table of ours. A row that cannot be read is left out; a test sees to it that there is none.
fn read<T: DeserializeOwned>(text: &'static str) -> Vec<T> {
    csv::Reader::from_reader(text.as_bytes()).into_deserialize().filter_map(Result::ok).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        let rows = |text: &str| csv::Reader::from_reader(text.as_bytes()).records().count();
        assert_eq!(COUNTRIES.len(), rows(include_str!("../../data/countries.csv")));
        assert_eq!(GRIDS.len(), rows(include_str!("../../data/regions.csv")));
        assert_eq!(CLOUD_REGIONS.len(), rows(include_str!("../../data/cloud_regions.csv")));
        assert_eq!(ACCELERATORS.len(), rows(include_str!("../../data/accelerators.csv")));
        assert_eq!(COUNTRIES.len(), 213);
        assert_eq!(GRIDS.len(), 51 + 13 + 40);
    }

    /// A region of a cloud is in a country that we know, and in a part of it that we know.
    #[test]
    fn tables_refer_to_each_other() {
        for region in CLOUD_REGIONS.iter() {
            assert!(Country::by_code(&region.iso3).is_some(), "{region:?}");
            assert!(region.grid.is_empty() || Grid::by_code(&region.grid).is_some(), "{region:?}");
        }
        for grid in GRIDS.iter() {
            assert!(Country::by_code(&grid.iso3).is_some(), "{grid:?}");
        }
    }

    #[test]
    fn figures_are_plausible() {
        for country in COUNTRIES.iter() {
            assert!((0.0..1500.0).contains(&country.intensity.0), "{country:?}");
        }
        for grid in GRIDS.iter() {
            assert!((1.0..1000.0).contains(&grid.intensity.0), "{grid:?}");
        }
        let of_regions = |region: &CloudRegion| [region.google, region.ccf, region.mlco2];
        for value in CLOUD_REGIONS.iter().flat_map(of_regions).flatten() {
            assert!((1.0..1100.0).contains(&value.0), "{value:?}");
        }
    }
}
