//! All recordings, and which of them a call means that names no process.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::owner::Owner;
use super::recording::SmaragdineRecording;
use crate::connection::Line;

/// So many recordings one owner has at once, running or kept.
const MOST_OF_OWNER: usize = 32;
/// So many recordings there are at once.
const MOST: usize = 128;

/// All recordings, in the order of their beginning. Each owner sees its own.
#[derive(Debug, Default)]
pub(super) struct Recordings {
    all: Vec<Entry>,
    next: u64,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    owner: Owner,
    /// The process that it is about; `None` is the machine.
    pid: Option<u32>,
    recording: SmaragdineRecording,
    /// The connection that began it, as long as there is one.
    line: Weak<Line>,
    /// When it was last asked for.
    called: Instant,
    was_read: bool,
    /// It was read, and its owner has gone on: only calls that name its process mean it.
    is_over: bool,
}

/// The client of a call.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) owner: Owner,
    pub(super) line: Arc<Line>,
}

/// There are as many recordings as there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full(pub(super) usize);

impl Recordings {
    /// Whether a process is being recorded for its owner. The client goes on with that recording.
    pub(super) fn is_running(&mut self, client: &Client, pid: Option<u32>) -> bool {
        let is_it = |entry: &&mut Entry| entry.is(client, pid) && entry.recording.is_running();
        let Some(entry) = self.all.iter_mut().find(is_it) else { return false };
        entry.called = Instant::now();
        client.start(entry.number);
        true
    }

    /// Whether there may be one more recording. Finished ones of the same owner are dropped for it, the oldest first.
    pub(super) fn make_room(&mut self, client: &Client, pid: Option<u32>) -> Result<(), Full> {
        loop {
            // A recording of the same process will be replaced.
            let others = || self.all.iter().filter(|entry| !entry.is(client, pid));
            let of_owner = others().filter(|entry| entry.owner == client.owner).count();
            if of_owner < MOST_OF_OWNER && others().count() < MOST {
                return Ok(());
            }
            let is_own = |entry: &Entry| entry.owner == client.owner && !entry.is(client, pid);
            let is_done = |entry: &Entry| is_own(entry) && !entry.recording.is_running();
            let Some(oldest) = self.all.iter().position(is_done) else { return Err(Full(self.all.len())) };
            self.all.remove(oldest);
        }
    }

    /// Adds a recording, in the place of one of the same process.
    pub(super) fn add(&mut self, client: &Client, pid: Option<u32>, recording: SmaragdineRecording) {
        self.all.retain(|entry| !entry.is(client, pid));
        let number = self.next;
        self.next += 1;
        client.start(number);
        let (owner, line, called) = (client.owner, Arc::downgrade(&client.line), Instant::now());
        self.all.push(Entry { number, owner, pid, recording, line, called, was_read: false, is_over: false });
    }

    /// The recording to stop. A second Stop without a process says that its owner is through with what it has read.
    pub(super) fn stop(&mut self, client: &Client, pid: Option<u32>) -> Option<&SmaragdineRecording> {
        let entry = self.find(client, pid)?;
        entry.called = Instant::now();
        if entry.recording.is_running() {
            return Some(&entry.recording);
        }
        entry.is_over |= pid.is_none() && entry.was_read;
        None
    }

    /// The recording to read.
    pub(super) fn read(&mut self, client: &Client, pid: Option<u32>) -> Option<&SmaragdineRecording> {
        let entry = self.find(client, pid)?;
        entry.called = Instant::now();
        entry.was_read |= entry.recording.written().is_some();
        Some(&entry.recording)
    }

    /// The recording of a process or, if none is named, the one that this connection began last; for a connection that
    /// began none, the newest of its owner that runs, or else the newest.
    fn find(&mut self, client: &Client, pid: Option<u32>) -> Option<&mut Entry> {
        let mut own = self.all.iter_mut().filter(|entry| entry.owner == client.owner);
        match (pid, client.started()) {
            (Some(_), _) => own.find(|entry| entry.pid == pid),
            (None, Some(number)) => own.find(|entry| entry.number == number && !entry.is_over),
            (None, None) => {
                own.filter(|entry| !entry.is_over).max_by_key(|entry| (entry.recording.is_running(), entry.number))
            }
        }
    }

    /// Stops recordings that were left alone for too long and forgets those that were done some time ago.
    pub(super) fn tidy(&mut self, kept_for: Duration, unattended_for: Duration) {
        for entry in &self.all {
            let is_alone = entry.line.strong_count() == 0;
            if is_alone && entry.recording.is_running() && entry.called.elapsed() > unattended_for {
                entry.recording.stop();
            }
        }
        self.all.retain(|entry| !entry.recording.is_older_than(kept_for));
    }
}

impl Entry {
    fn is(&self, client: &Client, pid: Option<u32>) -> bool {
        self.owner == client.owner && self.pid == pid
    }
}

impl Client {
    fn started(&self) -> Option<u64> {
        *self.line.started.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn start(&self, number: u64) {
        *self.line.started.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(number);
    }
}
