//! Arguments of live outputs: what is being recorded, shown to a Prometheus server or sent to an OpenTelemetry collector
//! (docs/live.md).

mod machine;
mod otlp;

use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use jouletree_carbon::Intensity;
use jouletree_live::{Aliases, ListenAddress};
use jouletree_session::outputs::{LiveOptions, Outputs};

pub use machine::MachineLiveArgs;
use otlp::OtlpArgs;

const HEADING: &str = "Live outputs";

/// To whom a recording is shown while it goes on.
#[derive(Args, Default)]
pub struct LiveArgs {
    /// Answer a Prometheus server while the recording goes on, at this port of this machine (:9108) or at an address that
    /// is written out
    #[arg(long, value_name = "ADDR", help_heading = HEADING)]
    prometheus: Option<ListenAddress>,
    /// Answer requests by this name of the machine, too, besides addresses and `localhost`; may be repeated
    #[arg(long, value_name = "NAME", requires = "prometheus", help_heading = HEADING)]
    prometheus_host: Vec<String>,
    /// Show the figures also by the names and in the units of another tool
    #[arg(long, value_name = "TOOL", value_enum, requires = "prometheus", help_heading = HEADING)]
    prometheus_aliases: Option<AliasesArg>,
    /// Go on answering at the end until the last figures have been asked for, but no longer than this
    #[arg(
        long,
        value_name = "SECONDS",
        requires = "prometheus",
        value_parser = crate::cli::seconds,
        help_heading = HEADING
    )]
    prometheus_linger: Option<Duration>,
    #[command(flatten)]
    otlp: OtlpArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AliasesArg {
    /// codecarbon_energy_consumed and its like: kWh, kg, W, s
    #[value(name = "codecarbon")]
    CodeCarbon,
}

impl LiveArgs {
    /// Opens them. The carbon intensity of electricity is shown where it is known.
    pub fn open(&self, intensity: Option<Intensity>, is_quiet: bool) -> Result<Outputs> {
        let options = LiveOptions {
            prometheus: self.prometheus,
            hosts: self.prometheus_host.clone(),
            aliases: self.prometheus_aliases.map(|AliasesArg::CodeCarbon| Aliases::CodeCarbon),
            linger: self.prometheus_linger.unwrap_or_default(),
            push: self.otlp.settings()?,
        };
        Outputs::open(options, intensity, is_quiet)
    }
}
