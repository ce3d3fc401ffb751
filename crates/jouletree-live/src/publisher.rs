//! The recorder's side: batches in, a snapshot on the board once a second.

use std::time::{Duration, Instant};

use jouletree_host::{Now, process_time};
use jouletree_model::Nanos;
use jouletree_model::sampling::{Anchor, Batch, SensorInfo};
use jouletree_series::ongoing::{DeviceTotal, OngoingEnergy};

use crate::board::Board;
use crate::snapshot::{CarbonIntensity, Snapshot};

/// Nothing new is shown more often: energy at a finer grain shows what a processor computes.
pub const BETWEEN: Duration = Duration::from_secs(1);

/// What is shown beside the energy of devices.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// Who used it: only where a process is watched, and never by a daemon.
    pub parts: bool,
    /// Carbon, where the intensity is known.
    pub intensity: Option<CarbonIntensity>,
}

/// Takes the batches of a session and pins what they say to a board.
#[derive(Debug)]
pub struct Publisher {
    board: Board,
    live: OngoingEnergy,
    shown: Shown,
    began: (Nanos, Instant),
    own_time: Nanos,
    lost_samples: u64,
    /// What was shown before: counters never go down.
    before: Vec<DeviceTotal>,
    due: Instant,
}

impl Publisher {
    /// For the batches of a session that reads these sensors once in a period.
    pub fn begin(board: Board, sensors: &[SensorInfo], period: Nanos, shown: Shown) -> Publisher {
        let mut publisher = Publisher {
            board,
            live: OngoingEnergy::new(sensors, period),
            shown,
            began: (Anchor::now().wall, Instant::now()),
            own_time: process_time(),
            lost_samples: 0,
            before: Vec::new(),
            due: Instant::now() + BETWEEN,
        };
        // Counters that begin at zero are seen to rise.
        let nothing = publisher.live.totals();
        let nothing = publisher.snapshot(nothing);
        publisher.board.pin(nothing);
        publisher
    }

    /// Takes what happened since the batch before.
    pub fn take(&mut self, batch: &Batch) {
        self.live.take(batch);
        self.lost_samples = self.lost_samples.saturating_add(batch.lost);
        if Instant::now() >= self.due {
            self.due = Instant::now() + BETWEEN;
            let totals = self.live.totals();
            let snapshot = self.snapshot(totals);
            self.board.pin(snapshot);
        }
    }

    /// Nothing more will come: pins all that was counted.
    pub fn finish(mut self) {
        let totals = self.live.last_totals();
        let snapshot = self.snapshot(totals);
        self.board.pin_last(snapshot);
    }

    fn snapshot(&mut self, mut devices: Vec<DeviceTotal>) -> Snapshot {
        for (total, before) in devices.iter_mut().zip(&self.before) {
            // While a gap is open it is taken to last until now, which may turn out to be a little too much.
            total.unknown = total.unknown.max(before.unknown);
        }
        self.before.clone_from(&devices);
        let (began, start) = self.began;
        Snapshot {
            began,
            at: Anchor::now().wall,
            duration: start.elapsed(),
            devices,
            has_parts: self.shown.parts,
            lost_samples: self.lost_samples,
            own_time: process_time() - self.own_time,
            intensity: self.shown.intensity.clone(),
        }
    }
}
