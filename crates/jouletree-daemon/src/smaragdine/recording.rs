//! One recording: a thread that looks at the machine, the process tree and the meters until it is stopped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use jouletree_meter::Roots;
use jouletree_meter::share::{Tree, WatchError};
use jouletree_meter::station::{Next, Session, SessionError, Station, Watch};
use jouletree_model::Nanos;
use prost::Message;
use tokio::sync::watch;
use tonic::Status;

use super::energy::Energy;
use super::ledger::{Account, Ledger};
use super::machine::{Cpus, tasks};
use crate::policy::FLOOR;
use crate::wire::smaragdine as wire;

/// How often new processes are looked for and batches are taken.
const LOOK: Duration = Duration::from_millis(100);

/// A recording, running or done.
#[derive(Debug)]
pub(super) struct Recording {
    stop: Arc<AtomicBool>,
    /// Closed when all is recorded.
    end: watch::Receiver<()>,
    done: Arc<Mutex<Option<Done>>>,
}

#[derive(Debug)]
struct Done {
    at: Instant,
    data: Bytes,
    left_out: u64,
    _account: Account,
}

impl Recording {
    /// Begins one. It blocks until the station has begun, too.
    pub(super) fn start(
        station: &Station,
        roots: Roots,
        pid: Option<u32>,
        period: Nanos,
        ledger: Ledger,
    ) -> Result<Recording, Status> {
        let tree = pid.map(|pid| Tree::watch(&roots, pid)).transpose().map_err(|error| match error {
            WatchError::NoProcess(_) => Status::not_found(error.to_string()),
            other => Status::failed_precondition(other.to_string()),
        })?;
        let cpus = Cpus::open(&roots).map_err(|error| Status::failed_precondition(error.to_string()))?;
        let failed = |error: SessionError| Status::failed_precondition(error.to_string());
        let session = station
            .watch(Watch { pid: None, period, grid: (period >= FLOOR).then_some(FLOOR) })
            .map_err(failed)?;
        let energy = Energy::new(&session.ending().sensors, &roots);
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None)));
        let (ending, end) = watch::channel(());
        let book = Book { data: Vec::new(), left_out: 0, account: ledger.open() };
        let (theirs, result) = (stop.clone(), done.clone());
        let spawned = thread::Builder::new().name("smaragdine".to_owned()).spawn(move || {
            // Dropped at the end, whatever happens.
            let _ending = ending;
            let period = Duration::from_nanos(period.0.unsigned_abs());
            let mut recorder = Recorder { roots, tree, cpus, session, energy, book };
            recorder.run(period, &theirs);
            let Book { data, left_out, account } = recorder.book;
            let finished = Done { at: Instant::now(), data: data.into(), left_out, _account: account };
            *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(finished);
        });
        spawned.map_err(|error| Status::unavailable(format!("the system gives no thread: {error}")))?;
        Ok(Recording { stop, end, done })
    }

    /// Whether it was not stopped yet.
    pub(super) fn is_running(&self) -> bool {
        !self.stop.load(Ordering::Acquire)
    }

    /// Stops it; what is returned is closed when all is recorded.
    pub(super) fn stop(&self) -> watch::Receiver<()> {
        self.stop.store(true, Ordering::Release);
        self.end.clone()
    }

    /// What was recorded, an encoded `DataSet`, and how many samples found no room. Nothing while it runs.
    pub(super) fn data(&self) -> (Bytes, u64) {
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.as_ref().map(|done| (done.data.clone(), done.left_out)).unwrap_or_default()
    }

    /// Whether it was done so long ago.
    pub(super) fn is_older_than(&self, age: Duration) -> bool {
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.as_ref().is_some_and(|done| done.at.elapsed() > age)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
    }
}

/// What was recorded so far. Messages that follow each other are one message, so each sample is encoded as it comes.
struct Book {
    data: Vec<u8>,
    left_out: u64,
    account: Account,
}

impl Book {
    fn write(&mut self, part: &wire::DataSet) {
        match self.account.draw(part.encoded_len()) {
            // A vector grows as it needs to, so there is room.
            true => drop(part.encode(&mut self.data)),
            false => self.left_out += 1,
        }
    }
}

struct Recorder {
    roots: Roots,
    tree: Option<Tree>,
    cpus: Cpus,
    session: Session,
    energy: Energy,
    book: Book,
}

impl Recorder {
    fn run(&mut self, period: Duration, stop: &AtomicBool) {
        let mut deadline = Instant::now();
        let mut looked = deadline;
        while !stop.load(Ordering::Acquire) {
            if !self.tree.as_ref().is_some_and(Tree::is_over) {
                self.look();
            }
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                if let Some(tree) = &mut self.tree {
                    tree.look();
                }
                while let Next::Batch(batch) = self.session.next(Duration::ZERO) {
                    self.energy.take(batch, |part| self.book.write(part));
                }
            }
            // Deadlines that were missed are skipped.
            deadline = (deadline + period).max(Instant::now());
            thread::sleep(deadline.saturating_duration_since(Instant::now()));
        }
        self.session.stop();
        let until = Instant::now() + Duration::from_secs(5);
        while Instant::now() < until {
            match self.session.next(LOOK) {
                Next::Batch(batch) => self.energy.take(batch, |part| self.book.write(part)),
                Next::NothingYet => {}
                Next::Ended => break,
            }
        }
    }

    fn look(&mut self) {
        let mut part = wire::DataSet::default();
        let timestamp = now();
        if let Ok(reading) = self.cpus.read() {
            part.cpu.push(wire::CpuSample { timestamp, reading });
        }
        if let Some(tree) = &self.tree {
            let timestamp = now();
            let reading = tree.processes().flat_map(|pid| tasks(&self.roots, pid)).collect();
            part.process.push(wire::ProcessSample { timestamp, reading });
        }
        self.book.write(&part);
    }
}

/// Milliseconds since the epoch.
fn now() -> u64 {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
