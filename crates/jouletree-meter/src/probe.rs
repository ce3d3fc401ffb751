//! Probing for life: a sensor that opens and never moves is dead, which is not the same as zero.
//!
//! Virtual machines show counters that open without an error and stay at zero for ever; boards leave `psys` unwired;
//! drivers stop counting. Every sensor is watched for a while before it is trusted, during which this process keeps a
//! processor busy, so that there is something to count.

use std::hint::black_box;
use std::thread;
use std::time::Duration;

use jouletree_host::Now;
use jouletree_model::Nanos;
use jouletree_model::sampling::Mono;

use crate::{Found, ReadError, Sensor, Unusable};

/// How long sensors are watched before they are called dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// The least time. A sensor that is updated seldom is watched for three of its periods.
    pub window: Nanos,
    /// The most time, whatever period a sensor claims.
    pub longest: Nanos,
}

impl Default for Probe {
    fn default() -> Probe {
        Probe { window: Nanos(300_000_000), longest: Nanos(5_000_000_000) }
    }
}

/// Time between two looks at the sensors that have not moved yet.
const BETWEEN_LOOKS: Nanos = Nanos(2_000_000);

/// A look that comes later than this counts as this late: while the machine stalls, no sensor is watched, and what feeds a
/// sensor may stall as well.
const LONGEST_LOOK: Nanos = Nanos(100_000_000);

/// What is known about one sensor while it is watched.
#[derive(Debug, PartialEq)]
enum State {
    /// It has said nothing yet, as meters do that speak seldom.
    Silent,
    /// It said this, and nothing else since.
    Still(u64),
    Alive,
    /// It cannot be read.
    Failed(String),
    Dead(Nanos),
}

impl Probe {
    /// The same sensors, those that cannot be read or do not move marked as unusable. It takes as long as the last
    /// living sensor needs to move, and [`Probe::window`] or longer only when one is dead.
    pub fn living(self, found: Vec<Found>) -> Vec<Found> {
        let begun = Mono::now();
        let (mut last, mut watched_for) = (begun, Nanos(0));
        let mut watched: Vec<(Found, State)> = found
            .into_iter()
            .map(|mut found| {
                let state = found.sensor.as_mut().map(|sensor| first_look(sensor.as_mut()));
                let state = state.unwrap_or(State::Alive);
                (found, state)
            })
            .collect();
        while watched.iter().any(|(_, state)| matches!(state, State::Still(_) | State::Silent)) {
            // Later there are only those that are updated seldom, whatever the processor does.
            if Mono::now() - begun < self.window {
                burn(BETWEEN_LOOKS);
            } else {
                thread::sleep(Duration::from_nanos(BETWEEN_LOOKS.0.unsigned_abs()));
            }
            let now = Mono::now();
            watched_for += (now - last).min(LONGEST_LOOK);
            last = now;
            for (found, state) in &mut watched {
                if let Ok(sensor) = &mut found.sensor {
                    let timeout = self.timeout(sensor.info().period);
                    look(sensor.as_mut(), state, watched_for, timeout);
                }
            }
        }
        watched.into_iter().map(judged).collect()
    }

    fn timeout(self, period: Nanos) -> Nanos {
        let periods = Nanos(period.0.saturating_mul(3));
        self.window.max(periods).min(self.longest.max(self.window))
    }
}

fn first_look(sensor: &mut dyn Sensor) -> State {
    match sensor.read() {
        Ok(count) => State::Still(count),
        Err(ReadError::Late(_)) => State::Silent,
        Err(error) => State::Failed(error.to_string()),
    }
}

fn look(sensor: &mut dyn Sensor, state: &mut State, watched_for: Nanos, timeout: Nanos) {
    let first = match *state {
        State::Still(first) => Some(first),
        State::Silent => None,
        _ => return,
    };
    *state = match (sensor.read(), first) {
        (Ok(count), Some(first)) if count != first => State::Alive,
        (Ok(_), Some(_)) if watched_for >= timeout => State::Dead(timeout),
        (Ok(_), Some(_)) => return,
        (Ok(count), None) => State::Still(count),
        (Err(ReadError::Late(_)), _) if watched_for < timeout => return,
        (Err(error), _) => State::Failed(error.to_string()),
    };
}

fn judged((found, state): (Found, State)) -> Found {
    let reason = match state {
        State::Alive | State::Still(_) | State::Silent => return found,
        State::Failed(error) => format!("it opens but cannot be read: {error}"),
        State::Dead(time) => format!("it opens but has not moved in {time}, so it is dead"),
    };
    let remedy = found.info.domain.as_ref().map(|domain| {
        format!("if `{domain}` was merely switched off, look again while it is in use: `jouletree doctor`")
    });
    Found { info: found.info, sensor: Err(Unusable { reason, remedy }) }
}

/// Keeps this processor busy.
fn burn(time: Nanos) {
    let begun = Mono::now();
    let mut number = 1_u64;
    while Mono::now() - begun < time {
        for _ in 0..2000 {
            number = black_box(number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use jouletree_model::{Device, DeviceClass, Kind, Microjoules, Watts};

    use super::*;
    use jouletree_model::sampling::SensorInfo;

    /// Counts up after so many readings, or fails then.
    struct Scripted {
        info: SensorInfo,
        still_for: u32,
        fails: bool,
        readings: u32,
    }

    impl Sensor for Scripted {
        fn info(&self) -> &SensorInfo {
            &self.info
        }
        fn read(&mut self) -> Result<u64, ReadError> {
            self.readings += 1;
            match self.readings > self.still_for {
                true if self.fails => Err(io::Error::other("it broke").into()),
                true => Ok(u64::from(self.readings)),
                false => Ok(0),
            }
        }
    }

    fn found(still_for: u32, fails: bool, period: Nanos) -> Found {
        let info = SensorInfo {
            device: Device::new(DeviceClass::Cpu, 0),
            domain: Some("uncore".into()),
            source: "a test".into(),
            kind: Kind::Measured,
            range: None,
            step: Microjoules(1.0),
            period,
            most: Watts(100.0),
            is_slow: false,
            quality: jouletree_model::sampling::Quality::default(),
        };
        Found { info: info.clone(), sensor: Ok(Box::new(Scripted { info, still_for, fails, readings: 0 })) }
    }

    fn reason(found: &Found) -> Option<&str> {
        found.sensor.as_ref().err().map(|unusable| unusable.reason.as_str())
    }

    #[test]
    fn what_moves_lives_and_what_does_not_is_dead() {
        let probe = Probe { window: Nanos(30_000_000), longest: Nanos(60_000_000) };
        let ms = Nanos(1_000_000);
        let probed = probe.living(vec![
            found(3, false, ms),
            found(u32::MAX, false, ms),
            found(0, true, ms),
            found(2, true, ms),
            // It claims to be updated every ten seconds.
            found(u32::MAX, false, Nanos(10_000_000_000)),
        ]);
        assert_eq!(reason(&probed[0]), None);
        assert!(reason(&probed[1]).unwrap().starts_with("it opens but has not moved in "), "{probed:?}");
        assert!(reason(&probed[2]).unwrap().contains("it broke"));
        assert!(reason(&probed[3]).unwrap().contains("it broke"));
        assert!(reason(&probed[4]).unwrap().starts_with("it opens but has not moved in "), "{probed:?}");
    }

    /// A stall of the machine is no time in which a sensor was watched.
    #[test]
    fn a_stall_makes_no_sensor_dead() {
        struct Stalling(Scripted);
        impl Sensor for Stalling {
            fn info(&self) -> &SensorInfo {
                &self.0.info
            }
            fn read(&mut self) -> Result<u64, ReadError> {
                if self.0.readings < 2 {
                    thread::sleep(Duration::from_millis(400));
                }
                self.0.read()
            }
        }
        let Found { info, .. } = found(4, false, Nanos(1));
        let scripted = Scripted { info: info.clone(), still_for: 4, fails: false, readings: 0 };
        let probe = Probe { window: Nanos(300_000_000), longest: Nanos(300_000_000) };
        let probed = probe.living(vec![Found { info, sensor: Ok(Box::new(Stalling(scripted))) }]);
        assert_eq!(reason(&probed[0]), None);
    }

    #[test]
    fn nothing_waits_for_the_living() {
        let begun = Mono::now();
        Probe { window: Nanos(60_000_000_000), ..Probe::default() }.living(vec![found(2, false, Nanos(1))]);
        assert!(Mono::now() - begun < Nanos(10_000_000_000));
    }
}
