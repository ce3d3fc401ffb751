//! `jouletree serve`: the estimate of `estimate impact` as a form in the browser, on this machine.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;

use crate::carbon::CarbonArgs;
use crate::print;

pub const EXAMPLES: &str = "\
Examples:
  jouletree serve                                  then open http://127.0.0.1:8480/
  jouletree serve --country ITA --tariff 0.25      begins with this place and this price
  jouletree serve --port 0                         any port that is free; the first line says which
  jouletree serve --address 0.0.0.0                also for other machines; all that reach this one may use it
  curl 'http://127.0.0.1:8480/estimate?gpu=A100&hours=100&provider=gcp&cloud_region=europe-west1'
      what `jouletree estimate impact --format json` says

It answers from tables, keeps nothing and asks nothing of any network. docs/serve.md says how it is secured.";

#[derive(Args)]
pub struct ServeArgs {
    /// The port to listen at
    #[arg(long, value_name = "PORT", default_value_t = 8480)]
    pub port: u16,
    /// The address to listen at; by default only this machine can ask
    #[arg(long, value_name = "ADDRESS")]
    pub address: Option<IpAddr>,
    #[command(flatten)]
    pub carbon: CarbonArgs,
}

/// Runs the command until a signal ends it.
pub fn run(arguments: &ServeArgs) -> Result<ExitCode> {
    if arguments.carbon.online {
        bail!(
            "the page answers from tables alone; leave out --online, and give --intensity where you know better"
        );
    }
    let address = arguments.address.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let announce = |address| print(&format!("http://{address}/ answers until Ctrl-C\n")).map_err(io::Error::other);
    let settings = arguments.carbon.settings()?;
    jouletree_serve::serve(SocketAddr::new(address, arguments.port), &settings, announce)?;
    Ok(ExitCode::SUCCESS)
}
