//! Liveness probe with a timeout: a hung sensor does not block others.

use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use jouletree_model::Nanos;
use jouletree_model::sampling::SensorInfo;

use crate::{Found, Probe, Unusable};

/// What a slow sensor may take for its last reading, beyond the time that it is watched.
const GRACE: Nanos = Nanos(1_000_000_000);

/// A sensor that is watched on a thread of its own.
struct Elsewhere {
    info: SensorInfo,
    answer: Option<Receiver<Vec<Found>>>,
}

/// The same sensors in the same order, those that do not live marked as unusable. Sensors that may block are watched on
/// threads of their own, which are left behind if they never come back.
pub(super) fn living(probe: Probe, found: Vec<Found>) -> Vec<Found> {
    let begun = Instant::now();
    let timeout = time(probe.longest.max(probe.window)) + time(GRACE);
    let (mut here, mut places, mut elsewhere) = (Vec::new(), Vec::new(), Vec::new());
    for found in found {
        let is_elsewhere = found.sensor.is_ok() && found.info.is_slow;
        places.push(is_elsewhere);
        if is_elsewhere {
            elsewhere.push(watched_elsewhere(probe, found));
        } else {
            here.push(found);
        }
    }
    let mut here = probe.living(here).into_iter();
    let mut elsewhere = elsewhere.into_iter().map(|one| one.judged(timeout.saturating_sub(begun.elapsed())));
    places.iter().filter_map(|is_elsewhere| if *is_elsewhere { elsewhere.next() } else { here.next() }).collect()
}

fn watched_elsewhere(probe: Probe, found: Found) -> Elsewhere {
    let info = found.info.clone();
    let (sender, receiver) = channel();
    let watch = move || {
        // The receiver may have timed out.
        let _ = sender.send(probe.living(vec![found]));
    };
    let spawned = thread::Builder::new().name("probe".to_owned()).spawn(watch);
    Elsewhere { info, answer: spawned.is_ok().then_some(receiver) }
}

impl Elsewhere {
    fn judged(self, timeout: Duration) -> Found {
        let answer = self.answer.and_then(|answer| answer.recv_timeout(timeout).ok());
        answer.into_iter().flatten().next().unwrap_or_else(|| {
            let reason = "it opens but does not answer when it is read".to_owned();
            Found { info: self.info, sensor: Err(Unusable { reason, remedy: None }) }
        })
    }
}

fn time(nanos: Nanos) -> Duration {
    Duration::from_nanos(u64::try_from(nanos.0).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use jouletree_model::{Device, DeviceClass, Kind, Microjoules, Watts};

    use super::*;
    use crate::{ReadError, Sensor};
    use jouletree_model::sampling::Quality;

    /// Counts up, or hangs for a minute when it is read.
    struct Scripted(SensorInfo, u64);

    impl Sensor for Scripted {
        fn info(&self) -> &SensorInfo {
            &self.0
        }
        fn read(&mut self) -> Result<u64, ReadError> {
            if self.0.domain.is_some() {
                thread::sleep(Duration::from_secs(60));
            }
            self.1 += 1;
            Ok(self.1)
        }
    }

    fn found(index: u32, is_slow: bool, hangs: bool) -> Found {
        let info = SensorInfo {
            device: Device::new(DeviceClass::Gpu, index),
            domain: hangs.then(|| "hanging".to_owned()),
            source: "a test".into(),
            kind: Kind::Measured,
            range: None,
            step: Microjoules(1.0),
            period: Nanos(1_000_000),
            most: Watts(100.0),
            is_slow,
            quality: Quality::default(),
        };
        Found { info: info.clone(), sensor: Ok(Box::new(Scripted(info, 0))) }
    }

    #[test]
    fn one_that_hangs_takes_nobody_along_and_the_order_stays() {
        let probe = Probe { window: Nanos(10_000_000), longest: Nanos(20_000_000) };
        let begun = Instant::now();
        let probed = living(
            probe,
            vec![found(0, true, false), found(1, true, true), found(2, false, false), found(3, true, false)],
        );
        assert!(begun.elapsed() < Duration::from_secs(50), "it does not wait for a sensor that sleeps a minute");
        let indices: Vec<u32> = probed.iter().map(|found| found.info.device.index()).collect();
        assert_eq!(indices, [0, 1, 2, 3]);
        let usable: Vec<bool> = probed.iter().map(|found| found.sensor.is_ok()).collect();
        assert_eq!(usable, [true, false, true, true]);
    }
}
