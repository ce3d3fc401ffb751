//! The current intensity, by Electricity Maps. No request is made unless the user wants it (`--online`).
//!
//! Answers are kept in a file for an hour, so that many runs ask once. Who does not answer is left alone for half a
//! minute, then for twice as long each time, up to an hour.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use jouletree_host::whole;
use jouletree_model::GramsPerKwh;
use serde::{Deserialize, Serialize};

use crate::{Intensity, Location, Origin};

/// Where Electricity Maps answers.
pub const ELECTRICITY_MAPS: &str = "https://api.electricitymaps.com/v3";

/// How long an answer holds, in seconds.
const FRESH_S: i64 = 3600;
/// How long a service is left alone that did not answer, at first and at most.
const PAUSE_S: (i64, i64) = (30, 3600);
/// How long an answer is waited for.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// No answer is larger.
const LARGEST: u64 = 64 << 10;

/// Electricity Maps, as one user may ask it.
#[derive(Debug, Clone)]
pub struct ElectricityMaps {
    /// The user's token.
    pub token: String,
    /// Where it is asked.
    pub url: String,
    /// The folder in which answers are kept; without one the service is asked each time.
    pub cache: Option<PathBuf>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The location is not known.
    #[error("Electricity Maps needs a country; give one with --country")]
    Nowhere,
    /// It was asked and did not answer.
    #[error("Electricity Maps does not return the intensity of {zone}: {why}")]
    NoAnswer {
        /// The zone.
        zone: String,
        /// What it or the network said.
        why: String,
    },
    /// It did not answer before, and is left alone.
    #[error("Electricity Maps did not answer, and is not asked again for {0} s")]
    LeftAlone(i64),
}

/// What it answers.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    carbon_intensity: f64,
    datetime: Option<String>,
    is_estimated: Option<bool>,
    emission_factor_type: Option<String>,
}

/// What is kept of a zone.
#[derive(Default, Serialize, Deserialize)]
struct Kept {
    /// When it was asked, in seconds since 1970.
    at: i64,
    /// What it said; none when it did not answer.
    intensity: Option<Intensity>,
    /// How often in a row it did not.
    failures: u32,
}

impl ElectricityMaps {
    /// The intensity at a place, now or within the last hour.
    pub fn intensity(&self, place: &Location) -> Result<Intensity, LiveError> {
        let zone = zone(place).ok_or(LiveError::Nowhere)?;
        let file = self.cache.as_ref().map(|cache| cache.join(format!("intensity-{zone}.json")));
        let now = Timestamp::now().as_second();
        let kept = file.as_deref().map(read).unwrap_or_default();
        let age = now.saturating_sub(kept.at);
        if let Some(intensity) = kept.intensity.filter(|_| (0..FRESH_S).contains(&age)) {
            return Ok(intensity);
        }
        let pause = match kept.failures {
            0 => 0,
            failures => (PAUSE_S.0 << (failures - 1).min(16)).min(PAUSE_S.1),
        };
        if (0..pause).contains(&age) {
            return Err(LiveError::LeftAlone(pause - age));
        }
        let asked = self.ask(&zone);
        let kept = match &asked {
            Ok(intensity) => Kept { at: now, intensity: Some(intensity.clone()), failures: 0 },
            Err(_) => Kept { at: now, intensity: None, failures: kept.failures.saturating_add(1) },
        };
        file.iter().for_each(|file| write(file, &kept));
        asked.map_err(|why| LiveError::NoAnswer { zone, why })
    }

    fn ask(&self, zone: &str) -> Result<Intensity, String> {
        let url = format!("{}/carbon-intensity/latest?zone={zone}", self.url.trim_end_matches('/'));
        let agent = ureq::Agent::new_with_config(
            ureq::Agent::config_builder().timeout_global(Some(REQUEST_TIMEOUT)).build(),
        );
        let mut response =
            agent.get(&url).header("auth-token", &self.token).call().map_err(|error| error.to_string())?;
        let text = response.body_mut().with_config().limit(LARGEST).read_to_string();
        let text = text.map_err(|error| error.to_string())?;
        let answer: Answer =
            serde_json::from_str(&text).map_err(|error| format!("the answer is not understood ({error})"))?;
        if !(0.0..=5000.0).contains(&answer.carbon_intensity) {
            return Err(format!("{} g/kWh cannot be", answer.carbon_intensity));
        }
        let at = answer.datetime.as_deref().unwrap_or("now").to_owned();
        let year = at.get(..4).and_then(|year| year.parse().ok());
        let factors = answer.emission_factor_type.as_deref().unwrap_or("lifecycle");
        let note = answer.is_estimated.unwrap_or(false).then(|| "estimated by the service".to_owned());
        Ok(Intensity {
            value: GramsPerKwh(answer.carbon_intensity),
            zone: zone.to_owned(),
            year,
            source: format!("Electricity Maps, {factors}, {at}"),
            origin: Origin::Live,
            note,
        })
    }
}

/// What Electricity Maps calls a place: the country, a Canadian province or a Nordic zone.
fn zone(place: &Location) -> Option<String> {
    let country = place.country()?;
    Some(match place.grid {
        Some(grid) if grid.iso3 == "CAN" => grid.code.clone(),
        Some(grid) if matches!(grid.iso3.as_str(), "SWE" | "NOR") => format!("{}-{}", country.iso2, grid.code),
        _ => country.iso2.clone(),
    })
}

/// What is kept; nothing where that cannot be read.
fn read(file: &Path) -> Kept {
    fs::read(file).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

/// Keeps it, as a whole or not at all. Who cannot keep it asks again.
fn write(file: &Path, kept: &Kept) {
    if fs::create_dir_all(whole::folder_of(file)).is_ok() {
        let _ = whole::write(file, &serde_json::to_vec(kept).unwrap_or_default());
    }
}
