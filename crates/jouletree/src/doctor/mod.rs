//! `jouletree doctor`: what can be measured on this machine, what not, why, and the command that would change it.

mod daemon;
mod diagnosis;
mod share;
mod text;
mod words;

use anyhow::Result;
use jouletree_meter::inventory::{Inventory, energy_filter, unsupported, watts};
use jouletree_meter::sampler::realtime_class;
use jouletree_model::Nanos;
use jouletree_model::sampling::Class;

use crate::cli::{DoctorArgs, InspectFormat};
use crate::{Outcome, json, print};
pub use diagnosis::sensors;
use diagnosis::{Diagnosis, Realtime};

/// How long the power that is shown is averaged over.
const A_WHILE: Nanos = Nanos(1_000_000_000);

/// Runs the command.
pub fn run(arguments: &DoctorArgs) -> Result<Outcome> {
    let sources = arguments.meters.options().sources();
    let inventory = Inventory::take(&sources);
    let required = arguments.meters.options().check(&inventory);
    let mut diagnosis = Diagnosis {
        sensors: diagnosis::sensors(&inventory),
        absent: diagnosis::absent(&inventory),
        unsupported: unsupported(&sources.roots).filter(|_| !diagnosis::is_metered(&inventory)).map(Into::into),
        process_share: share::tried(&sources.roots),
        realtime: realtime(),
        energy_filter: energy_filter(&sources.roots),
        daemon: daemon::looked_at(),
        devices: diagnosis::devices(&inventory),
        summary: diagnosis::summary(&inventory),
    };
    diagnosis.fill_in(&watts(inventory.into_sensors(), A_WHILE));
    match arguments.format {
        InspectFormat::Table => print(&text::text(&diagnosis))?,
        InspectFormat::Json => print(&json::written(&diagnosis)?)?,
    }
    required?;
    Ok(Outcome { warnings: Vec::new(), strict: false })
}

fn realtime() -> Realtime {
    match realtime_class() {
        Class::Fifo => Realtime { permitted: true, reason: None, remedy: None },
        _ => Realtime {
            permitted: false,
            reason: Some("samples are late when the machine is busy".to_owned()),
            remedy: Some(words::realtime_remedy()),
        },
    }
}
