//! Regions of cloud providers, and where they are.

use jouletree_model::GramsPerKwh;
use serde::Deserialize;

use super::CLOUD_REGIONS;
use crate::suggest::nearest;

/// Who published Google's figures, and of which year they are: all 40 are those of its table of 2023.
pub(crate) const GOOGLE_SOURCE: &str = "Google's page of its regions";
pub(crate) const GOOGLE_YEAR: u16 = 2023;

/// A region of a cloud provider.
#[derive(Debug, Clone, Deserialize)]
pub struct CloudRegion {
    /// The provider: `aws`, `azure`, `gcp`, …
    pub provider: String,
    /// The region as the provider writes it.
    pub region: String,
    /// Where that is.
    pub name: String,
    /// The country.
    pub iso3: String,
    /// The part of the country, where that has a figure of its own.
    pub grid: String,
    /// Grams per kilowatt-hour by Google's own page.
    #[serde(rename = "google_g_per_kwh")]
    pub google: Option<GramsPerKwh>,
    /// Grams per kilowatt-hour by the coefficients of Cloud Carbon Footprint.
    #[serde(rename = "ccf_g_per_kwh")]
    pub ccf: Option<GramsPerKwh>,
    /// Grams per kilowatt-hour by the ML CO2 calculator, of 2019 to 2021.
    #[serde(rename = "mlco2_g_per_kwh")]
    pub mlco2: Option<GramsPerKwh>,
    /// How much more than its computers the data centre uses, by the same.
    #[serde(rename = "mlco2_pue")]
    pub pue: Option<f64>,
}

/// What providers are called.
pub struct Providers;

impl Providers {
    /// The provider that the user means: `Google`, `gce`, `Amazon Web Services`, …
    pub fn find(text: &str) -> Option<&'static str> {
        let text = text.trim().to_ascii_lowercase();
        let other = match text.as_str() {
            "google" | "gce" | "google cloud" | "google cloud platform" => "gcp",
            "amazon" | "ec2" | "amazon web services" => "aws",
            "microsoft" | "microsoft azure" => "azure",
            _ => &text,
        };
        Providers::all().find(|provider| *provider == other)
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = &'static str> {
        let mut before = "";
        CLOUD_REGIONS.iter().filter_map(move |region| {
            let is_new = region.provider != before;
            before = &region.provider;
            is_new.then_some(before)
        })
    }
}

impl CloudRegion {
    /// The region of a provider with this name. Zones (`europe-west1-b`, `us-east-1a`) are in their region.
    pub fn find(provider: &str, text: &str) -> Option<&'static CloudRegion> {
        let text = text.trim().to_ascii_lowercase().replace(' ', "");
        let of_zone =
            text.strip_suffix(|letter: char| letter.is_ascii_lowercase()).unwrap_or("").trim_end_matches('-');
        let region = |name: &str| CloudRegion::of(provider).find(|region| region.region == name);
        region(&text).or_else(|| region(of_zone))
    }

    /// All regions of a provider.
    pub fn of(provider: &str) -> impl Iterator<Item = &'static CloudRegion> {
        CLOUD_REGIONS.iter().filter(move |region| region.provider == provider)
    }

    /// The region whose name is nearest to something unknown.
    pub(crate) fn nearest(provider: &str, text: &str) -> Option<String> {
        nearest(text, CloudRegion::of(provider).map(|region| region.region.as_str())).map(str::to_owned)
    }

    /// `gcp/europe-west1`.
    pub fn zone(&self) -> String {
        format!("{}/{}", self.provider, self.region)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_regions_and_zones() {
        assert_eq!(Providers::find("Google"), Some("gcp"));
        assert_eq!(Providers::find("AWS"), Some("aws"));
        assert_eq!(Providers::find("example"), None);
        let region = |provider, text| CloudRegion::find(provider, text).map(|region| region.region.as_str());
        assert_eq!(region("gcp", "europe-west1-b"), Some("europe-west1"));
        assert_eq!(region("aws", "us-east-1a"), Some("us-east-1"));
        assert_eq!(region("azure", "West Europe"), Some("westeurope"));
        assert_eq!(region("aws", "nowhere-9"), None);
        // CodeCarbon's table misspells this one.
        assert_eq!(region("gcp", "me-central1"), Some("me-central1"));
        assert_eq!(CloudRegion::nearest("gcp", "europe-wets1").as_deref(), Some("europe-west1"));
    }
}
