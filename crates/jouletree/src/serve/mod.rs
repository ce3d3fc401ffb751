//! `jouletree serve`: the estimate of `estimate impact` as a form in the browser, on this machine.

mod form;
mod guard;
mod html;
mod listener;
mod page;
mod regions;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use axum::{Router, middleware};
use clap::Args;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::carbon::CarbonArgs;
use crate::{json, print};
use form::Form;
use listener::BoundedListener;

const STYLE: &str = include_str!("assets/page.css");
const SCRIPT: &str = include_str!("assets/page.js");

const NOT_FOUND: &str = "there is a page at / and an answer for programs at /estimate\n";

pub const EXAMPLES: &str = "\
Examples:
  jouletree serve                                  then open http://127.0.0.1:8480/
  jouletree serve --country ITA --tariff 0.25      begins with this place and this price
  jouletree serve --port 0                         any port that is free; the first line says which
  jouletree serve --address 0.0.0.0                for other machines, too: whoever reaches this one may ask
  curl 'http://127.0.0.1:8480/estimate?gpu=A100&hours=100&provider=gcp&cloud_region=europe-west1'
      what `jouletree estimate impact --format json` says

It answers from tables, keeps nothing and asks nothing of any network. docs/serve.md says how it is secured.";

#[derive(Args)]
pub struct ServeArgs {
    /// The port to listen at
    #[arg(long, value_name = "PORT", default_value_t = 8480)]
    pub port: u16,
    /// The address to listen at; by default only this machine can ask
    #[arg(long, value_name = "ADDRESS")]
    pub address: Option<IpAddr>,
    #[command(flatten)]
    pub carbon: CarbonArgs,
}

/// Runs the command until a signal ends it.
pub fn run(arguments: &ServeArgs) -> Result<()> {
    if arguments.carbon.online {
        bail!(
            "the page answers from tables alone; leave out --online, and give --intensity where you know better"
        );
    }
    let address = arguments.address.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let first = Arc::new(Form::first(&arguments.carbon.settings()?));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the system gives nothing to serve with")?;
    runtime.block_on(serve(SocketAddr::new(address, arguments.port), first))
}

async fn serve(address: SocketAddr, first: Arc<Form>) -> Result<()> {
    let taken =
        || format!("cannot listen at {address}; is the port taken? Choose another with --port, or --port 0");
    let listener = TcpListener::bind(address).await.with_context(taken)?;
    let address = listener.local_addr().context("the system does not tell the port")?;
    // Before anybody knows the address: who reads it may end this at once.
    let listen = |kind| signal(kind).context("the system refuses to deliver signals");
    let (mut interrupted, mut terminated) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    print(&format!("http://{address}/ answers until Ctrl-C\n"))?;
    let served = axum::serve(BoundedListener::new(listener), routes(address.ip(), first)).into_future();
    tokio::select! {
        outcome = served => outcome.context("cannot serve any more"),
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
    // Who listens to others knows what they call this machine; a browser that was led here by a foreign name does not.
    let router = match address.is_loopback() {
        true => router.layer(middleware::from_fn(guard::only_local_names)),
        false => router,
    };
    router.layer(middleware::map_response(guard::with_headers)).with_state(first)
}

type Pairs = Query<Vec<(String, String)>>;

/// The page. What is wrong with a field stands beside it.
async fn show(State(first): State<Arc<Form>>, Query(pairs): Pairs) -> Html<String> {
    if pairs.is_empty() {
        return Html(page::page(&first, &first.answer()));
    }
    let form = Form::asked(pairs);
    Html(page::page(&form, &form.answer()))
}

/// The same for programs.
async fn estimate(Query(pairs): Pairs) -> Response {
    let (status, text) = match Form::asked(pairs).answer() {
        Ok(answer) => (StatusCode::OK, json::written(&answer)),
        Err(problems) => (StatusCode::BAD_REQUEST, json::written(&json!({ "errors": problems }))),
    };
    match text {
        Ok(text) => (status, [(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}\n")).into_response(),
    }
}
