//! Arguments that say where a daemon is.

use std::convert::Infallible;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use jouletree_daemon::client::Address;
use jouletree_session::daemon_place::{DaemonPlace, NetworkKeys};

/// What opens a daemon that is elsewhere.
#[derive(Args, Clone, Default)]
pub struct NetworkArgs {
    /// The token of a daemon that is reached by HOST:PORT, in a file that only its owner can read
    #[arg(long, value_name = "FILE", env = "JOULETREE_TOKEN_FILE", help_heading = "Meters")]
    token_file: Option<PathBuf>,
    /// The certificate of such a daemon, or of the authority that signed it, a PEM file
    #[arg(long, value_name = "FILE", env = "JOULETREE_TLS_CA", help_heading = "Meters")]
    tls_ca: Option<PathBuf>,
}

impl NetworkArgs {
    /// The files that open it.
    pub fn keys(&self) -> NetworkKeys {
        NetworkKeys { token_file: self.token_file.clone(), tls_ca: self.tls_ca.clone() }
    }

    /// The address of a daemon, with what opens it.
    pub fn address(&self, place: &DaemonPlace) -> Result<Address> {
        self.keys().address(place)
    }
}

/// Reads the place of a daemon in a command line.
pub fn place() -> impl TypedValueParser<Value = DaemonPlace> {
    OsStringValueParser::new().try_map(|text| Ok::<_, Infallible>(DaemonPlace::from(text)))
}
