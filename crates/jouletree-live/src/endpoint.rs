//! The endpoint that a Prometheus server scrapes: one page, over HTTP, on a thread of its own.
//!
//! At most [`MAX_CONNECTIONS`] at once, each with a timeout of [`REQUEST_TIMEOUT`] for a question and its answer.
//! A page is made once for each snapshot, however many ask.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HOST, HeaderValue};
use hyper::http::uri::Authority;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::Aliases;
use crate::address::ListenAddress;
use crate::board::Board;
use crate::family::families;
use crate::hosts::Hosts;
use crate::snapshot::Snapshot;
use crate::text::{Exposition, exposition};

/// So many are served at once; who comes beyond that is not let in.
const MAX_CONNECTIONS: usize = 16;
/// How long one of them may take for everything.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// No request needs more bytes.
const LARGEST_REQUEST: usize = 16 << 10;
/// How long those who are being answered when it ends may take.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(500);

/// Why there is no endpoint.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// It cannot listen there.
    #[error("cannot listen on {0} for Prometheus: {1}; choose another port, or end who listens there")]
    Listen(SocketAddr, #[source] io::Error),
    /// Everybody could listen to what is said there.
    #[error(
        "{0} can be reached from other machines, and a Prometheus endpoint has neither encryption nor a password; write \
         :{port} to be reached from this machine only, or add --prometheus-insecure if the network is your own",
        port = .0.port()
    )]
    Insecure(SocketAddr),
    /// There is no thread for it.
    #[error("the system gives no thread for the Prometheus endpoint: {0}")]
    Thread(#[source] io::Error),
}

/// Answers scrapes until it is dropped.
#[derive(Debug)]
pub struct Endpoint {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Endpoint {
    /// Begins to answer with what is pinned to a board.
    pub fn open(
        at: ListenAddress,
        board: Board,
        aliases: Option<Aliases>,
        hosts: &[String],
    ) -> Result<Endpoint, EndpointError> {
        let failed = |error| EndpointError::Listen(at.0, error);
        let listener = TcpListener::bind(at.0).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(EndpointError::Thread)?;
        let (stop, stopped) = oneshot::channel();
        let hosts = Hosts::new(at, hosts);
        let pages = Arc::new(Pages { board, aliases, hosts, made: Mutex::default() });
        let thread = thread::Builder::new().name("prometheus".to_owned());
        let thread = thread.spawn(move || runtime.block_on(serve(listener, pages, stopped)));
        Ok(Endpoint { address, stop: Some(stop), thread: Some(thread.map_err(EndpointError::Thread)?) })
    }

    /// The same for a service that everybody of the machine uses: an address that other machines can reach must be meant.
    pub fn open_guarded(
        at: ListenAddress,
        board: Board,
        is_insecurity_meant: bool,
        hosts: &[String],
    ) -> Result<Endpoint, EndpointError> {
        if !at.is_closed() && !is_insecurity_meant {
            return Err(EndpointError::Insecure(at.0));
        }
        Endpoint::open(at, board, None, hosts)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It ends within half a second. If it panicked, scrapes failed, which is no harm to the recording.
            let _ = thread.join();
        }
    }
}

async fn serve(listener: TcpListener, pages: Arc<Pages>, mut stopped: oneshot::Receiver<()>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut stopped => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if connections.len() < MAX_CONNECTIONS => {
                    connections.spawn(tokio::time::timeout(REQUEST_TIMEOUT, answer(stream, pages.clone())));
                }
                Ok(_) => {}
                // No file descriptors are left, most likely: they will be.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
        }
    }
    drop(listener);
    let shutdown = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, shutdown).await;
}

/// Answers one question.
async fn answer(stream: tokio::net::TcpStream, pages: Arc<Pages>) {
    let shows_last = Mutex::new(false);
    let service = service_fn(|request: Request<Incoming>| {
        let (response, is_last) = pages.respond(&request);
        *shows_last.lock().unwrap_or_else(PoisonError::into_inner) |= is_last;
        async move { Ok::<_, Infallible>(response) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIMEOUT)
        .max_buf_size(LARGEST_REQUEST)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    // A client that went away before it had everything has seen nothing.
    if connection.is_ok() && *shows_last.lock().unwrap_or_else(PoisonError::into_inner) {
        pages.board.note_last_taken();
    }
}

/// The pages that are answered with.
struct Pages {
    board: Board,
    aliases: Option<Aliases>,
    hosts: Hosts,
    made: Mutex<Made>,
}

/// The pages of one snapshot, as far as they were requested.
#[derive(Default)]
struct Made {
    of: Option<Arc<Snapshot>>,
    open_metrics: Option<Bytes>,
    plain: Option<Bytes>,
}

impl Pages {
    /// The answer, and whether it shows the last snapshot.
    fn respond<B>(&self, request: &Request<B>) -> (Response<Full<Bytes>>, bool) {
        let plain =
            |status, text: &'static str| (response(status, "text/plain; charset=utf-8", text.into()), false);
        let named = request.uri().authority().map(Authority::as_str);
        let asked = request.headers().get(HOST).map(|host| host.to_str().unwrap_or_default());
        if named.into_iter().chain(asked).any(|host| !self.hosts.has(host)) {
            return plain(
                StatusCode::MISDIRECTED_REQUEST,
                "ask by an address, or start with --prometheus-host and the name that you ask by\n",
            );
        }
        let is_read = [Method::GET, Method::HEAD].contains(request.method());
        match request.uri().path() {
            "/metrics" | "/" if !is_read => {
                let (mut response, is_last) = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered\n");
                response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
                (response, is_last)
            }
            "/metrics" => {
                let accept = request.headers().get(ACCEPT).and_then(|value| value.to_str().ok());
                let format = Exposition::accepted(accept);
                let Some(snapshot) = self.board.newest() else {
                    return plain(StatusCode::SERVICE_UNAVAILABLE, "counting has not begun; ask again\n");
                };
                match self.page(&snapshot, format) {
                    Some(page) => {
                        let is_last = request.method() == Method::GET && self.board.is_last(&snapshot);
                        (response(StatusCode::OK, format.content_type(), page), is_last)
                    }
                    None => plain(StatusCode::INTERNAL_SERVER_ERROR, "the metrics cannot be written\n"),
                }
            }
            "/" => plain(StatusCode::OK, "jouletree: the metrics are at /metrics\n"),
            _ => plain(StatusCode::NOT_FOUND, "there is nothing here; the metrics are at /metrics\n"),
        }
    }

    fn page(&self, snapshot: &Arc<Snapshot>, format: Exposition) -> Option<Bytes> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if !made.of.as_ref().is_some_and(|of| Arc::ptr_eq(of, snapshot)) {
            *made = Made { of: Some(snapshot.clone()), ..Made::default() };
        }
        let page = match format {
            Exposition::OpenMetrics => &mut made.open_metrics,
            Exposition::Plain => &mut made.plain,
        };
        if page.is_none() {
            *page = exposition(families(snapshot, self.aliases), format).ok().map(Bytes::from);
        }
        page.clone()
    }
}

fn response(status: StatusCode, content_type: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
