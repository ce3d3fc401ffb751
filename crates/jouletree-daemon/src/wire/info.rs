//! Sensors, figures of the sampler and the end of a session on the wire.

use jouletree_model::sampling::{Bounds, Class, Ending, Quality, SensorInfo, Stats};
use jouletree_model::{Kind, Microjoules, Nanos, Watts};

use super::{WireError, v1};

/// A sensor as it is sent.
pub fn sensor(info: &SensorInfo) -> v1::Sensor {
    v1::Sensor {
        device: info.device.to_string(),
        domain: info.domain.clone(),
        source: info.source.clone(),
        kind: match info.kind {
            Kind::Measured => v1::Kind::Measured,
            Kind::Derived => v1::Kind::Derived,
            Kind::Estimated => v1::Kind::Estimated,
            Kind::Predicted => v1::Kind::Predicted,
        }
        .into(),
        range: info.range,
        step: info.step.0,
        period_ns: info.period.0,
        most_watts: info.most.0,
        is_slow: info.is_slow,
        lag_ns: info.quality.lag.0,
        coverage: info.quality.coverage,
        bounds: info.quality.bounds.map(|Bounds { low, high }| v1::Bounds { low, high }),
    }
}

/// The sensor that was sent.
pub fn sensor_from(sent: v1::Sensor) -> Result<SensorInfo, WireError> {
    let kind = match sent.kind() {
        v1::Kind::Measured => Kind::Measured,
        v1::Kind::Derived => Kind::Derived,
        v1::Kind::Estimated => Kind::Estimated,
        v1::Kind::Predicted => Kind::Predicted,
        v1::Kind::Unspecified => return Err(WireError::Value("kind of number")),
    };
    let bounds = sent.bounds.map(|v1::Bounds { low, high }| Bounds { low, high });
    Ok(SensorInfo {
        device: sent.device.parse().map_err(|_| WireError::Value("device"))?,
        domain: sent.domain,
        source: sent.source,
        kind,
        range: sent.range,
        step: Microjoules(sent.step),
        period: Nanos(sent.period_ns),
        most: Watts(sent.most_watts),
        is_slow: sent.is_slow,
        quality: Quality { lag: Nanos(sent.lag_ns), coverage: sent.coverage, bounds },
    })
}

/// Figures of the sampler as they are sent.
pub fn stats(stats: &Stats) -> v1::Stats {
    v1::Stats {
        wakes: stats.wakes,
        missed: stats.missed,
        overruns: stats.overruns,
        incidents_left_out: stats.incidents_left_out,
        late_p50_ns: stats.late_p50.0,
        late_p99_ns: stats.late_p99.0,
        late_most_ns: stats.late_most.0,
        cpu_time_ns: stats.cpu_time.0,
        class: match stats.class {
            Class::Unknown => v1::stats::Class::Unknown,
            Class::Normal => v1::stats::Class::Normal,
            Class::Refused => v1::stats::Class::Refused,
            Class::Fifo => v1::stats::Class::Fifo,
        }
        .into(),
    }
}

/// The figures that were sent.
pub fn stats_from(sent: &v1::Stats) -> Stats {
    Stats {
        wakes: sent.wakes,
        missed: sent.missed,
        overruns: sent.overruns,
        incidents_left_out: sent.incidents_left_out,
        late_p50: Nanos(sent.late_p50_ns),
        late_p99: Nanos(sent.late_p99_ns),
        late_most: Nanos(sent.late_most_ns),
        cpu_time: Nanos(sent.cpu_time_ns),
        class: match sent.class() {
            v1::stats::Class::Unknown => Class::Unknown,
            v1::stats::Class::Normal => Class::Normal,
            v1::stats::Class::Refused => Class::Refused,
            v1::stats::Class::Fifo => Class::Fifo,
        },
    }
}

/// The end of a session that had `before` samples, as it is sent.
pub fn ending(ending: &Ending, reason: v1::ended::Reason, before: u64) -> v1::Ended {
    v1::Ended {
        reason: reason.into(),
        sensors: ending.sensors.iter().map(sensor).collect(),
        remarks: ending.remarks.clone(),
        stats: Some(stats(&ending.stats)),
        tree_time_ns: ending.tree_time.0,
        own_time_ns: ending.own_time.0,
        before,
        share_source: ending.share_source.clone(),
    }
}

/// The end that was sent.
pub fn ending_from(sent: v1::Ended) -> Result<Ending, WireError> {
    Ok(Ending {
        stats: sent.stats.as_ref().map(stats_from).unwrap_or_default(),
        sensors: sent.sensors.into_iter().map(sensor_from).collect::<Result<_, _>>()?,
        remarks: sent.remarks,
        tree_time: Nanos(sent.tree_time_ns),
        own_time: Nanos(sent.own_time_ns),
        share_source: sent.share_source,
    })
}
