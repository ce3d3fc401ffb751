//! The way to the daemon, for programs that wait: connect, ask, watch.
//!
//! A [`RemoteSession`] has the same shape as a session of one's own station. When its connection breaks it connects
//! again by itself and goes on where it was; batches are acknowledged when the next one is asked for.

mod line;
mod session;

use std::fmt;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jouletree_meter::station::Watch;
use jouletree_model::sampling::{SensorInfo, Stats};
use tokio::runtime::Runtime;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Status};

pub use session::RemoteSession;

use crate::socket::SocketPlace;
use crate::token::Token;
use crate::wire::v1::meter_client::MeterClient;
use crate::wire::{self, WireError, v1};

/// How long an answer may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// A batch of a second at the finest is far smaller.
const LARGEST_ANSWER: usize = 64 << 20;

/// Where a daemon is.
#[derive(Debug, Clone)]
pub enum Address {
    /// On this machine, at a socket.
    Unix(PathBuf),
    /// Elsewhere.
    Tls {
        /// `host:port`, by the name that its certificate has.
        address: String,
        /// The file of the certificate, or of who signed it, PEM.
        certificate: PathBuf,
        /// What opens it.
        token: Token,
    },
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(path) => path.display().fmt(f),
            Address::Tls { address, .. } => write!(f, "https://{address}"),
        }
    }
}

impl Default for Address {
    fn default() -> Address {
        Address::Unix(SocketPlace::PATH.into())
    }
}

/// Why the daemon gives no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// There is none.
    #[error("no daemon runs at {0}; start it with: systemctl start jouletree, or as root: jouletree daemon")]
    NotRunning(PathBuf),
    /// It is not for this user.
    #[error(
        "you may not use {0}; add yourself to the group that owns it and log in again: \
         sudo usermod -aG \"$(stat -c %G {0})\" \"$USER\""
    )]
    NotPermitted(PathBuf),
    /// Its folder is not for this user.
    #[error("the folder of {path} is closed to you; as root, run: chmod 755 {folder}")]
    ClosedFolder {
        /// The socket.
        path: PathBuf,
        /// The folder that cannot be entered.
        folder: PathBuf,
    },
    /// It cannot be reached.
    #[error("cannot reach the daemon at {0}: {1}")]
    Unreachable(String, String),
    /// A file that is needed cannot be read.
    #[error("{0}: {1}")]
    File(PathBuf, #[source] io::Error),
    /// It refuses.
    #[error("the daemon refuses: {}", .0.message())]
    Refused(Box<Status>),
    /// It says what cannot be understood.
    #[error("the daemon's answer cannot be used: {0}")]
    Answer(#[from] WireError),
    /// The system refuses.
    #[error("the system refuses: {0}")]
    System(#[from] io::Error),
}

impl From<Status> for ClientError {
    fn from(status: Status) -> ClientError {
        ClientError::Refused(Box::new(status))
    }
}

/// A connection to a daemon.
#[derive(Debug)]
pub struct Client {
    address: Address,
    runtime: Runtime,
    meter: MeterStub,
}

pub(crate) type MeterStub = MeterClient<InterceptedService<Channel, Bearer>>;

/// Brings the token with every request, if there is one.
#[derive(Debug, Clone)]
pub(crate) struct Bearer(Option<MetadataValue<Ascii>>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request.metadata_mut().insert("authorization", token.clone());
        }
        Ok(request)
    }
}

impl Client {
    /// Connects.
    pub fn connect(address: &Address) -> Result<Client, ClientError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let meter = runtime.block_on(connect(address))?;
        Ok(Client { address: address.clone(), runtime, meter })
    }

    /// The `host:port` of a daemon that is reached by the network.
    pub fn remote_address(&self) -> Option<&str> {
        match &self.address {
            Address::Unix(_) => None,
            Address::Tls { address, .. } => Some(address),
        }
    }

    /// The daemon's sensors.
    pub fn sensors(&self) -> Result<Vec<SensorInfo>, ClientError> {
        let mut meter = self.meter.clone();
        let answer = self.ask(async move { meter.sensors(v1::SensorsRequest {}).await })?;
        Ok(answer.sensors.into_iter().map(wire::sensor_from).collect::<Result<_, _>>()?)
    }

    /// How the daemon does.
    pub fn status(&self) -> Result<v1::StatusResponse, ClientError> {
        let mut meter = self.meter.clone();
        self.ask(async move { meter.status(v1::StatusRequest {}).await })
    }

    /// How well the daemon's sampler keeps time.
    pub fn stats(&self) -> Result<Stats, ClientError> {
        Ok(self.status()?.stats.as_ref().map(wire::stats_from).unwrap_or_default())
    }

    /// The answer to a question, if it comes in time.
    fn ask<T>(&self, answer: impl Future<Output = Result<tonic::Response<T>, Status>>) -> Result<T, ClientError> {
        let in_time = self.runtime.block_on(async { tokio::time::timeout(REQUEST_TIMEOUT, answer).await });
        let late = |_| ClientError::Unreachable(self.address.to_string(), "it does not answer".to_owned());
        Ok(in_time.map_err(late)??.into_inner())
    }

    /// Begins a session, on a connection of its own.
    pub fn watch(&self, watch: Watch) -> Result<RemoteSession, ClientError> {
        RemoteSession::start(self.address.clone(), watch)
    }
}

/// Connects and says why not, with the remedy.
pub(crate) async fn connect(address: &Address) -> Result<MeterStub, ClientError> {
    let (endpoint, bearer, name) = match address {
        Address::Unix(path) => {
            // Tonic's errors do not distinguish a missing daemon from a missing right.
            UnixStream::connect(path).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                    ClientError::NotRunning(path.clone())
                }
                io::ErrorKind::PermissionDenied => not_permitted(path),
                _ => ClientError::Unreachable(path.display().to_string(), error.to_string()),
            })?;
            (Endpoint::from_shared(format!("unix:{}", path.display())), None, path.display().to_string())
        }
        Address::Tls { address, token, .. } => {
            (Endpoint::from_shared(format!("https://{address}")), token.header().parse().ok(), address.clone())
        }
    };
    let unreachable = |error: tonic::transport::Error| ClientError::Unreachable(name.clone(), causes(&error));
    let mut endpoint = endpoint
        .map_err(unreachable)?
        .connect_timeout(Duration::from_secs(5))
        // What waits, waits at the daemon, which counts what it drops.
        .initial_stream_window_size(64 << 10)
        .initial_connection_window_size(128 << 10)
        .http2_keep_alive_interval(Duration::from_secs(10))
        .keep_alive_timeout(Duration::from_secs(10))
        .keep_alive_while_idle(true);
    if let Address::Tls { certificate, .. } = address {
        let pem = std::fs::read(certificate).map_err(|error| ClientError::File(certificate.clone(), error))?;
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem));
        endpoint = endpoint.tls_config(tls).map_err(unreachable)?;
    }
    let channel = endpoint.connect().await.map_err(unreachable)?;
    let meter = MeterClient::with_interceptor(channel, Bearer(bearer));
    Ok(meter.max_decoding_message_size(LARGEST_ANSWER))
}

/// Why a socket may not be used: its own mode, or that of a folder above it.
fn not_permitted(path: &Path) -> ClientError {
    let is_closed = |folder: &&Path| {
        let inside = std::fs::symlink_metadata(folder.join("."));
        inside.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
    };
    match path.ancestors().skip(1).filter(is_closed).last() {
        Some(folder) => ClientError::ClosedFolder { path: path.to_owned(), folder: folder.to_owned() },
        None => ClientError::NotPermitted(path.to_owned()),
    }
}

/// An error and what caused it, in one line.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

/// Whether it may go better after some time.
fn is_passing(error: &ClientError) -> bool {
    match error {
        ClientError::NotRunning(_) | ClientError::Unreachable(..) => true,
        ClientError::Refused(status) => {
            matches!(status.code(), Code::Unavailable | Code::Unknown | Code::Cancelled | Code::Internal)
        }
        _ => false,
    }
}
