//! Everything that turns joules into something else, resolved from the settings.

use std::path::Path;

use jouletree_model::{Grams, GramsPerKwh};

use crate::electricity_maps::ElectricityMaps;
use crate::settings::{Key, Layer, Settings, SettingsError};
use crate::tables::{Providers, server};
use crate::{Embodied, Facility, FacilityError, Intensity, Location, PlaceError, Tariff, TariffError, chain};

/// The location of a machine and the facts about its site.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// Its location, as far as it is set.
    pub place: Location,
    /// The carbon intensity there; none when it is not known.
    pub intensity: Option<Intensity>,
    /// The data centre around it.
    pub facility: Facility,
    /// What electricity costs; none when it is not set.
    pub tariff: Option<Tariff>,
    /// The currency of that.
    pub currency: String,
    /// What making it emitted; none when it is not to be counted.
    pub embodied: Option<EmbodiedWanted>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// How the making of a machine is counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EmbodiedWanted {
    /// All of it; none when they are counted from its parts.
    pub total: Option<Grams>,
    /// How long it lasts.
    pub life_years: f64,
    /// The part in use.
    pub share: f64,
}

impl EmbodiedWanted {
    /// Counts it, with what its parts come to.
    pub fn with(self, of_parts: Embodied) -> Embodied {
        let total = self.total.unwrap_or(of_parts.total);
        Embodied { total, life_years: self.life_years, share: self.share }
    }
}

/// Why there is none.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ContextError {
    /// A setting is wrong.
    #[error(transparent)]
    Setting(#[from] SettingsError),
    /// The place is not known.
    #[error(transparent)]
    Location(#[from] PlaceError),
    /// The data centre cannot be.
    #[error(transparent)]
    Facility(#[from] FacilityError),
    /// The tariff is none.
    #[error(transparent)]
    Tariff(#[from] TariffError),
}

impl Context {
    /// Resolves settings. A service is asked only if they say so; its answers are kept in `cache`.
    pub fn resolve(settings: &Settings, cache: Option<&Path>) -> Result<Context, ContextError> {
        let mut warnings = Vec::new();
        let place = place_or_provider(settings, &mut warnings)?;
        let live = match live(settings, cache)? {
            None => None,
            Some(service) => service
                .intensity(&place)
                .map_err(|error| warnings.push(format!("{error}; the table of the year is used instead")))
                .ok(),
        };
        let known = chain::Known {
            given: settings.number(Key::Intensity)?.map(GramsPerKwh),
            live,
            world_average: settings.flag(Key::AllowWorldAverage)?,
        };
        let pue = settings.number(Key::Pue)?.unwrap_or(1.0);
        let facility = Facility::new(pue, settings.number(Key::Wue)?.unwrap_or_default())?;
        Ok(Context {
            place,
            intensity: chain::intensity(&known, &place),
            facility,
            tariff: settings.text(Key::Tariff).map(|text| text.parse()).transpose()?,
            currency: settings.text(Key::Currency).unwrap_or_default(),
            embodied: embodied(settings)?,
            warnings,
        })
    }
}

impl Context {
    /// The same, whatever is wrong: what cannot be used is left out one by one, with a warning.
    pub fn resolve_what_can_be(settings: &Settings, cache: Option<&Path>) -> (Context, Vec<String>) {
        let (mut settings, mut problems) = (settings.clone(), Vec::new());
        loop {
            let error = match Context::resolve(&settings, cache) {
                Ok(context) => return (context, problems),
                Err(error) => error,
            };
            problems.push(error.to_string());
            // Each error takes its settings away, so that this ends.
            let wrong = match error {
                ContextError::Location(_) => vec![Key::Country, Key::Region, Key::Provider, Key::CloudRegion],
                ContextError::Facility(FacilityError::Pue(_)) => vec![Key::Pue],
                ContextError::Facility(FacilityError::Wue(_)) => vec![Key::Wue],
                ContextError::Tariff(_) => vec![Key::Tariff],
                ContextError::Setting(SettingsError::Value { name, .. }) => match Key::by_name(name) {
                    Some(key) => vec![key],
                    None => return (Context::default(), problems),
                },
                ContextError::Setting(SettingsError::File { .. }) => return (Context::default(), problems),
            };
            wrong.into_iter().for_each(|key| settings.unset(key));
        }
    }
}

/// The place; of a cloud that reports a region without figures, the cloud alone. That is no mistake of the user, and must not keep
/// a measurement from starting.
fn place_or_provider(settings: &Settings, warnings: &mut Vec<String>) -> Result<Location, PlaceError> {
    let layer = settings.value(Key::CloudRegion).map(|value| value.layer);
    match (place(settings), layer) {
        (Err(error @ PlaceError::CloudRegion { .. }), Some(Layer::CloudMetadata(path))) => {
            warnings.push(format!("{}: {error} Name the country with --country", path.display()));
            let mut without = settings.clone();
            without.unset(Key::CloudRegion);
            place(&without)
        }
        (found, _) => found,
    }
}

fn place(settings: &Settings) -> Result<Location, PlaceError> {
    // A location set at a higher-priority layer discards lower layers' country and region.
    let unless = |key, stronger: &[Key]| {
        settings.text(key).filter(|_| !stronger.iter().any(|stronger| settings.outranks(*stronger, key)))
    };
    let country = unless(Key::Country, &[Key::Provider]);
    let region = unless(Key::Region, &[Key::Country, Key::Provider]);
    let provider = unless(Key::Provider, &[Key::Country]);
    let cloud_region = unless(Key::CloudRegion, &[Key::Country, Key::Provider]).filter(|_| provider.is_some());
    Location::find(country.as_deref(), region.as_deref(), provider.as_deref(), cloud_region.as_deref())
}

/// The service that is to be asked; none unless the user wants it.
fn live(settings: &Settings, cache: Option<&Path>) -> Result<Option<ElectricityMaps>, SettingsError> {
    if !settings.flag(Key::Online)? || settings.number(Key::Intensity)?.is_some() {
        return Ok(None);
    }
    let token = settings.parsed(Key::ElectricityMapsToken, "a token", |token| Some(token.to_owned()))?;
    let Some(token) = token else {
        return Err(SettingsError::Value {
            name: Key::Online.name(),
            value: "true".to_owned(),
            layer: settings.value(Key::Online).map(|value| value.layer.to_string()).unwrap_or_default(),
            wanted: "a token for Electricity Maps in JOULETREE_ELECTRICITYMAPS_TOKEN",
        });
    };
    let url = settings.text(Key::ElectricityMapsUrl).unwrap_or_default();
    let cache = cache.map(Path::to_owned);
    Ok(Some(ElectricityMaps { token, url, cache }))
}

fn embodied(settings: &Settings) -> Result<Option<EmbodiedWanted>, SettingsError> {
    let wanted = "kilograms, `server`, or an instance of a cloud such as aws/p3.2xlarge";
    let kilograms = |text: &str| match text.split_once('/') {
        _ if text == "server" => Some(None),
        Some((provider, instance)) => server(Providers::find(provider)?, instance).map(Some),
        None => text.parse::<f64>().ok().filter(|kg| kg.is_finite() && *kg >= 0.0).map(Some),
    };
    let Some(kilograms) = settings.parsed(Key::EmbodiedKg, wanted, kilograms)? else { return Ok(None) };
    let positive = |text: &str| text.parse::<f64>().ok().filter(|years| *years > 0.0 && years.is_finite());
    let part = |text: &str| text.parse::<f64>().ok().filter(|part| (0.0..=1.0).contains(part));
    Ok(Some(EmbodiedWanted {
        total: kilograms.map(|kilograms| Grams(kilograms * 1e3)),
        life_years: settings
            .parsed(Key::LifeYears, "a number of years", positive)?
            .unwrap_or(Embodied::LIFE_YEARS),
        share: settings.parsed(Key::EmbodiedShare, "a part from 0 to 1", part)?.unwrap_or(1.0),
    }))
}
