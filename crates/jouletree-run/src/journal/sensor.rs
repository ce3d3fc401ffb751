//! What is known about a sensor, as it is kept with its numbers.

use jouletree_model::sampling::{Bounds, Quality, SensorInfo};
use jouletree_model::{Device, Kind, Microjoules, Nanos, Watts};
use serde::{Deserialize, Serialize};

/// Times in a file are believed up to an hour.
const LONGEST: i64 = 3_600_000_000_000;
/// And numbers up to this.
const LARGEST: f64 = 1e12;

/// A sensor and how far its numbers can be trusted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SensorRecord {
    /// What it meters.
    pub device: Device,
    /// The part of the device that it meters; `None` for the whole.
    pub domain: Option<String>,
    /// Where it was found.
    pub source: String,
    /// The kind of its numbers.
    pub kind: Kind,
    /// The largest count before it begins again at zero, in microjoules; `None` when it never does.
    pub range_uj: Option<u64>,
    /// The step in which it counts, in microjoules.
    pub step_uj: f64,
    /// How often the hardware updates it.
    pub period_ns: i64,
    /// What it cannot exceed; `None` when unknown.
    pub most_w: Option<f64>,
    /// Whether it is read on a thread of its own.
    pub is_slow: bool,
    /// How long after the fact a reading shows it.
    pub lag_ns: i64,
    /// The part of the time that enters its readings, as far as that is known.
    pub seen: Option<f64>,
    /// Factors from its count to the 5th and the 95th percentile of what it may have been, as far as they are known.
    pub bounds: Option<(f64, f64)>,
}

impl From<&SensorInfo> for SensorRecord {
    fn from(info: &SensorInfo) -> SensorRecord {
        let finite = |number: f64| Some(number).filter(|number| number.is_finite());
        SensorRecord {
            device: info.device.clone(),
            domain: info.domain.clone(),
            source: info.source.clone(),
            kind: info.kind,
            range_uj: info.range,
            step_uj: finite(info.step.0).unwrap_or(0.0),
            period_ns: info.period.0,
            most_w: finite(info.most.0),
            is_slow: info.is_slow,
            lag_ns: info.quality.lag.0,
            seen: info.quality.coverage.and_then(finite),
            bounds: info.quality.bounds.and_then(|bounds| finite(bounds.low).zip(finite(bounds.high))),
        }
    }
}

impl From<&SensorRecord> for SensorInfo {
    fn from(record: &SensorRecord) -> SensorInfo {
        let time = |nanos: i64| Nanos(nanos.clamp(0, LONGEST));
        SensorInfo {
            device: record.device.clone(),
            domain: record.domain.clone(),
            source: record.source.clone(),
            kind: record.kind,
            range: record.range_uj,
            step: Microjoules(record.step_uj.clamp(0.0, LARGEST)),
            period: time(record.period_ns),
            most: Watts(record.most_w.unwrap_or(f64::INFINITY)),
            is_slow: record.is_slow,
            quality: Quality {
                lag: time(record.lag_ns),
                coverage: record.seen.filter(|seen| (0.0..=1.0).contains(seen)),
                bounds: record.bounds.map(|(low, high)| Bounds { low, high }).filter(can_be),
            },
        }
    }
}

fn can_be(bounds: &Bounds) -> bool {
    (0.0..=1.0).contains(&bounds.low) && (1.0..=LARGEST).contains(&bounds.high)
}
