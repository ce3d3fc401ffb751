//! Live outputs of the daemon: the energy of devices, for everybody who may ask, and nothing about processes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};
use jouletree_carbon::Intensity;
use jouletree_daemon::policy::FLOOR;
use jouletree_live::otlp::PushSettings;
use jouletree_live::{Board, CarbonIntensity, Endpoint, ListenAddress, Publisher, Pusher, Shown};
use jouletree_meter::station::{Next, Station, Watch};
use jouletree_model::Nanos;

use crate::outputs::{announce, pusher, shown};

/// How often meters are read for these outputs: batches then come once a second.
const PERIOD: Nanos = Nanos(250_000_000);
/// How long a batch is waited for before it is seen whether the daemon ends.
const LOOK: Duration = Duration::from_millis(200);

/// To whom a daemon shows the machine's devices.
pub struct MachineLiveOptions {
    /// Where a Prometheus server is answered.
    pub prometheus: Option<ListenAddress>,
    /// Whether other machines may reach that endpoint.
    pub is_insecure: bool,
    /// Names of this machine by which requests are answered, too.
    pub hosts: Vec<String>,
    /// The OpenTelemetry collector.
    pub push: Option<PushSettings>,
}

/// Outputs of a daemon, until they are dropped.
pub struct MachineOutputs {
    pusher: Option<Pusher>,
    endpoint: Option<Endpoint>,
    watcher: Option<(Arc<AtomicBool>, JoinHandle<()>)>,
    board: Board,
    intensity: Option<CarbonIntensity>,
}

impl MachineOutputs {
    /// Opens them, so that it is known whether they can be before meters are read.
    pub fn open(options: MachineLiveOptions, intensity: Option<Intensity>) -> Result<MachineOutputs> {
        let board = Board::default();
        let endpoint = match options.prometheus {
            Some(at) => Some(Endpoint::open_guarded(at, board.clone(), options.is_insecure, &options.hosts)?),
            None => None,
        };
        endpoint.iter().for_each(|endpoint| announce(endpoint, false));
        let pusher = pusher(options.push, &board)?;
        Ok(MachineOutputs { pusher, endpoint, watcher: None, board, intensity: intensity.map(shown) })
    }

    /// Begins to show what a station reads.
    pub fn begin(&mut self, station: &Station) -> Result<()> {
        if self.endpoint.is_none() && self.pusher.is_none() {
            return Ok(());
        }
        let watch = Watch { pid: None, period: PERIOD, grid: Some(FLOOR) };
        let mut session = station.watch(watch)?;
        let shown = Shown { parts: false, intensity: self.intensity.clone() };
        let mut publisher = Publisher::begin(self.board.clone(), &station.sensors(), PERIOD, shown);
        let is_over = Arc::new(AtomicBool::new(false));
        let is_stopped = is_over.clone();
        let watching = move || {
            while !is_stopped.load(Ordering::Relaxed) {
                match session.next(LOOK) {
                    Next::Batch(batch) => publisher.take(&batch),
                    Next::NothingYet => {}
                    Next::Ended => break,
                }
            }
            publisher.finish();
        };
        let thread = thread::Builder::new().name("live-outputs".to_owned()).spawn(watching);
        self.watcher = Some((is_over, thread.context("the system gives no thread")?));
        Ok(())
    }
}

impl Drop for MachineOutputs {
    fn drop(&mut self) {
        if let Some((is_over, thread)) = self.watcher.take() {
            is_over.store(true, Ordering::Relaxed);
            // If it panicked, figures stood still, which is no harm to the daemon.
            let _ = thread.join();
        }
        self.pusher.take().into_iter().for_each(Pusher::end);
    }
}
