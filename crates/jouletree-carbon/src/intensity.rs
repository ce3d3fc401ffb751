//! The carbon intensity of electricity, and where the figure comes from.

use std::fmt;

use jouletree_model::{Grams, GramsPerKwh, KilowattHours};
use serde::{Deserialize, Serialize};

/// The CO2 equivalent of a kilowatt-hour, with its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Intensity {
    /// Grams of CO2 equivalent per kilowatt-hour.
    #[serde(rename = "g_per_kwh")]
    pub value: GramsPerKwh,
    /// The grid or place it is of: `ITA`, `US-CA`, `gcp/europe-west1`; empty for a value that the user gave.
    pub zone: String,
    /// The year that it is of, where its origin has one; of a live value, the time.
    pub year: Option<u16>,
    /// Where it comes from.
    pub source: String,
    /// How it came to be.
    #[serde(rename = "kind")]
    pub origin: Origin,
    /// What one should know about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// How an intensity came to be, the nearest to the truth first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The user gave it.
    Given,
    /// A service returned the current value.
    Live,
    /// It was published for this place, as a mean of a year.
    Published,
    /// Computed from the sources of electricity of the place.
    Mix,
    /// The mean of the world, for want of anything better.
    WorldAverage,
}

impl Origin {
    /// Its name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Origin::Given => "given",
            Origin::Live => "live",
            Origin::Published => "published",
            Origin::Mix => "mix",
            Origin::WorldAverage => "world-average",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Intensity {
    /// One that the user gave.
    pub fn given(value: GramsPerKwh) -> Intensity {
        let source = "given by the user".to_owned();
        Intensity { value, zone: String::new(), year: None, source, origin: Origin::Given, note: None }
    }

    /// Grams for so many kilowatt-hours.
    pub fn grams(&self, energy: KilowattHours) -> Grams {
        self.value * energy
    }
}

impl fmt::Display for Intensity {
    /// `331 g/kWh (ITA 2023, Our World in Data / Ember)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} g/kWh (", rounded(self.value.0))?;
        if !self.zone.is_empty() {
            write!(f, "{}", self.zone)?;
            if let Some(year) = self.year {
                write!(f, " {year}")?;
            }
            f.write_str(", ")?;
        }
        write!(f, "{})", self.source)
    }
}

fn rounded(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}
