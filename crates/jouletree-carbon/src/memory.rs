//! Memory that nothing meters, by the models of other trackers; by default nothing is invented.

use jouletree_model::{Joules, Kind, Nanos, Warning, Watts};

use crate::formats::{ClassEnergy, Parts};
use crate::models::ram::{Rule, power};
use crate::settings::{Key, Settings, SettingsError};

/// Which model.
enum Model {
    Watts(Watts),
    Rule(Rule),
}

/// Adds the memory's energy if a model of it is asked for. A meter is better than any model.
pub fn apply(
    parts: &mut Parts,
    settings: &Settings,
    gibibytes: Option<f64>,
    time: Nanos,
    warnings: &mut Vec<Warning>,
) -> Result<(), SettingsError> {
    let Some(model) = model(settings)? else { return Ok(()) };
    if parts.ram.is_some() {
        warnings.push(Warning::new("ram_model", "memory has a meter here, and no model is used for it"));
        return Ok(());
    }
    let watts = match (model, gibibytes) {
        (Model::Watts(watts), _) => watts,
        (Model::Rule(rule), Some(gibibytes)) => power(rule, gibibytes),
        (Model::Rule(_), None) => {
            warnings.push(Warning::new("ram_model", "it is not known how much memory there was"));
            return Ok(());
        }
    };
    let energy = Joules(watts.0 * time.seconds());
    parts.ram =
        Some(ClassEnergy { energy, low: Joules::ZERO, high: Joules(2.0 * energy.0), kind: Kind::Estimated });
    Ok(())
}

fn model(settings: &Settings) -> Result<Option<Model>, SettingsError> {
    if let Some(watts) = settings.number(Key::RamPower)? {
        return Ok(Some(Model::Watts(Watts(watts))));
    }
    let is_arm = cfg!(target_arch = "aarch64");
    let rule = |text: &str| match text {
        "none" => Some(None),
        "codecarbon" => Some(Some(Rule::PerModule { is_arm })),
        "codecarbon2" => Some(Some(Rule::PerGigabyte)),
        _ => None,
    };
    Ok(settings.parsed(Key::RamModel, "none, codecarbon or codecarbon2", rule)?.flatten().map(Model::Rule))
}
