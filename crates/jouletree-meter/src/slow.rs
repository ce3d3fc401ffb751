//! Slow sensors: whatever may block is read by a thread of its own, so that nothing else waits for it.
//!
//! [`Deadlined`] hands out the newest reading and never waits. A sensor that does not answer is late after a deadline
//! and is there again when it answers again; one that never answers keeps its thread and nothing else.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use jouletree_host::Now;
use jouletree_model::Nanos;
use jouletree_model::sampling::{Mono, SensorInfo};

use crate::silence::Silence;
use crate::{ReadError, Reading, Sensor};

/// How long a sensor may take to answer before it counts as late.
pub const DEADLINE: Nanos = Nanos(150_000_000);

/// Timeout for a thread to stop; one that hangs is left behind.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(100);

/// How long a sensor that is gone is left alone before it is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// A sensor that is read by a thread of its own and never makes its reader wait.
pub struct Deadlined {
    info: SensorInfo,
    deadline: Nanos,
    shared: Arc<Shared>,
    seen: News,
    silence: Silence,
    late: bool,
    times_late: u64,
    longest: Nanos,
    thread: Option<Thread>,
    ended: Receiver<()>,
}

struct Shared {
    news: Mutex<Option<News>>,
    stop: AtomicBool,
}

/// What the sensor said last.
struct News {
    heard: Mono,
    said: Result<Reading, ReadError>,
    /// What went wrong before and was not heard by anybody yet: a gap must not be missed.
    untold: Option<ReadError>,
    period: Nanos,
    remarks: Vec<String>,
}

impl Deadlined {
    /// Starts to read a sensor; waits for its first answer, no longer than the deadline.
    pub fn start(sensor: Box<dyn Sensor>, deadline: Nanos) -> std::io::Result<Deadlined> {
        let info = sensor.info().clone();
        let shared = Arc::new(Shared { news: Mutex::new(None), stop: AtomicBool::new(false) });
        let (began, first) = channel();
        let (end, ended) = channel();
        let theirs = shared.clone();
        let name = format!("{}:{}", info.device.class(), info.device.index());
        let handle = thread::Builder::new().name(name).spawn(move || watch(sensor, &theirs, began, end))?;
        // Late is late: the first reading will then say so.
        let _ = first.recv_timeout(duration(deadline));
        let nothing = News {
            heard: Mono::now(),
            said: Err(ReadError::Late(deadline)),
            untold: None,
            period: info.period,
            remarks: Vec::new(),
        };
        Ok(Deadlined {
            info,
            deadline,
            shared,
            seen: nothing,
            silence: Silence::since(Mono::now()),
            late: false,
            times_late: 0,
            longest: Nanos(0),
            thread: Some(handle.thread().clone()),
            ended,
        })
    }

    /// Takes what is new, unless it is being written: then there will be something new the next time.
    fn look(&mut self) {
        let news = self.shared.news.try_lock().ok().and_then(|mut news| news.take());
        if let Some(news) = news {
            self.info.period = news.period;
            self.seen = news;
        }
    }
}

impl Sensor for Deadlined {
    fn info(&self) -> &SensorInfo {
        &self.info
    }

    fn read(&mut self) -> Result<u64, ReadError> {
        self.reading().map(|reading| reading.microjoules)
    }

    fn reading(&mut self) -> Result<Reading, ReadError> {
        self.look();
        let silent = self.silence.look(Mono::now(), self.seen.heard, self.deadline);
        // One that is gone is asked less often, and stays gone meanwhile.
        let is_gone = matches!(self.seen.said, Err(ReadError::Gone(_)));
        if let Some(silent) = silent.filter(|_| !is_gone) {
            self.times_late += u64::from(!self.late);
            self.late = true;
            self.longest = self.longest.max(silent);
            return Err(ReadError::Late(silent));
        }
        self.late = false;
        if let Some(error) = self.seen.untold.take() {
            return Err(error);
        }
        self.seen.said.as_ref().copied().map_err(ReadError::again)
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.seen.remarks.clone();
        if self.times_late > 0 {
            let (times, longest) = (self.times_late, self.longest);
            remarks.push(format!("it did not answer in time {times} times, for {longest} at the longest"));
        }
        remarks
    }
}

impl Drop for Deadlined {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.unpark();
        }
        // An error is as good as a word: the thread is gone.
        let _ = self.ended.recv_timeout(SHUTDOWN_TIMEOUT);
    }
}

/// Reads the sensor until it is stopped, several times in each of its periods.
fn watch(mut sensor: Box<dyn Sensor>, shared: &Shared, began: Sender<()>, end: Sender<()>) {
    let mut began = Some(began);
    while !shared.stop.load(Ordering::Acquire) {
        let said = sensor.reading();
        let pause = match &said {
            Err(ReadError::Gone(_)) => RETRY,
            _ => duration(Nanos((sensor.info().period.0 / 8).clamp(2_000_000, 20_000_000))),
        };
        let (period, remarks) = (sensor.info().period, sensor.remarks());
        let news = News { heard: Mono::now(), said, untold: None, period, remarks };
        publish(&shared.news, news);
        if let Some(began) = began.take() {
            let _ = began.send(());
        }
        thread::park_timeout(pause);
    }
    drop(sensor);
    let _ = end.send(());
}

/// Replaces what was said before, except for an error that was not taken.
fn publish(place: &Mutex<Option<News>>, news: News) {
    let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
    let before = place.replace(news);
    if let (Some(before), Some(news)) = (before, place.as_mut()) {
        news.untold = before.untold.or(before.said.err());
    }
}

/// What a function gives that may take for ever, if it gives it in time; else it is left behind on its thread.
pub fn within<T: Send + 'static>(limit: Nanos, function: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (sender, receiver) = channel();
    let spawned = thread::Builder::new().name("slow".to_owned()).spawn(move || {
        // The receiver may be gone.
        let _ = sender.send(function());
    });
    spawned.ok()?;
    receiver.recv_timeout(duration(limit)).ok()
}

fn duration(time: Nanos) -> Duration {
    Duration::from_nanos(u64::try_from(time.0).unwrap_or(0))
}

#[cfg(test)]
#[path = "slow_tests.rs"]
mod tests;
