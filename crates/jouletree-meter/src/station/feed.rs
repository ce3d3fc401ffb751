//! Where batches come from: a session of this process's own station, or one that a daemon serves.

use std::time::Duration;

use jouletree_model::sampling::{Ending, SensorInfo};

use super::early_flush::EarlyFlush;
use super::session::{Next, Session};

/// A session, wherever its station is.
pub trait Feed: Send {
    /// The sensors, in the order of [`Sample::sensor`](jouletree_model::sampling::Sample::sensor).
    fn sensors(&self) -> Vec<SensorInfo>;

    /// The next batch; waits for it no longer than `wait`. Asking again acknowledges the batch before.
    fn next(&mut self, wait: Duration) -> Result<Next, FeedError>;

    /// A handle that requests an early flush of its batch. The station of a daemon has none.
    fn early_flush(&self) -> EarlyFlush {
        EarlyFlush::default()
    }

    /// Ends it. What happened until now is still given by [`Feed::next`].
    fn stop(&mut self);

    /// Whether all processes of the tree have ended; the session goes on.
    fn is_over(&self) -> bool;

    /// What is known about its sensors and its cost; all of it after [`Next::Ended`].
    fn ending(&self) -> Ending;
}

/// Why there will be no more batches although the session was not stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FeedError(pub String);

impl Feed for Session {
    fn sensors(&self) -> Vec<SensorInfo> {
        Session::ending(self).sensors
    }

    fn next(&mut self, wait: Duration) -> Result<Next, FeedError> {
        Ok(Session::next(self, wait))
    }

    fn early_flush(&self) -> EarlyFlush {
        Session::early_flush(self)
    }

    fn stop(&mut self) {
        Session::stop(self);
    }

    fn is_over(&self) -> bool {
        Session::is_over(self)
    }

    fn ending(&self) -> Ending {
        Session::ending(self)
    }
}
