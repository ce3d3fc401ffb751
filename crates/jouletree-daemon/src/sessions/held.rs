//! A session that is held for its client, whether it is connected or not.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jouletree_meter::station::{Next, Session, Watch};
use jouletree_model::sampling::Batch;
use subtle::ConstantTimeEq;
use tokio::sync::Notify;
use tracing::{info, warn};

use super::kept::Kept;
use crate::owner::Process;
use crate::policy::Peer;
use crate::wire::v1::ended::Reason;
use crate::wire::{self, v1};

/// How long the station is waited for before other things are looked at.
const WAIT: Duration = Duration::from_millis(100);
/// How often it is looked whether a process is still its client's own.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

/// How often dropped samples of a session are logged.
const BETWEEN_DROP_MESSAGES: Duration = Duration::from_secs(10);

/// Logs samples that a session drops because its client does not take them.
#[derive(Debug, Default)]
struct DropLog {
    logged: u64,
    last: Option<Instant>,
}

impl DropLog {
    fn log(&mut self, session: u64, dropped: u64) {
        let is_due = self.last.is_none_or(|last| last.elapsed() >= BETWEEN_DROP_MESSAGES);
        if dropped > self.logged && is_due {
            (self.logged, self.last) = (dropped, Some(Instant::now()));
            warn!(session, dropped, "the client does not keep up; its oldest batches are dropped");
        }
    }
}

/// What makes a session.
#[derive(Debug, Clone)]
pub struct Terms {
    /// Its number.
    pub id: u64,
    /// What only its client knows.
    pub secret: [u8; 16],
    /// Its client.
    pub peer: Peer,
    /// What it watches, as granted.
    pub watch: Watch,
    /// Why the period is longer than what was asked for, if it is.
    pub why_longer: Option<String>,
    /// Where the processor time of the tree comes from.
    pub share_source: Option<String>,
    /// The process that has to stay the client's own, and where processes are.
    pub own: Option<(Process, PathBuf)>,
}

/// A session and what waits for its client.
#[derive(Debug)]
pub struct Held {
    /// What makes it.
    pub terms: Terms,
    began: Instant,
    state: Mutex<State>,
    /// Rings when there is something new for the client.
    pub news: Notify,
}

#[derive(Debug)]
struct State {
    kept: Kept,
    /// The stream that serves it: later ones take it over.
    stream: u64,
    /// Since when there is none.
    alone_since: Option<Instant>,
    wanted_end: Option<Reason>,
    ended: Option<v1::Ended>,
}

/// What there is for a client.
#[derive(Debug)]
pub enum Offer {
    /// This.
    Event(v1::watch_event::Event),
    /// Nothing yet.
    Nothing,
    /// Another stream has taken the session over.
    TakenOver,
}

impl Held {
    /// Holds a session without a connection.
    pub fn new(terms: Terms, most_bytes: usize) -> Held {
        let state = State {
            kept: Kept::new(most_bytes),
            stream: 0,
            alone_since: Some(Instant::now()),
            wanted_end: None,
            ended: None,
        };
        Held { terms, began: Instant::now(), state: Mutex::new(state), news: Notify::new() }
    }

    /// Whether this is its client, which knows its secret.
    pub fn belongs_to(&self, peer: Peer, secret: &[u8]) -> bool {
        bool::from(self.terms.secret.as_slice().ct_eq(secret)) && self.terms.peer == peer
    }

    /// Serves it by a new stream from now on, beginning with batch `next`; gives the number of that stream.
    pub fn attach(&self, next: u64) -> u64 {
        let mut state = self.lock();
        state.kept.set_unsent(next);
        state.stream += 1;
        state.alone_since = None;
        let stream = state.stream;
        drop(state);
        self.news.notify_waiters();
        stream
    }

    /// A stream has ended. The session waits for the next one.
    pub fn detach(&self, stream: u64) {
        let mut state = self.lock();
        if state.stream == stream {
            state.alone_since = Some(Instant::now());
        }
    }

    /// What there is for a stream whose client has all batches up to `next`: to be sent.
    pub fn offer(&self, stream: u64, next: u64) -> Offer {
        let mut state = self.lock();
        if state.stream != stream {
            return Offer::TakenOver;
        }
        match (state.kept.from(next), &state.ended) {
            (Some(parcel), _) => {
                state.kept.set_unsent(parcel.number.saturating_add(1));
                Offer::Event(v1::watch_event::Event::Parcel(parcel))
            }
            (None, Some(ended)) => Offer::Event(v1::watch_event::Event::Ended(ended.clone())),
            (None, None) => Offer::Nothing,
        }
    }

    /// Whether [`Held::offer`] has anything to say.
    pub fn has_offer(&self, stream: u64, next: u64) -> bool {
        let state = self.lock();
        state.stream != stream || state.ended.is_some() || state.kept.has_from(next)
    }

    /// The client has all batches up to this one.
    pub fn acknowledge(&self, number: u64) {
        self.lock().kept.acknowledge(number);
    }

    /// Ends it, for the first reason that is given.
    pub fn want_end(&self, reason: Reason) {
        self.lock().wanted_end.get_or_insert(reason);
    }

    /// For how long no client has been connected.
    pub fn alone_for(&self) -> Option<Duration> {
        self.lock().alone_since.map(|since| since.elapsed())
    }

    /// Whether everything is known about it.
    pub fn has_ended(&self) -> bool {
        self.lock().ended.is_some()
    }

    /// Samples that were dropped because the client did not take them.
    pub fn dropped(&self) -> u64 {
        self.lock().kept.dropped()
    }

    /// How it does.
    pub fn status(&self) -> v1::Session {
        let state = self.lock();
        v1::Session {
            id: self.terms.id,
            user: match self.terms.peer {
                Peer::User(user) => Some(user),
                Peer::Remote => None,
            },
            pid: self.terms.watch.pid,
            period_ns: self.terms.watch.period.0,
            is_attached: state.alone_since.is_none(),
            batches: state.kept.batches(),
            kept_bytes: state.kept.bytes() as u64,
            dropped: state.kept.dropped(),
            age_ns: i64::try_from(self.began.elapsed().as_nanos()).unwrap_or(i64::MAX),
        }
    }

    /// Brings batches from the station until the session ends: the work of a thread.
    pub fn pump(self: Arc<Held>, mut session: Session) {
        let (mut is_stopped, mut looked) = (false, Instant::now());
        let mut drops = DropLog::default();
        loop {
            match session.next(WAIT) {
                Next::Batch(batch) => {
                    self.push(&batch, session.is_over());
                    drops.log(self.terms.id, self.dropped());
                }
                Next::NothingYet => {}
                Next::Ended => break,
            }
            if looked.elapsed() >= BETWEEN_LOOKS {
                looked = Instant::now();
                if self.belongs_to_another() {
                    self.want_end(Reason::NotPermitted);
                }
            }
            if !is_stopped && self.lock().wanted_end.is_some() {
                session.stop();
                is_stopped = true;
            }
        }
        let mut state = self.lock();
        // A station that ends by itself ends with the daemon.
        let reason = state.wanted_end.unwrap_or(Reason::ShutDown);
        state.ended = Some(wire::ending(&session.ending(), reason, state.kept.samples()));
        let (samples, dropped) = (state.kept.samples(), state.kept.dropped());
        drop(state);
        let (session, client, pid, age) =
            (self.terms.id, self.terms.peer, self.terms.watch.pid, self.began.elapsed());
        info!(session, %client, pid, ?reason, ?age, samples, dropped, "session closed");
        self.news.notify_waiters();
    }

    fn push(&self, batch: &Batch, is_over: bool) {
        self.lock().kept.push(batch, is_over);
        self.news.notify_waiters();
    }

    /// Whether the process has taken the rights of another user since it was granted. One that has ended has not.
    fn belongs_to_another(&self) -> bool {
        let (Some((process, proc)), Some(pid)) = (&self.terms.own, self.terms.watch.pid) else { return false };
        // What cannot be looked at now is looked at again soon.
        let now = Process::find(proc, pid).ok().flatten();
        now.is_some_and(|now| now.is(*process) && !self.terms.peer.owns(now.owner))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
