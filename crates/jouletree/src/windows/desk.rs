//! The desk between programs, who ask about windows, and the recorder, who brings batches.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jouletree_meter::Anchor;
use jouletree_meter::live::Live;
use jouletree_meter::station::{Batch, Feed, Hurry};
use jouletree_model::Nanos;
use rustix::event::{EventfdFlags, eventfd};

use super::protocol::{MeterRow, Reply, Request};

/// So many windows are open at once, of all programs together.
const MOST_WINDOWS: usize = 65_536;
/// Clocks of one machine agree; what is further in the future than this is a mistake.
const FUTURE: Nanos = Nanos(1_000_000_000);

/// Takes requests and batches, and gives answers.
pub struct Desk {
    state: Mutex<State>,
    /// Wakes those who wait for answers.
    news: OwnedFd,
    hurry: Hurry,
    period: Nanos,
    share_source: Option<String>,
    meters: Vec<MeterRow>,
}

struct State {
    live: Live,
    /// Whose windows are whose: the number that `live` knows, by connection and the program's own number.
    numbers: HashMap<(u64, u64), u64>,
    owners: HashMap<u64, Owner>,
    next: u64,
    /// Somebody waits for an answer.
    is_hurried: bool,
    is_over: bool,
}

/// Who asked for a window.
struct Owner {
    connection: u64,
    id: u64,
    has_ended: bool,
}

impl Desk {
    /// For a recording of this feed.
    pub fn new(feed: &dyn Feed, period: Nanos) -> io::Result<Desk> {
        let sensors = feed.sensors();
        let live = Live::new(&sensors, period);
        let (numbers, owners) = (HashMap::new(), HashMap::new());
        let state = State { live, numbers, owners, next: 0, is_hurried: false, is_over: false };
        Ok(Desk {
            state: Mutex::new(state),
            news: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            hurry: feed.hurry(),
            period,
            share_source: feed.ending().share_source,
            meters: sensors.iter().filter(|info| info.domain.is_none()).map(MeterRow::from).collect(),
        })
    }

    // The recorder's side

    /// Takes what happened since the batch before.
    pub fn take(&self, batch: &Batch) {
        let mut state = self.lock();
        state.live.take(batch);
        state.is_hurried &= state.live.owes();
        if state.is_hurried {
            self.hurry.now();
        }
        drop(state);
        self.wake();
    }

    /// There will be no more batches.
    pub fn finish(&self) {
        self.lock().is_over = true;
        self.wake();
    }

    // The side of programs

    /// Takes a request; what is answered right away.
    pub fn ask(&self, connection: u64, request: Request) -> Option<Reply> {
        let refuse = |error: &str, id| Some(Reply::Error { error: error.to_owned(), window: Some(id) });
        match request {
            Request::Open { id, at } | Request::Close { id, at } if at - Anchor::now().wall > FUTURE => {
                refuse("`at_ns` is in the future; it counts nanoseconds since 1970", id)
            }
            Request::Open { id, at } => {
                let mut state = self.lock();
                let state = &mut *state;
                if state.numbers.contains_key(&(connection, id)) {
                    return refuse("this window is open already; give each a number of its own", id);
                }
                if state.live.windows() >= MOST_WINDOWS {
                    return refuse("too many windows are open; close some", id);
                }
                let number = state.next;
                state.next += 1;
                state.numbers.insert((connection, id), number);
                state.owners.insert(number, Owner { connection, id, has_ended: false });
                state.live.open(number, at);
                None
            }
            Request::Close { id, at } => {
                let mut state = self.lock();
                let Some(number) = state.numbers.remove(&(connection, id)) else {
                    return refuse("there is no such window; open it first", id);
                };
                if let Some(owner) = state.owners.get_mut(&number) {
                    owner.has_ended = true;
                }
                state.live.close(number, at);
                None
            }
            Request::Now => Some(Reply::Status {
                now_ns: Anchor::now().wall.0,
                period_ms: self.period.0 as f64 * 1e-6,
                share_source: self.share_source.clone(),
                devices: self.meters.clone(),
            }),
            Request::Hurry => {
                let mut state = self.lock();
                state.is_hurried = state.live.owes();
                if state.is_hurried {
                    self.hurry.now();
                }
                None
            }
        }
    }

    /// What was answered meanwhile, and to whom; all that there will be, once the recording is over.
    pub fn answers(&self) -> Vec<(u64, Reply)> {
        let mut state = self.lock();
        let state = &mut *state;
        let answers = if state.is_over { state.live.finish() } else { state.live.answers() };
        let owners = &mut state.owners;
        let to_owner = answers.into_iter().filter_map(|answer| {
            let owner = owners.remove(&answer.id)?;
            Some((owner.connection, Reply::to_window(owner.id, answer)))
        });
        to_owner.collect()
    }

    /// Whether a program waits for an answer.
    pub fn owes(&self, connection: u64) -> bool {
        self.lock().owners.values().any(|owner| owner.connection == connection && owner.has_ended)
    }

    /// Forgets the windows of a program that were not ended, or all of them.
    pub fn forget(&self, connection: u64, even_ended: bool) {
        let mut state = self.lock();
        let State { live, numbers, owners, .. } = &mut *state;
        numbers.retain(|(owner, _), _| *owner != connection);
        owners.retain(|number, owner| {
            let is_kept = owner.connection != connection || (owner.has_ended && !even_ended);
            if !is_kept {
                live.forget(*number);
            }
            is_kept
        });
    }

    /// Whether the recording is over.
    pub fn is_over(&self) -> bool {
        self.lock().is_over
    }

    /// Can be read from when there is something new.
    pub fn news(&self) -> BorrowedFd<'_> {
        self.news.as_fd()
    }

    /// Notes that what is new was seen.
    pub fn heard(&self) {
        let _ = rustix::io::read(&self.news, &mut [0_u8; 8]);
    }

    fn wake(&self) {
        // It fails only when there are very many news already.
        let _ = rustix::io::write(&self.news, &1_u64.to_ne_bytes());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
