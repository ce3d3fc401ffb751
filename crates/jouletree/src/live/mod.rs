//! Live outputs: what is being recorded, shown to a Prometheus server or sent to an OpenTelemetry collector (docs/live.md).

mod machine;
mod otlp;

use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use jouletree_carbon::Intensity;
use jouletree_live::{Aliases, Board, CarbonIntensity, Endpoint, ListenAddress, Publisher, Pusher, Shown};
use jouletree_meter::station::Feed;
use jouletree_model::{GramsPerKwh, Nanos};

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

/// Outputs that are open; figures come when the recording begins.
pub struct Outputs {
    board: Board,
    endpoint: Option<Endpoint>,
    pusher: Option<Pusher>,
    intensity: Option<CarbonIntensity>,
    linger: Duration,
}

impl LiveArgs {
    /// Opens them. The carbon intensity of electricity is shown where it is known.
    pub fn open(&self, intensity: Option<Intensity>, is_quiet: bool) -> Result<Outputs> {
        let board = Board::default();
        let aliases = self.prometheus_aliases.map(|AliasesArg::CodeCarbon| Aliases::CodeCarbon);
        let endpoint = match self.prometheus {
            Some(at) => {
                let endpoint = Endpoint::open(at, board.clone(), aliases, &self.prometheus_host)?;
                announce(&endpoint, is_quiet);
                Some(endpoint)
            }
            None => None,
        };
        let pusher = self.otlp.start(&board)?;
        let linger = self.prometheus_linger.unwrap_or_default();
        Ok(Outputs { board, endpoint, pusher, intensity: intensity.map(shown), linger })
    }
}

impl Outputs {
    /// Begins to show what this feed brings; `None` when there is nobody to show it to.
    pub fn begin(&self, feed: &dyn Feed, period: Nanos, watches_process: bool) -> Option<Publisher> {
        if self.endpoint.is_none() && self.pusher.is_none() {
            return None;
        }
        let shown = Shown { parts: watches_process, intensity: self.intensity.clone() };
        Some(Publisher::begin(self.board.clone(), &feed.sensors(), period, shown))
    }

    /// Sends the last figures, lets the last scrape come if that is wanted, and ends.
    pub fn end(self) {
        self.pusher.into_iter().for_each(Pusher::end);
        if self.endpoint.is_some() {
            self.board.wait_for_last(self.linger);
        }
    }
}

/// An intensity as live outputs show it.
fn shown(intensity: Intensity) -> CarbonIntensity {
    CarbonIntensity { value: GramsPerKwh(intensity.g_per_kwh), source: intensity.source }
}

fn announce(endpoint: &Endpoint, is_quiet: bool) {
    let address = endpoint.address();
    if !is_quiet {
        eprintln!("jouletree: metrics for Prometheus at http://{address}/metrics");
    }
    if !address.ip().is_loopback() {
        eprintln!("warning: other machines can read the metrics at {address}, without a password");
    }
}
