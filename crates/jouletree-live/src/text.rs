//! Metrics as text that a Prometheus server reads: OpenMetrics, or the format before it for those who ask for no other.

use std::fmt::{self, Write};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{self, Registry};

use crate::family::{Family, Kind, Unit};

/// The format of a page of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposition {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus' own text format, version 0.0.4.
    Plain,
}

impl Exposition {
    /// The format for a client that accepts these types.
    pub fn accepted(header: Option<&str>) -> Exposition {
        match header.is_some_and(|header| header.contains("application/openmetrics-text")) {
            true => Exposition::OpenMetrics,
            false => Exposition::Plain,
        }
    }

    /// Its type, as HTTP names it.
    pub fn content_type(self) -> &'static str {
        match self {
            Exposition::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Exposition::Plain => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// Metrics as text.
pub fn exposition(families: Vec<Family>, format: Exposition) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Page(families)));
    let mut page = String::new();
    text::encode(&mut page, &registry)?;
    match format {
        Exposition::OpenMetrics => Ok(page),
        Exposition::Plain => plain(&page),
    }
}

#[derive(Debug)]
struct Page(Vec<Family>);

impl Collector for Page {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for Family { prefix, name, help, unit, kind, points } in &self.0 {
            let (name, unit) = (format!("{prefix}_{name}"), unit.map(unit_of));
            let sort = match kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
                Kind::Info => MetricType::Info,
            };
            let mut family = encoder.encode_descriptor(&name, help, unit.as_ref(), sort)?;
            for point in points {
                // The encoder writes values as they are.
                let labels: Vec<(&str, String)> =
                    point.labels.iter().map(|(name, value)| (*name, escaped(value))).collect();
                match kind {
                    Kind::Info => family.encode_info(&labels)?,
                    _ if labels.is_empty() => write(&mut family, *kind, point.value)?,
                    _ => write(&mut family.encode_family(&labels)?, *kind, point.value)?,
                }
            }
        }
        Ok(())
    }
}

fn write(sample: &mut MetricEncoder<'_>, kind: Kind, value: f64) -> fmt::Result {
    match kind {
        Kind::Counter => sample.encode_counter::<NoLabelSet, f64, f64>(&value, None),
        Kind::Gauge | Kind::Info => sample.encode_gauge(&value),
    }
}

fn unit_of(unit: Unit) -> registry::Unit {
    match unit {
        Unit::Joules => registry::Unit::Joules,
        Unit::Seconds => registry::Unit::Seconds,
        Unit::Grams => registry::Unit::Grams,
        Unit::Watts | Unit::GramsPerJoule => registry::Unit::Other(unit.word().to_owned()),
    }
}

/// A label's value between quotes.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// The same page in the older format: it names a family as its samples, and knows neither units nor infos nor an end.
fn plain(page: &str) -> Result<String, fmt::Error> {
    let mut plain = String::with_capacity(page.len());
    // The help comes before the sort, on which the name depends.
    let mut help = None;
    for line in page.lines() {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("HELP"), Some(_), text) => help = text,
            (Some("#"), Some("TYPE"), Some(name), Some(sort)) => {
                let (suffix, sort) = match sort {
                    "counter" => ("_total", sort),
                    "info" => ("_info", "gauge"),
                    _ => ("", sort),
                };
                let help = help.take().unwrap_or_default();
                writeln!(plain, "# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {sort}")?;
            }
            (Some("#"), ..) => {}
            _ => writeln!(plain, "{line}")?,
        }
    }
    Ok(plain)
}
