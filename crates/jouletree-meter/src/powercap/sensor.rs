//! A counter of the powercap tree, or the sum of several dies' counters.

use jouletree_model::sampling::SensorInfo;

use super::zone_counter::ZoneCounter;
use crate::{ReadError, Sensor};

/// One counter, read by one system call for each of its parts.
///
/// Parts are dies of one socket. Their counters wrap alike, so their sum wraps as each of them does, and nothing need
/// be remembered from one reading to the next.
#[derive(Debug)]
pub(super) struct Powercap {
    info: SensorInfo,
    range: u64,
    /// What a part has gained when it shows the same count again: its range and the step from there to zero.
    around: u64,
    parts: Vec<ZoneCounter>,
}

impl Powercap {
    pub fn new(info: SensorInfo, range: u64, parts: Vec<ZoneCounter>) -> Powercap {
        let around = range.saturating_add(info.step.0.round() as u64).max(1);
        Powercap { info, range, around, parts }
    }
}

impl Sensor for Powercap {
    fn info(&self) -> &SensorInfo {
        &self.info
    }

    fn read(&mut self) -> Result<u64, ReadError> {
        let mut sum = 0_u64;
        for part in &mut self.parts {
            let count = part.read()?;
            sum = sum.checked_sub(self.around - count).unwrap_or_else(|| sum.saturating_add(count));
        }
        Ok(sum.min(self.range))
    }
}
