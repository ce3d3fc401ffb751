//! How a daemon is set up: its ways in, and how much there may be of everything.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use jouletree_host::Roots;
use jouletree_meter::sampler::Options;
use jouletree_model::Nanos;

use crate::policy::Foreign;
use crate::smaragdine::SmaragdineConfig;
use crate::socket::SocketPlace;
use crate::token::Token;

/// How the daemon is set up.
#[derive(Debug, Clone)]
pub struct Config {
    /// Its Unix socket.
    pub socket: SocketPlace,
    /// Its way in from the network, if there is one.
    pub tcp: Option<Tcp>,
    /// The published Smaragdine protocol, if it is served.
    pub smaragdine: Option<SmaragdineConfig>,
    /// What is done with those who want to watch processes of others.
    pub foreign: Foreign,
    /// The shortest period that anybody is granted.
    pub shortest: Nanos,
    /// How much there may be of everything.
    pub limits: Limits,
    /// Where the machine's files are.
    pub roots: Roots,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            socket: SocketPlace::default(),
            tcp: None,
            smaragdine: None,
            foreign: Foreign::default(),
            shortest: Options::SHORTEST,
            limits: Limits::default(),
            roots: Roots::default(),
        }
    }
}

/// A way in from the network: only encrypted, and only with a token.
#[derive(Debug, Clone)]
pub struct Tcp {
    /// Where it listens.
    pub address: SocketAddr,
    /// The file of its certificate, PEM.
    pub certificate: PathBuf,
    /// The file of the certificate's key, PEM.
    pub key: PathBuf,
    /// What clients have to know.
    pub token: Token,
}

/// How much there may be of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Sessions of one user.
    pub sessions_of_user: usize,
    /// All sessions.
    pub sessions: usize,
    /// Connections of one user at the socket, and of one address that showed the token.
    pub connections_of_user: usize,
    /// All connections at the socket, and all that showed the token.
    pub connections: usize,
    /// Connections of one address that has not shown the token yet.
    pub strangers_of_address: usize,
    /// All connections that have not shown the token yet, and all of the Smaragdine protocol.
    pub strangers: usize,
    /// Bytes of batches that a session keeps for a client that has not acknowledged them: half a minute of eight
    /// sensors a thousand times a second.
    pub kept_bytes: usize,
    /// How long a session waits for a client that is gone.
    pub kept_for: Duration,
    /// How long a finished recording of the Smaragdine protocol is kept.
    pub recording_kept_for: Duration,
    /// How long a recording of the Smaragdine protocol goes on without a call when its connection is gone.
    pub recording_unattended_for: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            sessions_of_user: 16,
            sessions: 64,
            connections_of_user: 32,
            connections: 256,
            strangers_of_address: 32,
            strangers: 128,
            kept_bytes: 3 << 20,
            kept_for: Duration::from_secs(30),
            recording_kept_for: Duration::from_secs(600),
            recording_unattended_for: Duration::from_secs(3600),
        }
    }
}

/// Where the daemon can be reached, as soon as it can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ways {
    /// Its socket.
    pub socket: PathBuf,
    /// Its address in the network.
    pub tcp: Option<SocketAddr>,
    /// The address of the Smaragdine protocol.
    pub smaragdine: Option<SocketAddr>,
}
