//! Metrics as OpenTelemetry's messages.

use super::wire::{
    AggregationTemporality, AnyValue, ExportMetricsServiceRequest, Gauge, InstrumentationScope, KeyValue, Metric,
    NumberDataPoint, Resource, ResourceMetrics, ScopeMetrics, Sum,
};
use crate::family::{Family, Kind, PREFIX, families};
use crate::snapshot::Snapshot;
use jouletree_host::Now;

/// Who sends metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    /// The machine's name.
    pub host: String,
    /// What distinguishes two of them on one machine.
    pub instance: String,
}

impl Sender {
    /// This process.
    pub fn this() -> Sender {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let began = jouletree_model::sampling::Anchor::now().wall.0;
        Sender { host, instance: format!("{}-{began}", std::process::id()) }
    }
}

/// A snapshot as it is posted.
pub fn request(snapshot: &Snapshot, sender: &Sender) -> ExportMetricsServiceRequest {
    let version = env!("CARGO_PKG_VERSION");
    let attributes = vec![
        attribute("service.name", PREFIX),
        attribute("service.version", version),
        attribute("service.instance.id", &sender.instance),
        attribute("host.name", &sender.host),
    ];
    // What an info says is among the attributes of the resource.
    let shown = families(snapshot, None).into_iter().filter(|family| family.kind != Kind::Info);
    let scope = InstrumentationScope { name: PREFIX.to_owned(), version: version.to_owned() };
    let metrics =
        ScopeMetrics { scope: Some(scope), metrics: shown.map(|family| metric(&family, snapshot)).collect() };
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(Resource { attributes }),
            scope_metrics: vec![metrics],
        }],
    }
}

fn metric(family: &Family, snapshot: &Snapshot) -> Metric {
    let point = |point: &crate::family::Point| NumberDataPoint {
        attributes: point.labels.iter().map(|(name, value)| attribute(name, value)).collect(),
        start_time_unix_nano: snapshot.began.0.unsigned_abs(),
        // A clock that was set back must not make an interval that ends before it begins.
        time_unix_nano: snapshot.at.max(snapshot.began).0.unsigned_abs(),
        as_double: Some(point.value),
    };
    let data_points = family.points.iter().map(point).collect();
    let (gauge, sum) = match family.kind {
        Kind::Counter => {
            let aggregation_temporality = AggregationTemporality::Cumulative.into();
            (None, Some(Sum { data_points, aggregation_temporality, is_monotonic: true }))
        }
        Kind::Gauge | Kind::Info => (Some(Gauge { data_points }), None),
    };
    Metric {
        name: format!("{}.{}", family.prefix, family.name),
        description: family.help.to_owned(),
        unit: family.unit.map_or("1", |unit| unit.symbol()).to_owned(),
        gauge,
        sum,
    }
}

fn attribute(key: &str, value: &str) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { string_value: Some(value.to_owned()) }) }
}
