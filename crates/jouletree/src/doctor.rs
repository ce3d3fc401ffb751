//! `jouletree doctor`: what can be measured on this machine, what not, why, and the command that would change it.

use anyhow::Result;
use jouletree_session::diagnosis::Diagnosis;

use crate::cli::{DoctorArgs, InspectFormat};
use crate::{Outcome, doctor_text, json, print};

/// Runs the command.
pub fn run(arguments: &DoctorArgs) -> Result<Outcome> {
    let (diagnosis, required) = Diagnosis::take(&arguments.meters.options());
    match arguments.format {
        InspectFormat::Table => print(&doctor_text::text(&diagnosis))?,
        InspectFormat::Json => print(&json::written(&diagnosis)?)?,
    }
    required?;
    Ok(Outcome { warnings: Vec::new(), strict: false })
}
