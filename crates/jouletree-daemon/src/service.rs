//! The service `jouletree.v1.Meter`: requests in, sessions out.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use crate::connection::Caller;
use crate::connections::Connections;
use crate::policy::Peer;
use crate::sessions::{Held, Offer, RefusedSession, Sessions};
use crate::wire::v1::ended::Reason;
use crate::wire::v1::meter_server::Meter;
use crate::wire::v1::watch_event::Event;
use crate::wire::v1::watch_request::Request as Wish;
use crate::wire::{self, v1};

/// How long a stream may take to say what it wants.
const FIRST_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The service, for one way of reaching it.
#[derive(Debug, Clone)]
pub struct MeterService {
    /// The sessions.
    pub sessions: Arc<Sessions>,
    /// The connections of all ways of reaching the daemon.
    pub connections: Vec<Arc<Connections>>,
    /// When the daemon began.
    pub began: Instant,
}

type Events = Pin<Box<dyn Stream<Item = Result<v1::WatchEvent, Status>> + Send>>;

#[tonic::async_trait]
impl Meter for MeterService {
    async fn sensors(
        &self,
        request: Request<v1::SensorsRequest>,
    ) -> Result<Response<v1::SensorsResponse>, Status> {
        peer(&request)?;
        let sensors = self.sessions.station().sensors().iter().map(wire::sensor).collect();
        Ok(Response::new(v1::SensorsResponse { sensors }))
    }

    type WatchStream = Events;

    async fn watch(&self, request: Request<Streaming<v1::WatchRequest>>) -> Result<Response<Events>, Status> {
        let peer = peer(&request)?;
        let mut wishes = request.into_inner();
        let first = tokio::time::timeout(FIRST_REQUEST_TIMEOUT, wishes.message()).await;
        let first = first.map_err(|_| Status::deadline_exceeded("the first request did not come in time"))??;
        let (held, next) = match first.and_then(|first| first.request) {
            Some(Wish::Start(start)) => {
                let sessions = self.sessions.clone();
                let held = tokio::task::spawn_blocking(move || sessions.start(peer, &start)).await;
                (held.map_err(|_| Status::internal("the session could not begin"))?.map_err(status)?, 0)
            }
            Some(Wish::Resume(v1::Resume { session, secret, next })) => {
                let held = self.sessions.find(session, peer, &secret).ok_or_else(no_session)?;
                if let Some(last) = next.checked_sub(1) {
                    held.acknowledge(last);
                }
                (held, next)
            }
            _ => return Err(Status::invalid_argument("the first request must be `start` or `resume`")),
        };
        let started = self.started(&held);
        let (sender, events) = mpsc::channel(1);
        // The channel is empty, so this succeeds.
        let _ = sender.try_send(Ok(v1::WatchEvent { event: Some(Event::Started(started)) }));
        let stream = held.attach(next);
        let line = Line { sessions: self.sessions.clone(), held, stream, next, sender };
        tokio::spawn(line.serve(wishes));
        Ok(Response::new(Box::pin(ReceiverStream::new(events))))
    }

    async fn stop(&self, request: Request<v1::StopRequest>) -> Result<Response<v1::StopResponse>, Status> {
        let peer = peer(&request)?;
        let v1::StopRequest { session, secret } = request.into_inner();
        let held = self.sessions.find(session, peer, &secret).ok_or_else(no_session)?;
        held.want_end(Reason::Stopped);
        Ok(Response::new(v1::StopResponse {}))
    }

    async fn status(&self, request: Request<v1::StatusRequest>) -> Result<Response<v1::StatusResponse>, Status> {
        let peer = peer(&request)?;
        let station = self.sessions.station();
        let sessions = self.sessions.statuses();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Ok(Response::new(v1::StatusResponse {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            uptime_ns: i64::try_from(self.began.elapsed().as_nanos()).unwrap_or(i64::MAX),
            sensors: station.sensors().iter().map(wire::sensor).collect(),
            stats: Some(wire::stats(&station.stats())),
            session_count: count(sessions.len()),
            sessions: if peer == Peer::Remote { Vec::new() } else { sessions },
            connections: count(self.connections.iter().map(|connections| connections.count()).sum()),
            dropped: self.sessions.dropped(),
            resident_bytes: resident(),
        }))
    }
}

impl MeterService {
    fn started(&self, held: &Held) -> v1::Started {
        let kept_for = self.sessions.limits().kept_for.as_nanos();
        v1::Started {
            session: held.terms.id,
            secret: held.terms.secret.to_vec(),
            period_ns: held.terms.watch.period.0,
            why_longer: held.terms.why_longer.clone(),
            kept_for_ns: i64::try_from(kept_for).unwrap_or(i64::MAX),
            sensors: self.sessions.station().sensors().iter().map(wire::sensor).collect(),
            share_source: held.terms.share_source.clone(),
        }
    }
}

/// One stream that serves a session.
struct Line {
    sessions: Arc<Sessions>,
    held: Arc<Held>,
    stream: u64,
    next: u64,
    sender: mpsc::Sender<Result<v1::WatchEvent, Status>>,
}

impl Line {
    /// Sends what there is as fast as the client takes it, and hears what it says.
    async fn serve(mut self, mut wishes: Streaming<v1::WatchRequest>) {
        let (mut listens, mut told_end) = (true, false);
        loop {
            let news = self.held.news.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            let has_offer = !told_end && self.held.has_offer(self.stream, self.next);
            tokio::select! {
                wish = wishes.message(), if listens => match wish {
                    Ok(Some(v1::WatchRequest { request })) => match request {
                        Some(Wish::Acknowledge(acknowledge)) => self.held.acknowledge(acknowledge.number),
                        Some(Wish::End(_)) => self.held.want_end(Reason::Stopped),
                        _ => {
                            let wrong = Status::invalid_argument("only `acknowledge` and `end` may follow");
                            let _ = self.sender.try_send(Err(wrong));
                            break;
                        }
                    },
                    Ok(None) => listens = false,
                    Err(_) => break,
                },
                place = self.sender.reserve(), if has_offer => {
                    let Ok(place) = place else { break };
                    // Looked at only now: while there was no place, the oldest may have been dropped.
                    match self.held.offer(self.stream, self.next) {
                        Offer::Nothing => {}
                        Offer::TakenOver => {
                            place.send(Err(Status::aborted("the session was resumed by another connection")));
                            return;
                        }
                        Offer::Event(event) => {
                            match &event {
                                Event::Parcel(parcel) => self.next = parcel.number + 1,
                                Event::Ended(_) => told_end = true,
                                Event::Started(_) => {}
                            }
                            place.send(Ok(v1::WatchEvent { event: Some(event) }));
                        }
                    }
                }
                () = news, if !has_offer => {}
                () = self.sender.closed() => break,
            }
            if !listens {
                // Who has nothing more to say acknowledges by listening.
                if let Some(last) = self.next.checked_sub(1) {
                    self.held.acknowledge(last);
                }
                if told_end {
                    self.sessions.forget(self.held.terms.id);
                    return;
                }
            }
        }
        self.held.detach(self.stream);
    }
}

/// The client, as the connection identifies it.
#[allow(clippy::result_large_err, reason = "this is how services refuse")]
fn peer<T>(request: &Request<T>) -> Result<Peer, Status> {
    Caller::of(request).map(|caller| caller.peer)
}

fn no_session() -> Status {
    Status::not_found("you have no such session; it may have ended because its client was away for too long")
}

fn status(refused: RefusedSession) -> Status {
    let text = refused.to_string();
    match refused {
        RefusedSession::TooManyOfUser(_) | RefusedSession::TooMany(_) => Status::resource_exhausted(text),
        RefusedSession::NoProcess(_) => Status::not_found(text),
        RefusedSession::NotPermitted(_) => Status::permission_denied(text),
        RefusedSession::Period(_) => Status::invalid_argument(text),
        RefusedSession::Station(_) => Status::failed_precondition(text),
        RefusedSession::System(_) | RefusedSession::Unreadable(_) => Status::unavailable(text),
    }
}

/// The memory of this process in bytes; zero when the system does not report it.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok().and_then(|line| {
        let pages: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
        Some(pages)
    });
    pages.unwrap_or(0).saturating_mul(rustix::param::page_size() as u64)
}
