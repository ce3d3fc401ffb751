//! A daemon on a fake machine, a process to watch, and a line that can be cut. No energy here comes from hardware.

// Each test file uses its part of this.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fake_powercap::{Fake, LONGEST_TICK, Layout, Player};
use jouletree_daemon::client::{Address, Client, RemoteSession};
use jouletree_daemon::{Config, ServeError, Ways, serve_until};
use jouletree_host::Roots;
use jouletree_meter::station::{Feed, Next, Options, Station, Watch};
use jouletree_meter::{Sensor, powercap};
use jouletree_model::Nanos;
use jouletree_model::sampling::{Batch, Sample};
use tempfile::TempDir;
use tokio::sync::oneshot;

pub const MS: Nanos = Nanos(1_000_000);
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// A daemon in a thread of this process, on a fake machine that draws 60 W.
pub struct Daemon {
    pub ways: Ways,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
    player: Option<Player>,
    pub folder: TempDir,
}

impl Daemon {
    pub fn start(change: impl FnOnce(&mut Config, &Path)) -> Daemon {
        Daemon::start_with(Vec::new(), Roots::default(), change)
    }

    /// The same with more sensors, on a machine whose files are elsewhere.
    pub fn start_with(
        others: Vec<Box<dyn Sensor>>,
        roots: Roots,
        change: impl FnOnce(&mut Config, &Path),
    ) -> Daemon {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let fake = Fake::new(folder.path(), Layout::OneSocket, &"package-0: 60W".parse().unwrap()).unwrap();
        let sys = Roots { sys: folder.path().to_owned(), ..Roots::default() };
        let found = powercap::discover(&sys);
        let mut sensors: Vec<Box<dyn Sensor>> = found.into_iter().filter_map(|found| found.sensor.ok()).collect();
        assert!(!sensors.is_empty());
        sensors.extend(others);
        let player = Player::start(fake);
        let station = Station::start(sensors, &roots, Options::default()).unwrap();
        let mut config = Config { roots, ..Config::default() };
        config.socket.path = folder.path().join("run/daemon.sock");
        change(&mut config, folder.path());
        let (stop, stopped) = oneshot::channel();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let ready = |ways: &Ways| ready.send(ways.clone()).unwrap();
            runtime.block_on(serve_until(station, config, ready, async { drop(stopped.await) }))
        });
        let Ok(ways) = is_ready.recv_timeout(TIMEOUT) else { panic!("{:?}", thread.join()) };
        Daemon { ways, stop: Some(stop), thread: Some(thread), player: Some(player), folder }
    }

    pub fn client(&self) -> Client {
        Client::connect(&Address::Unix(self.ways.socket.clone())).unwrap()
    }

    /// How far the energy of 60 W may seem off: at either end the counter moves in ticks, and the fake may be late to
    /// move it on a busy machine. Its power ends here.
    pub fn bound(&mut self) -> f64 {
        let fake = self.player.take().unwrap().stop().unwrap();
        60.0 * 2.0 * (LONGEST_TICK + fake.latest()).as_secs_f64() + 1e-3
    }

    pub fn tell_to_stop(&mut self) {
        drop(self.stop.take());
    }

    pub fn end(&mut self) {
        self.tell_to_stop();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap().unwrap();
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.tell_to_stop();
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// A process that is killed when the test ends.
pub struct Busy(pub Child);

impl Busy {
    pub fn start() -> Busy {
        Busy(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

pub fn machine(period: Nanos) -> Watch {
    Watch { period, ..Watch::default() }
}

/// Everything for a while.
pub fn listen(session: &mut RemoteSession, time: Duration) -> Vec<Batch> {
    let (until, mut batches) = (Instant::now() + time, Vec::new());
    while Instant::now() < until {
        if let Next::Batch(batch) = session.next(Duration::from_millis(50)).unwrap() {
            batches.push(batch);
        }
    }
    batches
}

/// Everything until the end.
pub fn rest(session: &mut RemoteSession) -> Vec<Batch> {
    let (until, mut batches) = (Instant::now() + TIMEOUT, Vec::new());
    while Instant::now() < until {
        match session.next(Duration::from_secs(1)).unwrap() {
            Next::Batch(batch) => batches.push(batch),
            Next::NothingYet => {}
            Next::Ended => return batches,
        }
    }
    panic!("the session does not end");
}

pub fn samples(batches: &[Batch]) -> Vec<Sample> {
    batches.iter().flat_map(|batch| batch.samples.iter().copied()).collect()
}

pub fn lost(batches: &[Batch]) -> u64 {
    batches.iter().map(|batch| batch.lost).sum()
}

pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} does not come about");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A way to a socket that can be cut.
pub struct Cuttable {
    pub path: PathBuf,
    open: Arc<Mutex<Vec<UnixStream>>>,
    is_closed: Arc<AtomicBool>,
}

impl Cuttable {
    pub fn to(daemon: &Daemon) -> Cuttable {
        let (path, target) = (daemon.folder.path().join("cuttable.sock"), daemon.ways.socket.clone());
        let listener = UnixListener::bind(&path).unwrap();
        let open = Arc::new(Mutex::new(Vec::new()));
        let is_closed = Arc::new(AtomicBool::new(false));
        let (all, closed) = (open.clone(), is_closed.clone());
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = UnixStream::connect(&target) else { return };
                if closed.load(Ordering::Relaxed) {
                    continue;
                }
                all.lock().unwrap().extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
                let (back, forth) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                thread::spawn(move || copy(client, server));
                thread::spawn(move || copy(back, forth));
            }
        });
        Cuttable { path, open, is_closed }
    }

    /// Breaks all connections.
    pub fn cut(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Breaks all connections and lets no more through.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        self.cut();
    }
}

fn copy(mut from: UnixStream, mut to: UnixStream) {
    let mut buffer = [0; 4096];
    while let Ok(length) = from.read(&mut buffer) {
        if length == 0 || to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}
