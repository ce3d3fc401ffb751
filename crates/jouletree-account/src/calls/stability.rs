//! Whether the machine is stable, so that what a call uses can be separated from what earlier work left behind. Decisions
//! only: reading sensors and waiting happen elsewhere.

use jouletree_model::{Device, DeviceClass, Nanos, Watts};

use super::summary::mean;

/// What rest means for one class of devices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// The highest mean temperature, in degrees Celsius.
    pub celsius: Option<f64>,
    /// The largest coefficient of variation (standard deviation by mean) of the power.
    pub variation: Option<f64>,
    /// How far the power may be from its idle baseline.
    pub idle: Option<IdleBand>,
}

/// A band around the idle baseline: the wider of the two is allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IdleBand {
    /// As a part of the baseline.
    pub relative: f64,
    /// In watts.
    pub absolute: Watts,
}

/// When a call may begin, and how long it may wait for that.
#[derive(Debug, Clone, PartialEq)]
pub struct StabilityLimits {
    /// The limits of processors, of their memory and of graphics processors; other classes have none.
    pub cpu: Limits,
    /// Those of memory.
    pub dram: Limits,
    /// Those of graphics processors.
    pub gpu: Limits,
    /// By what part limits of variation may be exceeded.
    pub tolerance: f64,
    /// How many of the newest samples are looked at.
    pub samples: usize,
    /// The least number of temperatures that are enough.
    pub least_temperatures: usize,
    /// Before anything is looked at.
    pub settle: Nanos,
    /// From one look to the next.
    pub every: Nanos,
    /// Whether the power is looked at only after waiting once.
    pub waits_first: bool,
    /// How long to try, each for temperature and power, before a time-out.
    pub time_out: Nanos,
    /// How long to rest after a time-out before all is tried again.
    pub rest: Nanos,
    /// How often all may be tried again; `None` for ever.
    pub retries: Option<u32>,
    /// Calls that begin so soon after one that was found stable, or after its end, share its wait.
    pub shared_for: Nanos,
}

/// What is known of a device before a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace<'a> {
    /// The device.
    pub device: Device,
    /// Its temperatures in degrees Celsius, oldest first; none where there is no sensor.
    pub celsius: &'a [f64],
    /// Its power, oldest first, one value for each equal interval.
    pub power: &'a [Watts],
    /// The level it idles at; `None` where it was not measured.
    pub idle: Option<Watts>,
}

/// Why the machine is not stable.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Unstable {
    /// Too little is known.
    #[error("{device}: {found} samples of {what} are too few, {wanted} are needed")]
    TooFew {
        /// The device.
        device: Device,
        /// Temperature or power.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many are needed.
        wanted: usize,
    },
    /// Too warm.
    #[error("{device}: {celsius:.1} °C, over the limit of {limit:.1} °C")]
    Hot {
        /// The device.
        device: Device,
        /// Its mean temperature.
        celsius: f64,
        /// The limit.
        limit: f64,
    },
    /// The power wavers.
    #[error("{device}: the power varies by {variation:.4} of its mean, over the limit of {limit:.4}")]
    Varies {
        /// The device.
        device: Device,
        /// The coefficient of variation.
        variation: f64,
        /// The limit.
        limit: f64,
    },
    /// The power is steady, at another level than idling.
    #[error("{device}: {power} is more than {band} away from idling at {idle}")]
    NotIdle {
        /// The device.
        device: Device,
        /// Its mean power.
        power: Watts,
        /// Its idle power.
        idle: Watts,
        /// How far it may be away.
        band: Watts,
    },
}

/// The state of the sensors.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Steadiness {
    /// What is wrong with temperatures.
    pub temperature: Vec<Unstable>,
    /// What is wrong with power.
    pub power: Vec<Unstable>,
}

impl StabilityLimits {
    /// FECoM's: 55 °C and 40 °C; 3 %, 3 % and 1 % over ten seconds of samples; a look every 20 s, six looks, half a minute
    /// of rest, and all over again without end. Nothing is compared with idling.
    pub fn fecom() -> StabilityLimits {
        let limits = |celsius, variation| Limits { celsius, variation: Some(variation), idle: None };
        StabilityLimits {
            cpu: limits(Some(55.0), 0.03),
            dram: limits(None, 0.03),
            gpu: limits(Some(40.0), 0.01),
            tolerance: 0.0,
            samples: 20,
            least_temperatures: 3,
            settle: Nanos(10_000_000_000),
            every: Nanos(20_000_000_000),
            waits_first: true,
            time_out: Nanos(120_000_000_000),
            rest: Nanos(30_000_000_000),
            retries: None,
            shared_for: Nanos(0),
        }
    }

    /// The limits of a class of devices; `None` where it has none.
    pub fn of(&self, class: DeviceClass) -> Option<&Limits> {
        match class {
            DeviceClass::Cpu => Some(&self.cpu),
            DeviceClass::Dram => Some(&self.dram),
            DeviceClass::Gpu => Some(&self.gpu),
            DeviceClass::Machine => None,
        }
    }

    /// What is wrong with the newest samples of these devices.
    pub fn judge(&self, traces: &[Trace<'_>]) -> Steadiness {
        let mut steadiness = Steadiness::default();
        for trace in traces {
            let Some(limits) = self.of(trace.device.class()) else { continue };
            steadiness.temperature.extend(self.too_warm(trace, limits));
            steadiness.power.extend(self.unsteady(trace, limits));
        }
        steadiness
    }

    fn too_warm(&self, trace: &Trace<'_>, limits: &Limits) -> Option<Unstable> {
        let (limit, device) = (limits.celsius?, trace.device.clone());
        let newest = newest(trace.celsius, self.samples);
        let (found, wanted) = (newest.len(), self.least_temperatures.clamp(1, self.samples.max(1)));
        if found < wanted {
            // A device without a sensor is no reason to wait for ever.
            let has_sensor = !trace.celsius.is_empty();
            return has_sensor.then_some(Unstable::TooFew { device, what: "temperature", found, wanted });
        }
        let celsius = mean(newest);
        (celsius > limit).then_some(Unstable::Hot { device, celsius, limit })
    }

    fn unsteady(&self, trace: &Trace<'_>, limits: &Limits) -> Vec<Unstable> {
        let newest: Vec<f64> = newest(trace.power, self.samples).iter().map(|power| power.0).collect();
        let device = || trace.device.clone();
        let (found, wanted) = (newest.len(), self.samples.max(2));
        if found < wanted {
            return vec![Unstable::TooFew { device: device(), what: "power", found, wanted }];
        }
        let level = mean(&newest);
        let variation = limits.variation.and_then(|limit| {
            let (limit, variation) = (limit * (1.0 + self.tolerance), variation(&newest)?);
            (variation > limit).then(|| Unstable::Varies { device: device(), variation, limit })
        });
        let away = limits.idle.zip(trace.idle).and_then(|(band, idle)| {
            let band = Watts((band.relative * idle.0).abs().max(band.absolute.0));
            let is_away = (level - idle.0).abs() > band.0;
            is_away.then(|| Unstable::NotIdle { device: device(), power: Watts(level), idle, band })
        });
        variation.into_iter().chain(away).collect()
    }
}

impl Default for StabilityLimits {
    /// Looks every second at ten seconds of samples, wants the power within 5 % or 2 W of idling, tries for two minutes
    /// and not again, and lets calls within five seconds share a wait.
    fn default() -> StabilityLimits {
        let band = Some(IdleBand { relative: 0.05, absolute: Watts(2.0) });
        let idle = |limits: Limits| Limits { idle: band, ..limits };
        let fecom = StabilityLimits::fecom();
        StabilityLimits {
            cpu: idle(fecom.cpu),
            dram: idle(fecom.dram),
            gpu: idle(fecom.gpu),
            settle: Nanos(0),
            every: Nanos(1_000_000_000),
            waits_first: false,
            rest: Nanos(0),
            retries: Some(0),
            shared_for: Nanos(5_000_000_000),
            ..fecom
        }
    }
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// The call may begin.
    Go,
    /// Look again after this time.
    Wait(Nanos),
    /// The call begins although the machine is not stable, for these reasons.
    GiveUp(Vec<Unstable>),
}

/// The wait before a call, or before a group of calls.
#[derive(Debug, Clone)]
pub struct StabilityCheck {
    limits: StabilityLimits,
    stage: Stage,
    /// How often this stage has been looked at.
    looks: u32,
    /// How often all has been tried again.
    retries: u32,
    waited: Nanos,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Settle,
    Temperature,
    /// Before the first look at the power.
    BeforePower,
    Power,
}

impl StabilityCheck {
    /// A wait that begins.
    pub fn new(limits: &StabilityLimits) -> StabilityCheck {
        StabilityCheck { limits: limits.clone(), stage: Stage::Settle, looks: 0, retries: 0, waited: Nanos(0) }
    }

    /// How long it has made its caller wait.
    pub fn waited(&self) -> Nanos {
        self.waited
    }

    /// Whether a call at `now` may share a wait that ended well at `stable`, before anything it could notice has changed.
    pub fn is_shared(limits: &StabilityLimits, stable: Option<Nanos>, now: Nanos) -> bool {
        stable.is_some_and(|stable| now - stable < limits.shared_for)
    }

    /// What to do, after looking at the sensors now.
    pub fn next(&mut self, now: &Steadiness) -> Decision {
        if self.limits.time_out <= Nanos(0) {
            return Decision::Go;
        }
        loop {
            match self.stage {
                Stage::Settle => {
                    self.enter(Stage::Temperature);
                    if self.limits.settle > Nanos(0) {
                        return self.wait(self.limits.settle);
                    }
                }
                Stage::Temperature if now.temperature.is_empty() => self.enter(Stage::BeforePower),
                Stage::BeforePower => {
                    self.enter(Stage::Power);
                    if self.limits.waits_first {
                        self.looks = 1;
                        return self.wait(self.limits.every);
                    }
                }
                Stage::Power if now.power.is_empty() && now.temperature.is_empty() => return Decision::Go,
                // It became warm again: FECoM does not look, others do not measure.
                Stage::Power if now.power.is_empty() && self.limits.waits_first => return Decision::Go,
                Stage::Temperature | Stage::Power => return self.again(now),
            }
        }
    }

    fn again(&mut self, now: &Steadiness) -> Decision {
        let most = (self.limits.time_out.0 / self.limits.every.0.max(1)).max(1);
        if i64::from(self.looks) < most {
            self.looks += 1;
            return self.wait(self.limits.every);
        }
        if self.limits.retries.is_some_and(|most| self.retries >= most) {
            return Decision::GiveUp(now.temperature.iter().chain(&now.power).cloned().collect());
        }
        self.retries = self.retries.saturating_add(1);
        self.enter(Stage::Settle);
        self.wait(self.limits.rest)
    }

    fn enter(&mut self, stage: Stage) {
        self.stage = stage;
        self.looks = 0;
    }

    fn wait(&mut self, time: Nanos) -> Decision {
        self.waited += time;
        Decision::Wait(time)
    }
}

/// The coefficients of variation of windows of so many samples that follow each other without overlap.
pub fn disjoint_variation(samples: &[f64], window: usize) -> Vec<f64> {
    samples.chunks_exact(window.max(2)).filter_map(variation).collect()
}

/// The coefficients of variation of all windows of so many samples.
pub fn sliding_variation(samples: &[f64], window: usize) -> Vec<f64> {
    samples.windows(window.max(2)).filter_map(variation).collect()
}

/// Standard deviation by mean; `None` of nothing used.
fn variation(samples: &[f64]) -> Option<f64> {
    let level = mean(samples);
    let squares: f64 = samples.iter().map(|sample| (sample - level).powi(2)).sum();
    let deviation = (squares / (samples.len() as f64 - 1.0)).sqrt();
    (level > 0.0).then_some(deviation / level)
}

fn newest<T>(samples: &[T], count: usize) -> &[T] {
    samples.get(samples.len().saturating_sub(count)..).unwrap_or_default()
}

#[cfg(test)]
#[path = "stability_tests.rs"]
mod tests;
