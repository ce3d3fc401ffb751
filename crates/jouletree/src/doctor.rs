//! `jouletree doctor`: what can be measured on this machine, what not, why, and the command that would change it.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use jouletree_session::diagnosis::Diagnosis;

use crate::cli::InspectFormat;
use crate::meter_args::MeterArgs;
use crate::{doctor_text, json, print};

pub const EXAMPLES: &str = "\
Examples:
  jouletree doctor                                 every sensor, usable or not, and what would mend it
  jouletree doctor --format json | jq '.sensors[] | select(.usable)'
  jouletree doctor --require measured              fail (status 1) where the processor's energy is only estimated
  jouletree doctor --meter /dev/ttyUSB0            is my own meter heard? it writes lines of time,watts
  jouletree doctor --meter cpu:0=tcp:meter.lab:9000
      a meter of the processor's supply that sends its lines over the network
  jouletree doctor --sys-root /host/sys --proc-root /host/proc
      in a container that sees its host there

It watches every sensor before it trusts it, for a few seconds at most.
Exit status: 0 also when nothing can be measured, 1 under --require measured, 2 wrong arguments.";

#[derive(Args)]
pub struct DoctorArgs {
    /// How the result is written
    #[arg(long, value_enum, default_value = "table")]
    pub format: InspectFormat,
    #[command(flatten)]
    pub meters: MeterArgs,
}

/// Runs the command.
pub fn run(arguments: &DoctorArgs) -> Result<ExitCode> {
    let (diagnosis, required) = Diagnosis::take(&arguments.meters.options());
    match arguments.format {
        InspectFormat::Table => print(&doctor_text::text(&diagnosis))?,
        InspectFormat::Json => print(&json::written(&diagnosis)?)?,
    }
    required?;
    Ok(ExitCode::SUCCESS)
}
