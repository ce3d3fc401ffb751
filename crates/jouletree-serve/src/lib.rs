//! The impact of planned hardware as a form in the browser, and as JSON for programs. It answers from tables, keeps
//! nothing and makes no request itself.

mod form;
mod guard;
mod html;
mod listener;
mod page;
mod regions;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use axum::{Router, middleware};
use jouletree_carbon::settings::Settings;
use serde::Serialize;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use form::Form;
use listener::BoundedListener;

const STYLE: &str = include_str!("assets/page.css");
const SCRIPT: &str = include_str!("assets/page.js");

const NOT_FOUND: &str = "there is a page at / and an answer for programs at /estimate\n";

/// Why the page cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The runtime cannot start.
    #[error("cannot start the runtime of the server")]
    Runtime(#[source] io::Error),
    /// The address cannot be listened at.
    #[error("cannot listen at {address}; is the port taken? Choose another with --port, or --port 0")]
    Listen {
        /// Where it should listen.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// Signals cannot be received.
    #[error("the system refuses to deliver signals")]
    Signals(#[source] io::Error),
    /// The caller could not announce the address.
    #[error("cannot announce the address")]
    Announce(#[source] io::Error),
    /// The server ended with an error.
    #[error("cannot serve any more")]
    Serve(#[source] io::Error),
}

/// Serves the page until a signal ends it. The form starts with the given settings; `announce` gets the address as soon
/// as requests are answered there.
pub fn serve(
    address: SocketAddr,
    settings: &Settings,
    announce: impl FnOnce(SocketAddr) -> io::Result<()>,
) -> Result<(), ServeError> {
    let first = Arc::new(Form::first(settings));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ServeError::Runtime)?;
    runtime.block_on(listen(address, first, announce))
}

async fn listen(
    address: SocketAddr,
    first: Arc<Form>,
    announce: impl FnOnce(SocketAddr) -> io::Result<()>,
) -> Result<(), ServeError> {
    let refused = |source| ServeError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    // Before the address is known: its reader may send a signal at once.
    let deliver = |kind| signal(kind).map_err(ServeError::Signals);
    let (mut interrupted, mut terminated) = (deliver(SignalKind::interrupt())?, deliver(SignalKind::terminate())?);
    announce(address).map_err(ServeError::Announce)?;
    let served = axum::serve(BoundedListener::new(listener), routes(address.ip(), first)).into_future();
    tokio::select! {
        outcome = served => outcome.map_err(ServeError::Serve),
        _ = interrupted.recv() => Ok(()),
        _ = terminated.recv() => Ok(()),
    }
}

fn routes(address: IpAddr, first: Arc<Form>) -> Router {
    let of_type = |kind: &'static str, text: &'static str| {
        get(move || async move { ([(header::CONTENT_TYPE, kind)], text) })
    };
    let router = Router::new()
        .route("/", get(show))
        .route("/estimate", get(estimate))
        .route("/page.css", of_type("text/css; charset=utf-8", STYLE))
        .route("/page.js", of_type("text/javascript; charset=utf-8", SCRIPT))
        .fallback(|| async { (StatusCode::NOT_FOUND, NOT_FOUND) });
    // On loopback only local names are valid: another name means DNS rebinding. Other interfaces may have any name.
    let router = match address.is_loopback() {
        true => router.layer(middleware::from_fn(guard::only_local_names)),
        false => router,
    };
    router.layer(middleware::map_response(guard::with_headers)).with_state(first)
}

type Pairs = Query<Vec<(String, String)>>;

/// The page, with errors beside their fields.
async fn show(State(first): State<Arc<Form>>, Query(pairs): Pairs) -> Html<String> {
    if pairs.is_empty() {
        return Html(page::page(&first, &first.answer()));
    }
    let form = Form::asked(pairs);
    Html(page::page(&form, &form.answer()))
}

/// The same for programs.
async fn estimate(Query(pairs): Pairs) -> Response {
    match Form::asked(pairs).answer() {
        Ok(answer) => as_json(StatusCode::OK, &answer),
        Err(problems) => as_json(StatusCode::BAD_REQUEST, &json!({ "errors": problems })),
    }
}

fn as_json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_string_pretty(value) {
        Ok(text) => (status, [(header::CONTENT_TYPE, "application/json")], text + "\n").into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}
