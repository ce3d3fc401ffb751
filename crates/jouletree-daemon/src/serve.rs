//! The daemon at work: its ways in, its signals, its end.

use std::fs::File;
use std::future::Future;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jouletree_meter::station::Station;
use tokio::net::{TcpListener, UnixListener};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Status};
use tracing::{info, warn};

use crate::accept::{accept_tcp, accept_unix};
use crate::config::{Config, Tcp, Ways};
use crate::connection::Caller;
use crate::connections::{Connections, Entrance, Full};
use crate::service::MeterService;
use crate::sessions::Sessions;
use crate::smaragdine;
use crate::socket::{DaemonSocket, SocketError};
use crate::token::Token;
use crate::wire::v1::meter_server::MeterServer;

/// No request needs more bytes.
pub(crate) const LARGEST_REQUEST: usize = 64 << 10;
/// How long clients have to receive the end of their sessions.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Why the daemon does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// It has no socket.
    #[error(transparent)]
    DaemonSocket(#[from] SocketError),
    /// It cannot listen there.
    #[error("cannot listen on {0}: {1}; choose another address, or end who listens there")]
    Listen(SocketAddr, #[source] io::Error),
    /// Everybody could listen to what is said there.
    #[error(
        "{0} can be reached from other machines, and the Smaragdine protocol has neither encryption nor a password; \
         use a loopback address such as [::1]:50051, or --smaragdine-insecure if the network is your own"
    )]
    Insecure(SocketAddr),
    /// A file of the certificate cannot be read.
    #[error("{0}: {1}")]
    File(PathBuf, #[source] io::Error),
    /// Others know the key.
    #[error("{0} can be read or changed by others, so it is no secret; run: chmod 600 {0}, or 640 for a group")]
    OpenKey(PathBuf),
    /// The certificate is none.
    #[error("the certificate or its key cannot be used: {0:?}; both must be PEM files and belong together")]
    Tls(tonic::transport::Error),
    /// The system refuses.
    #[error("the system refuses: {0}")]
    System(#[from] io::Error),
}

/// Serves until SIGTERM or SIGINT; SIGHUP is ignored. Calls `ready` as soon as clients can connect.
pub fn serve(station: Station, config: Config, ready: impl FnOnce(&Ways)) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(8).build()?;
    runtime.block_on(async {
        let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        // Asking for it keeps it from ending the daemon.
        let _hangup = signal(SignalKind::hangup())?;
        let stop = async move {
            tokio::select! {
                _ = term.recv() => info!(signal = "SIGTERM", "stopping"),
                _ = int.recv() => info!(signal = "SIGINT", "stopping"),
            }
        };
        serve_until(station, config, ready, stop).await
    })
}

/// The same until something happens.
pub async fn serve_until(
    station: Station,
    config: Config,
    ready: impl FnOnce(&Ways),
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let Config { socket: place, tcp, smaragdine, foreign, shortest, limits, roots } = config;
    let sessions = Arc::new(Sessions::new(station.clone(), roots.proc.clone(), (foreign, shortest), limits));
    // Each way in has its own limits, so that one of them does not exhaust those of another.
    let entrances = [Entrance::Kernel, Entrance::Token, Entrance::Open];
    let [local, remote, open] = entrances.map(|entrance| Connections::new(entrance, &limits));
    let connections = vec![local.clone(), remote.clone(), open.clone()];
    let service = MeterService { sessions: sessions.clone(), connections, began: Instant::now() };
    let meter = MeterServer::new(service).max_decoding_message_size(LARGEST_REQUEST);
    let (close, closed) = watch::channel(());
    let mut servers = JoinSet::new();

    let mut ways = Ways { socket: place.path.clone(), tcp: None, smaragdine: None };
    if let Some(tcp) = tcp {
        let (listener, address) = listen(tcp.address).await?;
        ways.tcp = Some(address);
        let guarded = InterceptedService::new(meter.clone(), guard(tcp.token.clone()));
        let router = builder().tls_config(identity(&tcp)?).map_err(ServeError::Tls)?.add_service(guarded);
        let incoming = accept_tcp(listener, remote);
        servers.spawn(router.serve_with_incoming_shutdown(incoming, until(closed.clone())));
    }
    if let Some(config) = smaragdine {
        let (listener, address) = listen(config.checked_address()?).await?;
        ways.smaragdine = Some(address);
        let router = builder().add_service(smaragdine::service(station, roots, config.fast, &limits));
        let incoming = accept_tcp(listener, open);
        servers.spawn(router.serve_with_incoming_shutdown(incoming, until(closed.clone())));
    }
    let (socket, listener) = DaemonSocket::bind(&place)?;
    let incoming = accept_unix(UnixListener::from_std(listener)?, local);
    servers.spawn(builder().add_service(meter).serve_with_incoming_shutdown(incoming, until(closed)));
    log_start(&sessions, &ways);
    ready(&ways);

    tokio::pin!(stop);
    let mut tidy = tokio::time::interval(Duration::from_secs(1).min(limits.kept_for));
    loop {
        tokio::select! {
            () = &mut stop => break,
            _ = tidy.tick() => sessions.tidy(),
        }
    }
    let (began, statuses) = (Instant::now(), sessions.statuses());
    info!(sessions = statuses.len(), "shutting down");
    // No new client connects at the path; sessions that are open receive their end.
    drop(socket);
    let shutdown = async {
        loop {
            sessions.end_all();
            if !sessions.has_attached() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        drop(close);
        while servers.join_next().await.is_some() {}
    };
    let in_time = tokio::time::timeout(SHUTDOWN_TIMEOUT, shutdown).await.is_ok();
    if !in_time {
        warn!(timeout = ?SHUTDOWN_TIMEOUT, "some clients did not take the end of their sessions in time");
    }
    info!(took = ?began.elapsed(), dropped = sessions.dropped(), "stopped");
    Ok(())
}

/// Logs what is served, and where.
fn log_start(sessions: &Sessions, ways: &Ways) {
    let sensors = sessions.station().sensors();
    let (version, pid) = (env!("CARGO_PKG_VERSION"), std::process::id());
    info!(version, pid, sensors = sensors.len(), socket = %ways.socket.display(), "serving");
    for sensor in &sensors {
        let domain = sensor.domain.as_ref().map(tracing::field::display);
        info!(device = %sensor.device, domain, source = %sensor.source, kind = %sensor.kind, "sensor");
    }
    if let Some(address) = ways.tcp {
        info!(%address, "serving the network, with TLS and a token");
    }
    if let Some(address) = ways.smaragdine {
        warn!(%address, "serving the Smaragdine protocol, which has no authentication");
    }
}

fn builder() -> Server {
    Server::builder()
        .max_concurrent_streams(32)
        .initial_stream_window_size(64 << 10)
        .initial_connection_window_size(256 << 10)
        .http2_keepalive_interval(Some(Duration::from_secs(20)))
        .http2_keepalive_timeout(Some(Duration::from_secs(10)))
        .http2_max_header_list_size(16 << 10)
        .tcp_nodelay(true)
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ServeError> {
    let failed = |error| ServeError::Listen(address, error);
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

fn identity(tcp: &Tcp) -> Result<ServerTlsConfig, ServeError> {
    let certificate = read(&tcp.certificate, |_| true)?;
    // A group may read it, as those do that hand out certificates.
    let key = read(&tcp.key, |mode| mode & 0o027 == 0)?;
    Ok(ServerTlsConfig::new().identity(Identity::from_pem(certificate, key)).timeout(Duration::from_secs(10)))
}

fn read(path: &Path, is_secret: impl Fn(u32) -> bool) -> Result<Vec<u8>, ServeError> {
    let failed = |error| ServeError::File(path.to_owned(), error);
    let mut file = File::open(path).map_err(failed)?;
    if !is_secret(file.metadata().map_err(failed)?.mode()) {
        return Err(ServeError::OpenKey(path.to_owned()));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

#[allow(clippy::result_large_err, reason = "this is how interceptors refuse")]
fn guard(token: Token) -> impl FnMut(Request<()>) -> Result<Request<()>, Status> + Clone {
    move |request| {
        if !token.is_in(request.metadata().get("authorization").map(|header| header.as_bytes())) {
            return Err(Status::unauthenticated(
                "the token is missing or wrong; give the daemon's with --token-file",
            ));
        }
        let full =
            |Full| Status::resource_exhausted("there are too many connections; close some, or try again later");
        Caller::of(&request)?.trust().map_err(full)?;
        Ok(request)
    }
}

async fn until(mut closed: watch::Receiver<()>) {
    // It ends by being closed.
    let _ = closed.changed().await;
}
