//! What sensors say right now: power over a short while, by the sampler itself.

use std::thread;
use std::time::Duration;

use jouletree_model::sampling::{Flags, Mono, Sample};
use jouletree_model::{Nanos, Watts};
use jouletree_series::{Advance, Counter};

use crate::Sensor;
use crate::sampler::{Options, Sampler};

const PERIOD: Nanos = Nanos(10_000_000);

/// The mean power of each sensor over some time from now; `None` of one that failed, or did not change meanwhile.
pub fn watts(sensors: Vec<Box<dyn Sensor>>, over: Nanos) -> Vec<Option<Watts>> {
    let count = sensors.len();
    let ring = count.saturating_mul(1 + usize::try_from(over.0 / PERIOD.0).unwrap_or(0)).saturating_mul(2).max(1);
    let Ok(mut sampler) = Sampler::start(sensors, Options { period: PERIOD, realtime: false, ring }) else {
        return vec![None; count];
    };
    thread::sleep(Duration::from_nanos(u64::try_from(over.0).unwrap_or(0)));
    sampler.stop();
    let mut samples = Vec::new();
    sampler.drain(|sample| samples.push(sample));
    let of_sensor = |(id, info)| {
        let own = samples.iter().filter(|sample| usize::from(sample.sensor) == id);
        mean(own, Counter::new(info))
    };
    sampler.infos().iter().enumerate().map(of_sensor).collect()
}

/// From the first change to the last: what lies before and after them is part of an update that was not seen whole.
fn mean<'s>(samples: impl Iterator<Item = &'s Sample>, mut counter: Counter) -> Option<Watts> {
    let mut changes: Vec<(Mono, u64)> = Vec::new();
    for sample in samples.filter(|sample| !sample.flags.has(Flags::GAP)) {
        match counter.take(sample.at, sample.count) {
            Advance::By(0) | Advance::Begins => {}
            Advance::By(_) => changes.push((sample.at, counter.total())),
            Advance::Gap(_) => return None,
        }
    }
    let ((from, first), (to, last)) = (changes.first()?, changes.last()?);
    let seconds = (*to - *from).seconds();
    (seconds > 0.0).then(|| Watts((last - first) as f64 * 1e-6 / seconds))
}
