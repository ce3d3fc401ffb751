//! Arguments of the daemon's live outputs.

use anyhow::Result;
use clap::Args;
use jouletree_carbon::Intensity;
use jouletree_live::ListenAddress;
use jouletree_session::machine_outputs::{MachineLiveOptions, MachineOutputs};

use super::HEADING;
use super::otlp::OtlpArgs;

/// To whom a daemon shows the machine's devices.
#[derive(Args)]
pub struct MachineLiveArgs {
    /// Answer a Prometheus server with the energy of devices, at this port of this machine (:9108) or at an address that is
    /// written out
    #[arg(long, value_name = "ADDR", help_heading = HEADING)]
    prometheus: Option<ListenAddress>,
    /// Let other machines reach the Prometheus endpoint
    #[arg(long, requires = "prometheus", help_heading = HEADING)]
    prometheus_insecure: bool,
    /// Answer requests by this name of the machine, too, besides addresses and `localhost`; may be repeated
    #[arg(long, value_name = "NAME", requires = "prometheus", help_heading = HEADING)]
    prometheus_host: Vec<String>,
    #[command(flatten)]
    otlp: OtlpArgs,
}

impl MachineLiveArgs {
    /// Opens them, so that it is known whether they can be before meters are read.
    pub fn open(&self, intensity: Option<Intensity>) -> Result<MachineOutputs> {
        let options = MachineLiveOptions {
            prometheus: self.prometheus,
            is_insecure: self.prometheus_insecure,
            hosts: self.prometheus_host.clone(),
            push: self.otlp.settings()?,
        };
        MachineOutputs::open(options, intensity)
    }
}
