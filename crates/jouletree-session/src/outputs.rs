//! Live outputs: what is being recorded, shown to a Prometheus server or sent to an OpenTelemetry collector (docs/live.md).

use std::time::Duration;

use anyhow::{Context, Result};
use jouletree_carbon::Intensity;
use jouletree_live::otlp::PushSettings;
use jouletree_live::{Aliases, Board, CarbonIntensity, Endpoint, ListenAddress, Publisher, Pusher, Shown};
use jouletree_meter::station::Feed;
use jouletree_model::Nanos;

use crate::notice::notice;

/// To whom a recording is shown while it goes on.
pub struct LiveOptions {
    /// Where a Prometheus server is answered.
    pub prometheus: Option<ListenAddress>,
    /// Names of this machine by which requests are answered, too.
    pub hosts: Vec<String>,
    /// Names of another tool under which figures are also shown.
    pub aliases: Option<Aliases>,
    /// How long the last figures wait to be asked for.
    pub linger: Duration,
    /// The OpenTelemetry collector.
    pub push: Option<PushSettings>,
}

/// Outputs that are open; figures come when the recording begins.
pub struct Outputs {
    board: Board,
    endpoint: Option<Endpoint>,
    pusher: Option<Pusher>,
    intensity: Option<CarbonIntensity>,
    linger: Duration,
}

impl Outputs {
    /// Opens them. The carbon intensity of electricity is shown where it is known.
    pub fn open(options: LiveOptions, intensity: Option<Intensity>, is_quiet: bool) -> Result<Outputs> {
        let board = Board::default();
        let endpoint = match options.prometheus {
            Some(at) => {
                let endpoint = Endpoint::open(at, board.clone(), options.aliases, &options.hosts)?;
                announce(&endpoint, is_quiet);
                Some(endpoint)
            }
            None => None,
        };
        let pusher = pusher(options.push, &board)?;
        Ok(Outputs { board, endpoint, pusher, intensity: intensity.map(shown), linger: options.linger })
    }

    /// Begins to show what this feed brings; `None` when there is no output.
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
pub(crate) fn shown(intensity: Intensity) -> CarbonIntensity {
    CarbonIntensity { value: intensity.value, source: intensity.source }
}

/// Begins to send what is pinned to a board, if that is wanted.
pub(crate) fn pusher(settings: Option<PushSettings>, board: &Board) -> Result<Option<Pusher>> {
    let Some(settings) = settings else { return Ok(None) };
    let pusher = Pusher::start(board.clone(), settings, |problem| notice(format_args!("warning: {problem}")));
    Ok(Some(pusher.context("the system gives no thread for OpenTelemetry")?))
}

pub(crate) fn announce(endpoint: &Endpoint, is_quiet: bool) {
    let address = endpoint.address();
    if !is_quiet {
        notice(format_args!("jouletree: metrics for Prometheus at http://{address}/metrics"));
    }
    if !address.ip().is_loopback() {
        notice(format_args!("warning: other machines can read the metrics at {address}, without a password"));
    }
}
