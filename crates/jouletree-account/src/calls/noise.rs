//! How much a power wavers, from blocks of whole readings that are long enough to waver by themselves.

use jouletree_model::{Joules, Nanos, TimeRange, Watts};

use crate::EnergyIndex;

/// The level of a power over some stretches of time, and how it wavers around it.
pub struct Level {
    pub power: Watts,
    pub deviation: Watts,
    pub blocks: usize,
    /// How long a block is on average.
    pub block: Nanos,
    /// The time in which something is known.
    pub known: Nanos,
}

/// A block may fall short of its length by this part, as readings rarely come at even times.
const NEARLY: f64 = 0.9;

/// The level over `ranges`; `None` when fewer than two blocks fit in. Readings that an end of a range cuts do not count:
/// they hold something of the call that begins or ended there.
pub fn level(index: &EnergyIndex, ranges: &[TimeRange], block: Nanos) -> Option<Level> {
    let (mut energy, mut known) = (Joules::ZERO, Nanos(0));
    let mut blocks: Vec<(Joules, Nanos)> = Vec::new();
    let full = Nanos((block.0 as f64 * NEARLY) as i64);
    for range in ranges {
        let mut open = (Joules::ZERO, Nanos(0));
        let whole = index.spans_meeting(*range).iter();
        for span in whole.filter(|span| span.range.intersection(*range) == span.range) {
            let duration = span.range.duration();
            energy += span.power * duration;
            known += duration;
            open = (open.0 + span.power * duration, open.1 + duration);
            if open.1 >= full && open.1 > Nanos(0) {
                blocks.push(open);
                open = (Joules::ZERO, Nanos(0));
            }
        }
    }
    if blocks.len() < 2 {
        return None;
    }
    let count = blocks.len() as f64;
    let powers = || blocks.iter().map(|(energy, time)| (*energy / *time).0);
    let mean = powers().sum::<f64>() / count;
    let squares: f64 = powers().map(|power| (power - mean).powi(2)).sum();
    let length: i64 = blocks.iter().map(|(_, time)| time.0).sum::<i64>() / blocks.len() as i64;
    Some(Level {
        power: energy / known,
        deviation: Watts((squares / (count - 1.0)).sqrt()),
        blocks: blocks.len(),
        block: Nanos(length),
        known,
    })
}
