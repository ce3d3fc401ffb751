//! Metrics as OpenTelemetry's messages.

use jouletree_host::Now;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum,
};
use opentelemetry_proto::tonic::resource::v1::Resource;

use crate::family::{Family, Kind, PREFIX, families};
use crate::snapshot::Snapshot;

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
    let scope =
        InstrumentationScope { name: PREFIX.to_owned(), version: version.to_owned(), ..Default::default() };
    let metrics = ScopeMetrics {
        scope: Some(scope),
        metrics: shown.map(|family| metric(&family, snapshot)).collect(),
        ..Default::default()
    };
    let resource = Resource { attributes, ..Default::default() };
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(resource),
            scope_metrics: vec![metrics],
            ..Default::default()
        }],
    }
}

fn metric(family: &Family, snapshot: &Snapshot) -> Metric {
    let point = |point: &crate::family::Point| NumberDataPoint {
        attributes: point.labels.iter().map(|(name, value)| attribute(name, value)).collect(),
        start_time_unix_nano: snapshot.began.0.unsigned_abs(),
        // A clock that was set back must not make an interval that ends before it begins.
        time_unix_nano: snapshot.at.max(snapshot.began).0.unsigned_abs(),
        value: Some(Value::AsDouble(point.value)),
        ..Default::default()
    };
    let data_points = family.points.iter().map(point).collect();
    let data = match family.kind {
        Kind::Counter => Data::Sum(Sum {
            data_points,
            aggregation_temporality: AggregationTemporality::Cumulative.into(),
            is_monotonic: true,
        }),
        Kind::Gauge | Kind::Info => Data::Gauge(Gauge { data_points }),
    };
    Metric {
        name: format!("{}.{}", family.prefix, family.name),
        description: family.help.to_owned(),
        unit: family.unit.map_or("1", |unit| unit.symbol()).to_owned(),
        data: Some(data),
        ..Default::default()
    }
}

fn attribute(key: &str, value: &str) -> KeyValue {
    let value = AnyValue { value: Some(any_value::Value::StringValue(value.to_owned())) };
    KeyValue { key: key.to_owned(), value: Some(value), ..Default::default() }
}
