//! A session as its owner sees it.

use std::sync::Arc;
use std::time::Duration;

use jouletree_model::sampling::{Batch, Ending};

use super::Station;
use super::early_flush::EarlyFlush;
use super::queue::Queue;
use super::worker::Order;

/// What a session gives when it is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// What happened since the batch before.
    Batch(Batch),
    /// Nothing so far.
    NothingYet,
    /// It has ended and everything was given.
    Ended,
}

/// A watch over a process tree or a machine. It ends when it is stopped or dropped.
#[derive(Debug)]
pub struct Session {
    id: u64,
    queue: Arc<Queue>,
    /// Keeps the station alive.
    station: Station,
}

impl Session {
    pub(super) fn new(id: u64, queue: Arc<Queue>, station: Station) -> Session {
        Session { id, queue, station }
    }

    /// Its number among the sessions of its station.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The next batch, ten a second at most; waits for it no longer than `wait`.
    pub fn next(&mut self, wait: Duration) -> Next {
        self.queue.pop(wait)
    }

    /// By what it can be made to hand over the next batch at once.
    pub fn early_flush(&self) -> EarlyFlush {
        EarlyFlush::of(&self.station.orders, self.id)
    }

    /// Ends it. What happened until now is still given by [`Session::next`].
    pub fn stop(&mut self) {
        // A station that is gone has ended all its sessions.
        let _ = self.station.orders.send(Order::Stop(self.id));
    }

    /// Whether all processes of the tree have ended; the session goes on.
    pub fn is_over(&self) -> bool {
        self.queue.is_over()
    }

    /// What is known about its sensors and its cost; all of it after [`Next::Ended`].
    pub fn ending(&self) -> Ending {
        self.queue.ending()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop();
    }
}
