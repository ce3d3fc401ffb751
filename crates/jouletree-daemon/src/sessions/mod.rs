//! All sessions of the daemon: begun within limits, held while their client is away, and ended when it stays away.

mod held;
mod kept;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use jouletree_host::Throttle;
use jouletree_meter::sampler;
use jouletree_meter::share::WatchError;
use jouletree_meter::station::{SessionError, Station, Watch};
use jouletree_model::Nanos;
use tracing::{info, warn};

use held::Terms;
pub use held::{Held, Offer};

use crate::config::Limits;
use crate::owner::Process;
use crate::policy::{Foreign, Peer, Refused, Target, grant};
use crate::wire::v1;
use crate::wire::v1::ended::Reason;

/// The stack of a thread that brings batches; it does little.
const STACK: usize = 256 << 10;
/// How many refused sessions are logged in a minute.
const REFUSALS: u32 = 30;
const MINUTE: Duration = Duration::from_secs(60);

/// All sessions.
#[derive(Debug)]
pub struct Sessions {
    station: Station,
    proc: PathBuf,
    foreign: Foreign,
    shortest: Nanos,
    limits: Limits,
    all: Mutex<HashMap<u64, Arc<Held>>>,
    /// One begins at a time, so that two that begin at once do not both find the last place.
    beginning: Mutex<()>,
    next_id: AtomicU64,
    /// Samples that sessions had dropped which are no more.
    dropped: AtomicU64,
    /// Limits the messages about refused sessions.
    refusals: Mutex<Throttle>,
}

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub enum RefusedSession {
    /// The client has too many.
    #[error("you have {0} sessions already, as many as one user may have; end one of them")]
    TooManyOfUser(usize),
    /// All have too many.
    #[error("the daemon serves {0} sessions already, as many as it may; try again later")]
    TooMany(usize),
    /// There is no such process.
    #[error("there is no process {0}; `ps` lists those that run")]
    NoProcess(u32),
    /// The process cannot be looked at.
    #[error(transparent)]
    Unreadable(WatchError),
    /// It is not the client's.
    #[error(transparent)]
    NotPermitted(#[from] Refused),
    /// The period cannot be kept.
    #[error("{0}")]
    Period(sampler::StartError),
    /// The station does not want to.
    #[error(transparent)]
    Station(SessionError),
    /// The system gives no thread or no secret.
    #[error("the system gives no thread for the session: {0}; try again later")]
    System(#[from] std::io::Error),
}

impl Sessions {
    /// No session yet.
    pub fn new(station: Station, proc: PathBuf, policy: (Foreign, Nanos), limits: Limits) -> Sessions {
        let (foreign, shortest) = policy;
        let (all, beginning) = (Mutex::default(), Mutex::default());
        let (next_id, dropped) = (AtomicU64::new(1), AtomicU64::new(0));
        let refusals = Mutex::new(Throttle::new(REFUSALS, MINUTE));
        Sessions { station, proc, foreign, shortest, limits, all, beginning, next_id, dropped, refusals }
    }

    /// The station that all are served from.
    pub fn station(&self) -> &Station {
        &self.station
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Begins a session. It blocks for as long as the station needs.
    pub fn start(&self, peer: Peer, start: &v1::Start) -> Result<Arc<Held>, RefusedSession> {
        let started = self.try_start(peer, start);
        match &started {
            Ok(held) => {
                let Terms { id, watch, why_longer, .. } = &held.terms;
                let limited = why_longer.as_deref();
                info!(session = id, client = %peer, pid = watch.pid, period = %watch.period, limited, "session opened");
            }
            Err(refused) => self.log_refusal(peer, start.pid, refused),
        }
        started
    }

    /// Clients can ask again and again, so that these messages are limited.
    fn log_refusal(&self, peer: Peer, pid: Option<u32>, refused: &RefusedSession) {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(suppressed) = refusals.pass(Instant::now()) {
            warn!(client = %peer, pid, suppressed, "session refused: {refused}");
        }
    }

    fn try_start(&self, peer: Peer, start: &v1::Start) -> Result<Arc<Held>, RefusedSession> {
        let period = Nanos(start.period_ns);
        sampler::Options::check_period(period).map_err(RefusedSession::Period)?;
        let find = |pid| match Process::find(&self.proc, pid) {
            Ok(process) => process.ok_or(RefusedSession::NoProcess(pid)),
            Err(error) => Err(RefusedSession::Unreadable(WatchError::Unreadable(pid, error))),
        };
        let process = start.pid.map(find).transpose()?;
        let target = process.map_or(Target::Machine, |process| Target::Process(process.owner));
        let mut grant = grant(peer, target, period, self.foreign)?;
        if grant.period < self.shortest {
            grant.period = self.shortest;
            grant.why_longer = Some(format!("this daemon grants periods of {} at least", self.shortest));
        }
        let watch = Watch { pid: start.pid, period: grant.period, grid: grant.floor };
        let _one_at_a_time = self.beginning.lock().unwrap_or_else(PoisonError::into_inner);
        self.check_room(peer)?;
        let session = self.station.watch(watch).map_err(|error| match error {
            SessionError::Watch(WatchError::NoProcess(pid)) => RefusedSession::NoProcess(pid),
            SessionError::Watch(error @ WatchError::Unreadable(..)) => RefusedSession::Unreadable(error),
            other => RefusedSession::Station(other),
        })?;
        // The number may have been given to another process before the station looked.
        if let (Some(pid), Some(process)) = (start.pid, process) {
            let now = find(pid)?;
            if !now.is(process) || now.owner != process.owner {
                return Err(RefusedSession::NoProcess(pid));
            }
        }
        let mut secret = [0; 16];
        rustix::rand::getrandom(&mut secret, rustix::rand::GetRandomFlags::empty())
            .map_err(std::io::Error::from)?;
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let own = process.filter(|_| grant.only_own).map(|process| (process, self.proc.clone()));
        let (why_longer, share_source) = (grant.why_longer, session.ending().share_source);
        let terms = Terms { id, secret, peer, watch, why_longer, share_source, own };
        let held = Arc::new(Held::new(terms, self.limits.kept_bytes));
        let theirs = held.clone();
        thread::Builder::new()
            .name(format!("session-{id}"))
            .stack_size(STACK)
            .spawn(move || theirs.pump(session))?;
        self.lock().insert(id, held.clone());
        Ok(held)
    }

    fn check_room(&self, peer: Peer) -> Result<(), RefusedSession> {
        let all = self.lock();
        let of_user = all.values().filter(|held| held.terms.peer == peer).count();
        match (of_user, all.len()) {
            (of_user, _) if of_user >= self.limits.sessions_of_user => Err(RefusedSession::TooManyOfUser(of_user)),
            (_, count) if count >= self.limits.sessions => Err(RefusedSession::TooMany(count)),
            _ => Ok(()),
        }
    }

    /// The session with this number, if it belongs to the peer and the secret is its own.
    pub fn find(&self, id: u64, peer: Peer, secret: &[u8]) -> Option<Arc<Held>> {
        self.lock().get(&id).filter(|held| held.belongs_to(peer, secret)).cloned()
    }

    /// Forgets a session whose client has everything.
    pub fn forget(&self, id: u64) {
        if let Some(held) = self.lock().remove(&id) {
            self.dropped.fetch_add(held.dropped(), Ordering::Relaxed);
        }
    }

    /// Ends sessions whose client has been away for too long, and forgets those whose end was not fetched.
    pub fn tidy(&self) {
        let all: Vec<_> = self.lock().values().cloned().collect();
        for held in all {
            if held.alone_for().is_some_and(|time| time >= self.limits.kept_for) {
                held.want_end(Reason::ClientGone);
                if held.has_ended() {
                    self.forget(held.terms.id);
                }
            }
        }
    }

    /// Ends all sessions, and notifies their clients.
    pub fn end_all(&self) {
        self.lock().values().for_each(|held| held.want_end(Reason::ShutDown));
    }

    /// Whether some client may still be waiting for the end of its session.
    pub fn has_attached(&self) -> bool {
        self.lock().values().any(|held| held.alone_for().is_none())
    }

    /// How all of them do.
    pub fn statuses(&self) -> Vec<v1::Session> {
        let mut statuses: Vec<_> = self.lock().values().map(|held| held.status()).collect();
        statuses.sort_by_key(|status| status.id);
        statuses
    }

    /// Samples of all sessions that were dropped because their clients did not take them.
    pub fn dropped(&self) -> u64 {
        let now: u64 = self.lock().values().map(|held| held.dropped()).sum();
        self.dropped.load(Ordering::Relaxed).saturating_add(now)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Held>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
