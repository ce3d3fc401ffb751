//! What is known about a sensor: its device, its counter, its quality.

use crate::{Device, Kind, Microjoules, Nanos, Watts};

/// What is known about a sensor.
#[derive(Debug, Clone, PartialEq)]
pub struct SensorInfo {
    /// What it meters.
    pub device: Device,
    /// The part of the device that it meters, when it is not the whole: a breakdown that is never added to the whole.
    pub domain: Option<String>,
    /// Where it was found, in words that lead a person there.
    pub source: String,
    /// How its numbers were obtained.
    pub kind: Kind,
    /// The largest count before it begins again at zero; `None` when it never does.
    pub range: Option<u64>,
    /// The step in which it counts.
    pub step: Microjoules,
    /// How often the hardware updates it, as far as that is known.
    pub period: Nanos,
    /// The device cannot draw more than this: faster growth means that the counter was reset.
    pub most: Watts,
    /// Whether reading it may take milliseconds, so that it must not hold up the others.
    pub is_slow: bool,
    /// How far its numbers can be trusted, beyond their kind.
    pub quality: Quality,
}

impl SensorInfo {
    /// Whether its count may stay unchanged on a working sensor: that of a part, which can be switched off, and that of a
    /// power meter, which can read zero. The counter of a whole processor or of its memory is always on.
    pub fn may_rest(&self) -> bool {
        self.domain.is_some() || self.range.is_none()
    }
}

/// How far the numbers of a sensor can be trusted. By default they come without delay, and nothing is known of the rest.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Quality {
    /// How long after the fact a reading shows it: what is read at an instant was used this much earlier.
    pub lag: Nanos,
    /// The part of the time that enters its readings; `None` where that is not known.
    pub coverage: Option<f64>,
    /// What its count is to be multiplied by to reach the 5th and the 95th percentile of what it may have been;
    /// `None` where that is not known.
    pub bounds: Option<Bounds>,
}

/// Factors that lead from a number to the ends of the interval of this level, in percent. Sensors have those of 90 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds<const PERCENT: u8 = 90> {
    /// To the lower end (at 90 % the 5th percentile), at most one.
    pub low: f64,
    /// To the upper end (at 90 % the 95th percentile), at least one.
    pub high: f64,
}

/// From the ends of a normal 90 % interval to those of the 95 % interval.
const FROM_90_TO_95: f64 = 1.96 / 1.645;

impl Bounds<90> {
    /// The factors that lead to the ends of the 95 % interval, which is the one that people are shown.
    pub fn at_95(self) -> Bounds<95> {
        Bounds { low: self.low.powf(FROM_90_TO_95), high: self.high.powf(FROM_90_TO_95) }
    }
}
