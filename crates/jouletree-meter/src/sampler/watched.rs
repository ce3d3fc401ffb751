//! One sensor while it is sampled: its last reading, and whether a change is worth reporting.

use std::mem::{Discriminant, discriminant};

use jouletree_model::Nanos;
use jouletree_model::sampling::{Flags, Mono, Sample, SensorInfo, What};
use jouletree_series::Stillness;

use crate::{ReadError, Sensor};

/// How long a sensor that is gone is left alone before it is tried again.
const RETRY: Nanos = Nanos(1_000_000_000);

pub(super) struct Watched {
    id: u16,
    sensor: Box<dyn Sensor>,
    /// What keeps it from being read.
    trouble: Option<Discriminant<ReadError>>,
    /// It is gone, and left alone until then.
    retry: Option<Mono>,
    count: Option<u64>,
    still: Stillness,
    is_still: bool,
    /// Flags for its next sample.
    pending: Flags,
}

impl Watched {
    pub fn new(id: u16, sensor: Box<dyn Sensor>) -> Watched {
        let (still, pending) = (Stillness::new(sensor.info()), Flags::default());
        Watched { id, sensor, trouble: None, retry: None, count: None, still, is_still: false, pending }
    }

    pub fn id(&self) -> u16 {
        self.id
    }

    /// What is known of it now, and what it says of its readings.
    pub fn final_state(&self) -> (SensorInfo, Vec<String>) {
        (self.sensor.info().clone(), self.sensor.remarks())
    }

    /// Its next sample will say this, however long that takes.
    pub fn mark(&mut self, flags: Flags) {
        self.pending = self.pending | flags;
    }

    /// Reads it, at some time after `before`: its sample, and what changed. Nothing while it is left alone.
    #[inline]
    pub fn read(&mut self, before: Mono, flags: Flags) -> Option<(Sample, Option<What>)> {
        if self.retry.is_some_and(|retry| before < retry) {
            return None;
        }
        let flags = flags | std::mem::take(&mut self.pending);
        match self.sensor.reading() {
            Ok(reading) => {
                let is_stamped = reading.at < before;
                let middle = Mono(before.0 + (reading.at.0 - before.0) / 2);
                let at = if is_stamped { reading.at } else { middle };
                let flags = if is_stamped { flags | Flags::STAMPED } else { flags };
                let what = self.well(middle.max(before), reading.microjoules);
                Some((Sample { sensor: self.id, flags, at, count: reading.microjoules }, what))
            }
            Err(error) => {
                let sample = Sample { sensor: self.id, flags: flags | Flags::GAP, at: before, count: 0 };
                Some((sample, self.failed(before, &error)))
            }
        }
    }

    #[inline]
    fn well(&mut self, now: Mono, count: u64) -> Option<What> {
        self.retry = None;
        match self.count.replace(count) == Some(count) {
            true => self.still.stays(now),
            false => self.still.moved(now),
        }
        if self.trouble.take().is_some() {
            return Some(What::Recovered);
        }
        let is_still = !self.sensor.info().may_rest() && self.still.is_still();
        let was_still = std::mem::replace(&mut self.is_still, is_still);
        match (was_still, is_still) {
            (false, true) => Some(What::Still(self.still.stood())),
            (true, false) => Some(What::Moves),
            _ => None,
        }
    }

    #[cold]
    fn failed(&mut self, now: Mono, error: &ReadError) -> Option<What> {
        self.retry = matches!(error, ReadError::Gone(_)).then(|| Mono(now.0.saturating_add(RETRY.0)));
        self.count = None;
        self.is_still = false;
        let is_known = self.trouble.replace(discriminant(error)) == Some(discriminant(error));
        (!is_known).then(|| What::Lost(error.to_string()))
    }
}
