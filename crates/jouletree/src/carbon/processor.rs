//! The settings about the power of processors, which are beside those of carbon in the same files.

use jouletree_carbon::settings::{Key, Sources};
use jouletree_model::Watts;

use crate::meters::ModelSettings;

/// What files and the environment say. What is wrong with them is reported by the commands that need the rest of them.
pub fn model_settings() -> ModelSettings {
    let settings = Sources::of_process().read().0;
    ModelSettings {
        name: settings.text(Key::CpuModel),
        power: settings.number(Key::CpuPower).ok().flatten().map(Watts),
    }
}
