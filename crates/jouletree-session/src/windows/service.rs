//! The desk between programs, who ask about windows, and the recorder, who brings batches.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jouletree_host::Now;
use jouletree_meter::station::{EarlyFlush, Feed};
use jouletree_model::Nanos;
use jouletree_model::sampling::{Anchor, Batch};
use jouletree_series::ongoing::OngoingEnergy;
use rustix::event::{EventfdFlags, eventfd};

use super::protocol::{MeterRow, Reply, Request};
use super::rest::{PULSE, Resting, Rests};

/// So many windows are open at once, of all programs together.
const MOST_WINDOWS: usize = 65_536;
/// Clocks of one machine agree; what is further in the future than this is a mistake.
const FUTURE: Nanos = Nanos(1_000_000_000);

/// Takes requests and batches, and gives answers.
pub struct WindowService {
    state: Mutex<State>,
    /// Wakes those who wait for answers.
    news: OwnedFd,
    early_flush: EarlyFlush,
    period: Nanos,
    share_source: Option<String>,
    meters: Vec<MeterRow>,
}

struct State {
    live: OngoingEnergy,
    /// Whose windows are whose: the number that `live` knows, by connection and the program's own number.
    numbers: HashMap<(u64, u64), u64>,
    owners: HashMap<u64, Owner>,
    next: u64,
    /// Those who wait for rest, if anybody may.
    rests: Option<Rests>,
    /// The look at the meters that rest is judged by: its window, and when it began; and those that are not answered yet.
    look: Option<(u64, Nanos)>,
    looks: HashSet<u64>,
    /// A client waits for an answer.
    is_flush_wanted: bool,
    is_over: bool,
}

impl State {
    /// Has one look at the meters follow another, where rest is judged.
    fn look_on(&mut self, now: Nanos) {
        if self.rests.is_none() {
            return;
        }
        let begin = match self.look {
            Some((_, start)) if now - start < PULSE => return,
            Some((number, start)) => {
                self.live.close(number, start + PULSE);
                // After a pause of the recorder there is no catching up.
                if now - start < PULSE + PULSE { start + PULSE } else { now }
            }
            None => now,
        };
        let number = self.next;
        self.next += 1;
        self.looks.insert(number);
        self.live.open(number, begin);
        self.look = Some((number, begin));
    }
}

/// Who asked for a window.
struct Owner {
    connection: u64,
    id: u64,
    has_ended: bool,
}

impl WindowService {
    /// For a recording of this feed.
    pub fn new(feed: &dyn Feed, period: Nanos, resting: Option<Resting>) -> io::Result<WindowService> {
        let sensors = feed.sensors();
        let live = OngoingEnergy::new(&sensors, period);
        let (numbers, owners) = (HashMap::new(), HashMap::new());
        let state = State {
            live,
            numbers,
            owners,
            next: 0,
            rests: resting.map(Rests::new),
            look: None,
            looks: HashSet::new(),
            is_flush_wanted: false,
            is_over: false,
        };
        Ok(WindowService {
            state: Mutex::new(state),
            news: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            early_flush: feed.early_flush(),
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
        state.rests.iter_mut().for_each(|rests| rests.warm(&batch.gpus));
        state.look_on(Anchor::now().wall);
        state.is_flush_wanted &= state.live.owes();
        if state.is_flush_wanted {
            self.early_flush.now();
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
            Request::Rest { id } => match &mut self.lock().rests {
                Some(rests) => {
                    rests.ask(connection, id, Anchor::now().wall);
                    None
                }
                None => refuse("whether the machine is stable is not measured; run the program with --stable", id),
            },
            Request::Now => Some(Reply::Status {
                now_ns: Anchor::now().wall.0,
                period_ms: self.period.0 as f64 * 1e-6,
                share_source: self.share_source.clone(),
                devices: self.meters.clone(),
            }),
            Request::Flush => {
                let mut state = self.lock();
                state.is_flush_wanted = state.live.owes();
                if state.is_flush_wanted {
                    self.early_flush.now();
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
        let State { owners, looks, rests, .. } = state;
        let mut replies = Vec::new();
        for answer in answers {
            if looks.remove(&answer.id) {
                rests.iter_mut().for_each(|rests| rests.take(&answer, Anchor::now().wall));
            } else if let Some(owner) = owners.remove(&answer.id) {
                replies.push((owner.connection, Reply::to_window(owner.id, answer)));
            }
        }
        replies.extend(rests.iter_mut().flat_map(Rests::ready));
        replies
    }

    /// Whether a program waits for an answer.
    pub fn owes(&self, connection: u64) -> bool {
        let state = self.lock();
        let waits = state.rests.as_ref().is_some_and(|rests| rests.owes(connection));
        waits || state.owners.values().any(|owner| owner.connection == connection && owner.has_ended)
    }

    /// Forgets the windows of a program that were not ended, or all of them.
    pub fn forget(&self, connection: u64, even_ended: bool) {
        let mut state = self.lock();
        let State { live, numbers, owners, rests, .. } = &mut *state;
        if even_ended {
            rests.iter_mut().for_each(|rests| rests.forget(connection));
        }
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
