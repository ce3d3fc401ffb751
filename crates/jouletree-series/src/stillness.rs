//! How long a count was seen unchanged. A stall of the reader is not evidence: nothing was seen meanwhile.

use jouletree_model::Nanos;
use jouletree_model::sampling::{Mono, SensorInfo};

use super::still_after;

/// No interval between two readings counts for more than this part of the limit, so that at least three intervals
/// show that a count does not move.
const LARGEST_PART: i64 = 2;

/// The time over which readings show the same count.
#[derive(Debug, Clone)]
pub struct Stillness {
    limit: Nanos,
    last: Option<Mono>,
    stood: Nanos,
}

impl Stillness {
    /// For the readings of a sensor.
    pub fn new(info: &SensorInfo) -> Stillness {
        Stillness { limit: still_after(info), last: None, stood: Nanos(0) }
    }

    /// A reading shows another count than the one before, or is the first.
    pub fn moved(&mut self, at: Mono) {
        (self.last, self.stood) = (Some(at), Nanos(0));
    }

    /// A reading shows the same count as the one before.
    pub fn stays(&mut self, at: Mono) {
        let interval = self.last.replace(at).map_or(Nanos(0), |last| at - last);
        let most = Nanos(self.limit.0 / LARGEST_PART);
        self.stood = Nanos(self.stood.0.saturating_add(interval.max(Nanos(0)).min(most).0));
    }

    /// For how long it was seen unchanged.
    pub fn stood(&self) -> Nanos {
        self.stood
    }

    /// Whether that is longer than readings and ticks explain.
    pub fn is_still(&self) -> bool {
        self.stood > self.limit
    }
}
