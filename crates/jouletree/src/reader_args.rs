//! Arguments that say who reads the meters: this process, or a daemon that has the right to.

use anyhow::Result;
use clap::Args;
use jouletree_daemon::SocketPlace;
use jouletree_host::Roots;
use jouletree_session::daemon_place::DaemonPlace;
use jouletree_session::reader::{Reader, ReaderOptions};

use crate::daemon_args::{self, NetworkArgs};
use crate::meter_args::MeterArgs;

/// Where energy comes from.
#[derive(Args)]
pub struct ReaderArgs {
    #[command(flatten)]
    meters: MeterArgs,
    /// Have the daemon read the meters, at its usual socket, at this one, or at HOST:PORT with its token and certificate.
    /// Without this it is asked where nothing can be measured by this user and a daemon runs that can
    #[arg(
        long,
        value_name = "SOCKET|HOST:PORT",
        env = "JOULETREE_DAEMON",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = SocketPlace::PATH,
        value_parser = daemon_args::place(),
        help_heading = "Meters"
    )]
    daemon: Option<DaemonPlace>,
    #[command(flatten)]
    network: NetworkArgs,
    /// Never ask a daemon
    #[arg(long, conflicts_with = "daemon", help_heading = "Meters")]
    no_daemon: bool,
}

impl ReaderArgs {
    /// Where the machine's files are.
    pub fn roots(&self) -> Roots {
        self.meters.options().roots
    }

    /// Finds who can read the meters, and what is required of them.
    pub fn open(&self) -> Result<Reader> {
        let options = ReaderOptions {
            meters: self.meters.options(),
            daemon: self.daemon.clone(),
            network: self.network.keys(),
            no_daemon: self.no_daemon,
        };
        options.open()
    }
}
