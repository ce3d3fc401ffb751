//! Power to go with a workload: a reading about every 4 ms, as a meter gives them.

use anyhow::Result;
use jouletree_model::{EnergySeries, Joules, Nanos, TimeRange};

use crate::random::Random;

const MILLISECOND: i64 = 1_000_000;

/// The energy of a device of 25 to 75 W over `range`, with a reading's width to spare on both sides.
pub fn series_over(range: TimeRange, random: &mut Random) -> Result<EnergySeries> {
    let mut series = EnergySeries::default();
    let (mut time, mut energy) = (range.start.0 - MILLISECOND, 0.0);
    loop {
        series.push(Nanos(time), Joules(energy), false)?;
        if time > range.end.0 {
            return Ok(series);
        }
        time += random.nanos(3_900_000..4_100_000);
        energy += 0.1 + random.below(1000) as f64 * 2e-4;
    }
}
