//! The board: where the recorder pins what is so, and others read it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::snapshot::Snapshot;

/// The newest snapshot. Clones are the same board.
#[derive(Debug, Clone, Default)]
pub struct Board(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    taken: Condvar,
}

#[derive(Debug, Default)]
struct State {
    newest: Option<Arc<Snapshot>>,
    /// Nothing will follow on it.
    is_last: bool,
    was_last_taken: bool,
}

impl Board {
    /// Pins a snapshot in the place of the one before.
    pub fn pin(&self, snapshot: Snapshot) {
        self.lock().newest = Some(Arc::new(snapshot));
    }

    /// Pins the last one.
    pub fn pin_last(&self, snapshot: Snapshot) {
        let mut state = self.lock();
        state.newest = Some(Arc::new(snapshot));
        state.is_last = true;
    }

    /// The newest snapshot, if there is one yet.
    pub fn newest(&self) -> Option<Arc<Snapshot>> {
        self.lock().newest.clone()
    }

    /// Whether a snapshot is the last one.
    pub(crate) fn is_last(&self, snapshot: &Arc<Snapshot>) -> bool {
        let state = self.lock();
        state.is_last && state.newest.as_ref().is_some_and(|newest| Arc::ptr_eq(newest, snapshot))
    }

    /// A client has fetched the last one.
    pub(crate) fn note_last_taken(&self) {
        self.lock().was_last_taken = true;
        self.0.taken.notify_all();
    }

    /// Waits until a client has fetched the last snapshot, but no longer than this; says whether one has.
    pub fn wait_for_last(&self, timeout: Duration) -> bool {
        let until = Instant::now() + timeout;
        let mut state = self.lock();
        while state.is_last && !state.was_last_taken {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.0.taken.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.was_last_taken
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
