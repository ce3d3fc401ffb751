//! Who reads the meters: this process, or a daemon that has the right to.

use anyhow::{Result, bail};
use jouletree_daemon::client::{Address, Client};
use jouletree_meter::inventory::Inventory;
use jouletree_meter::station::{Feed, Options, Station, Watch};
use jouletree_model::sampling::{SensorInfo, Stats};
use jouletree_model::{DeviceClass, Kind, Nanos};
use tracing::{debug, info};

use crate::daemon_place::{DaemonPlace, NetworkKeys};
use crate::meters::MeterOptions;

/// Where energy comes from.
#[derive(Debug, Clone)]
pub struct ReaderOptions {
    /// What the user knows about meters.
    pub meters: MeterOptions,
    /// The daemon that reads them, if one must.
    pub daemon: Option<DaemonPlace>,
    /// What opens a daemon that is elsewhere.
    pub network: NetworkKeys,
    /// Never ask a daemon.
    pub no_daemon: bool,
}

/// Who reads the meters.
pub enum Reader {
    /// This process.
    Here(Station),
    /// A daemon.
    Daemon(Box<Client>),
}

/// A session, and what was granted.
pub struct Granted {
    /// What it brings.
    pub feed: Box<dyn Feed>,
    /// How often meters are read.
    pub period: Nanos,
    /// Why that is less often than what was asked for, if it is.
    pub why_longer: Option<String>,
}

impl ReaderOptions {
    /// Finds who can read the meters, and what is required of them.
    pub fn open(&self) -> Result<Reader> {
        self.meters.check_model()?;
        if let Some(place) = &self.daemon {
            if self.meters.names_meters() {
                bail!(
                    "--meter is read by this process, and --daemon asks another for all energy; leave one of them out, or \
                     give the meter to the daemon: jouletree daemon --meter PLACE"
                );
            }
            let address = self.network.address(place)?;
            let client = Client::connect(&address)?;
            if self.meters.requires_measured && !client.sensors()?.iter().any(measures_processor) {
                bail!(
                    "measured numbers are required, and the daemon at {address} has none of the processor; `jouletree \
                     doctor`, run as the daemon is, says why"
                );
            }
            info!(%address, "the daemon that was named reads the sensors");
            return Ok(Reader::Daemon(Box::new(client)));
        }
        let inventory = Inventory::take(&self.meters.sources());
        // A meter that was given by name is read here.
        if inventory.require_measured().is_err()
            && !self.no_daemon
            && !self.meters.names_meters()
            && let Some(client) = measuring_daemon()
        {
            let reason = "no sensor that this process can read measures a processor";
            info!(address = %Address::default(), reason, "the daemon of this machine reads the sensors");
            return Ok(Reader::Daemon(Box::new(client)));
        }
        info!("this process reads the sensors");
        self.meters.check(&inventory)?;
        Ok(Reader::Here(Station::start(inventory.into_sensors(), &self.meters.roots, Options::default())?))
    }
}

impl Reader {
    /// Begins a session.
    pub fn watch(&self, watch: Watch) -> Result<Granted> {
        match self {
            Reader::Here(station) => {
                Ok(Granted { feed: Box::new(station.watch(watch)?), period: watch.period, why_longer: None })
            }
            Reader::Daemon(client) if client.remote_address().is_some() && watch.pid.is_some() => bail!(
                "a daemon of another machine cannot watch a process of this one; record that machine as a whole, without \
                 a command: jouletree record --duration 60 --daemon=HOST:PORT"
            ),
            Reader::Daemon(client) => {
                let session = client.watch(watch)?;
                let (period, why_longer) = (session.period(), session.why_longer().map(str::to_owned));
                Ok(Granted { feed: Box::new(session), period, why_longer })
            }
        }
    }

    /// The address of another machine, with clocks and processes of its own, if the meters are there.
    pub fn remote_name(&self) -> Option<String> {
        match self {
            Reader::Daemon(client) => client.remote_address().map(str::to_owned),
            Reader::Here(_) => None,
        }
    }

    /// What is read.
    pub fn sensors(&self) -> Result<Vec<SensorInfo>> {
        match self {
            Reader::Here(station) => Ok(station.sensors()),
            Reader::Daemon(client) => Ok(client.sensors()?),
        }
    }

    /// How well the sampler keeps time.
    pub fn stats(&self) -> Result<Stats> {
        match self {
            Reader::Here(station) => Ok(station.stats()),
            Reader::Daemon(client) => Ok(client.stats()?),
        }
    }
}

/// A daemon at the usual place that does better than an estimate.
fn measuring_daemon() -> Option<Client> {
    let address = Address::default();
    let client = Client::connect(&address).inspect_err(|error| debug!(%address, "no daemon: {error}")).ok()?;
    let measures = client.sensors().ok()?.iter().any(measures_processor);
    if !measures {
        debug!(%address, "the daemon has no measurement of a processor and is not used");
    }
    measures.then_some(client)
}

fn measures_processor(info: &SensorInfo) -> bool {
    let is_processor = info.device.class() == DeviceClass::Cpu && info.domain.is_none();
    is_processor && matches!(info.kind, Kind::Measured | Kind::Derived)
}
