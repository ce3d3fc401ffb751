//! The station: one sampler, and any number of sessions that are served from it.
//!
//! A recording, the live view and the daemon all read energy in this one way. A [`Session`] watches a process tree, or
//! just the machine, and gives [`Batch`]es. As long as there is no session, sensors are read once a second, so that no
//! counter wraps unseen; with sessions, as often as the most demanding one wants, and each gets what it asked for. A
//! session that is not emptied loses its oldest batches, receives their number, and does not delay others.

mod early_flush;
mod feed;
mod gpu_log;
mod incident_log;
mod member;
mod queue;
mod rounds;
mod session;
mod worker;

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use jouletree_host::Roots;
use jouletree_model::Nanos;
use jouletree_model::sampling::{SensorInfo, Stats};

pub use early_flush::EarlyFlush;
pub use feed::{Feed, FeedError};
pub use session::{Next, Session};

use crate::Sensor;
use crate::sampler::{self, Sampler, StartError};
use crate::share::WatchError;
use worker::{Order, Worker};

/// The period while there is no session: often enough for every counter that wraps.
const IDLE: Nanos = sampler::Options::LONGEST;

/// How a station works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Whether to request real-time scheduling (SCHED_FIFO), without which a busy machine makes samples late.
    pub realtime: bool,
    /// How many samples wait in a session to be taken before the oldest are dropped. Each takes 24 bytes.
    pub most_waiting: usize,
}

impl Default for Options {
    /// With room for a minute of eight sensors at 250 Hz.
    fn default() -> Options {
        Options { realtime: true, most_waiting: 120_000 }
    }
}

/// What a session is to watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watch {
    /// The process that is watched with all its descendants; `None` watches the machine only.
    pub pid: Option<u32>,
    /// The time from one reading to the next: a millisecond at least and a second at most.
    pub period: Nanos,
    /// Shows no more than one round of readings in every such stretch of the monotonic clock, and the same one to
    /// everybody: several sessions put together then show no more than one of them does.
    pub grid: Option<Nanos>,
}

impl Default for Watch {
    fn default() -> Watch {
        Watch { pid: None, period: Nanos(4_000_000), grid: None }
    }
}

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The process cannot be watched.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// The period cannot be kept.
    #[error(transparent)]
    Period(#[from] StartError),
    /// There is no station any more.
    #[error("the meters have stopped; start again")]
    Stopped,
}

/// One sampler and its sessions. Clones are the same station, which ends when the last of them is dropped.
#[derive(Debug, Clone)]
pub struct Station {
    orders: Sender<Order>,
    state: Arc<Mutex<State>>,
}

/// What a station publishes about itself.
#[derive(Debug, Default)]
struct State {
    sensors: Vec<SensorInfo>,
    stats: Stats,
}

impl Station {
    /// Begins to read sensors.
    pub fn start(sensors: Vec<Box<dyn Sensor>>, roots: &Roots, options: Options) -> Result<Station, StartError> {
        let sampling =
            sampler::Options { period: IDLE, realtime: options.realtime, ..sampler::Options::default() };
        let sampler = Sampler::start(sensors, sampling)?;
        let state = State { sensors: sampler.infos().to_vec(), stats: sampler.stats() };
        let state = Arc::new(Mutex::new(state));
        let (orders, received) = channel();
        let mut worker = Worker::new(sampler, roots.clone(), options, state.clone(), received);
        thread::Builder::new().name("station".to_owned()).spawn(move || worker.run())?;
        Ok(Station { orders, state })
    }

    /// What is read, in the order of [`Sample::sensor`](jouletree_model::sampling::Sample::sensor).
    pub fn sensors(&self) -> Vec<SensorInfo> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).sensors.clone()
    }

    /// How well the sampler keeps time, and what it costs.
    pub fn stats(&self) -> Stats {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).stats
    }

    /// Begins a session.
    pub fn watch(&self, watch: Watch) -> Result<Session, SessionError> {
        sampler::Options::check_period(watch.period)?;
        let (reply, answer) = channel();
        self.orders.send(Order::Watch(watch, reply)).map_err(|_| SessionError::Stopped)?;
        let (id, queue) = answer.recv().map_err(|_| SessionError::Stopped)??;
        Ok(Session::new(id, queue, self.clone()))
    }
}
