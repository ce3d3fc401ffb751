//! One recording: a thread that looks at the machine, the process tree and the meters until it is stopped or the
//! processes have ended.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use jouletree_host::Roots;
use jouletree_meter::share::{Tree, WatchError};
use jouletree_meter::station::{Next, Session, SessionError, Station, Watch};
use jouletree_model::Nanos;
use jouletree_model::sampling::Batch;
use tokio::sync::watch;
use tonic::Status;

use super::book::{Book, Kind, Written};
use super::clock::now;
use super::energy::Energy;
use super::gpu_power::PowerReader;
use super::ledger::Account;
use super::machine::{Cpus, tasks};
use crate::policy::FLOOR;
use crate::wire::smaragdine as wire;

/// How often new processes are looked for and batches are taken.
const LOOK: Duration = Duration::from_millis(100);

/// A recording, running or done.
#[derive(Debug)]
pub(super) struct SmaragdineRecording {
    stop: Arc<AtomicBool>,
    /// Closed when all is recorded.
    end: watch::Receiver<()>,
    done: Arc<Mutex<Option<Done>>>,
}

#[derive(Debug)]
struct Done {
    at: Instant,
    written: Arc<Written>,
}

/// What a recording needs.
pub(super) struct Means {
    pub(super) station: Station,
    pub(super) roots: Roots,
    pub(super) gpus: Option<PowerReader>,
    pub(super) account: Account,
}

impl SmaragdineRecording {
    /// Begins one. It blocks until the station has begun, too.
    #[allow(clippy::result_large_err, reason = "this is how services refuse")]
    pub(super) fn start(means: Means, pid: Option<u32>, period: Nanos) -> Result<SmaragdineRecording, Status> {
        let Means { station, roots, gpus, account } = means;
        let tree = pid.map(|pid| Tree::watch(&roots, pid)).transpose().map_err(|error| match error {
            WatchError::NoProcess(_) => Status::not_found(error.to_string()),
            WatchError::Unreadable(..) => Status::unavailable(error.to_string()),
            other => Status::failed_precondition(other.to_string()),
        })?;
        let cpus = Cpus::open(&roots).map_err(|error| Status::failed_precondition(error.to_string()))?;
        let failed = |error: SessionError| Status::failed_precondition(error.to_string());
        let session = station
            .watch(Watch { pid: None, period, grid: (period >= FLOOR).then_some(FLOOR) })
            .map_err(failed)?;
        let energy = Energy::new(&session.ending().sensors);
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None)));
        let (ending, end) = watch::channel(());
        let (theirs, result) = (stop.clone(), done.clone());
        let spawned = thread::Builder::new().name("smaragdine".to_owned()).spawn(move || {
            // Dropped at the end, whatever happens.
            let _ending = ending;
            let period = Duration::from_nanos(period.0.unsigned_abs());
            let mut recorder =
                RecordingThread { roots, tree, cpus, session, energy, gpus, book: Book::open(account) };
            recorder.run(period, &theirs);
            let written = Arc::new(recorder.book.close());
            *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(Done { at: Instant::now(), written });
            theirs.store(true, Ordering::Release);
        });
        spawned.map_err(|error| Status::unavailable(format!("the system gives no thread: {error}")))?;
        Ok(SmaragdineRecording { stop, end, done })
    }

    /// Whether it was not stopped yet and has not ended by itself.
    pub(super) fn is_running(&self) -> bool {
        !self.stop.load(Ordering::Acquire)
    }

    /// Stops it; what is returned is closed when all is recorded.
    pub(super) fn stop(&self) -> watch::Receiver<()> {
        self.stop.store(true, Ordering::Release);
        self.end.clone()
    }

    /// What was recorded; nothing while it runs.
    pub(super) fn written(&self) -> Option<Arc<Written>> {
        self.lock().as_ref().map(|done| done.written.clone())
    }

    /// Whether it was done so long ago.
    pub(super) fn is_older_than(&self, age: Duration) -> bool {
        self.lock().as_ref().is_some_and(|done| done.at.elapsed() > age)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Done>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SmaragdineRecording {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
    }
}

struct RecordingThread {
    roots: Roots,
    tree: Option<Tree>,
    cpus: Cpus,
    session: Session,
    energy: Energy,
    gpus: Option<PowerReader>,
    book: Book,
}

impl RecordingThread {
    fn run(&mut self, period: Duration, stop: &AtomicBool) {
        let mut deadline = Instant::now();
        let mut looked = deadline;
        // However short a step is, it has a sample at its beginning; a longer one has another at its end.
        while !self.tree.as_ref().is_some_and(Tree::is_over) {
            self.look();
            if stop.load(Ordering::Acquire) {
                break;
            }
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                if let Some(tree) = &mut self.tree {
                    tree.look();
                }
                while let Next::Batch(batch) = self.session.next(Duration::ZERO) {
                    self.take(batch);
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
                Next::Batch(batch) => self.take(batch),
                Next::NothingYet => {}
                Next::Ended => break,
            }
        }
        let book = &mut self.book;
        self.energy.finish(|sample| write_energy(book, sample));
    }

    fn take(&mut self, batch: Batch) {
        let book = &mut self.book;
        self.energy.take(batch, |sample| write_energy(book, sample));
    }

    fn look(&mut self) {
        let timestamp = now();
        if let Ok(reading) = self.cpus.read() {
            let cpu = vec![wire::CpuSample { timestamp, reading }];
            self.book.write(Kind::Cpu, &wire::DataSet { cpu, ..wire::DataSet::default() });
        }
        if let Some(tree) = &self.tree {
            let timestamp = now();
            let reading = tree.processes().flat_map(|pid| tasks(&self.roots, pid)).collect();
            let process = vec![wire::ProcessSample { timestamp, reading }];
            self.book.write(Kind::Process, &wire::DataSet { process, ..wire::DataSet::default() });
        }
        if let Some(sample) = self.gpus.as_mut().and_then(PowerReader::take) {
            self.book.write(Kind::Nvml, &wire::DataSet { nvml: vec![sample], ..wire::DataSet::default() });
        }
    }
}

fn write_energy(book: &mut Book, sample: wire::RaplSample) {
    book.write(Kind::Rapl, &wire::DataSet { rapl: vec![sample], ..wire::DataSet::default() });
}
