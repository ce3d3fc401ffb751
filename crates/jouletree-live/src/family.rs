//! The metrics that there are: names, units, labels and values, before any format.

use jouletree_series::ongoing::DeviceTotal;

use crate::snapshot::Snapshot;
use crate::{Aliases, codecarbon};

/// What every name begins with.
pub const PREFIX: &str = "jouletree";

/// A metric with its values.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// What its name begins with: jouletree, or another tool's.
    pub prefix: &'static str,
    /// The rest of its name, without unit.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub help: &'static str,
    /// What it counts.
    pub unit: Option<Unit>,
    /// How its values behave.
    pub kind: Kind,
    /// Its values.
    pub points: Vec<Point>,
}

/// How values behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// They only grow, from zero on.
    Counter,
    /// They go up and down.
    Gauge,
    /// They are words: labels of a value that is always one.
    Info,
}

/// What a metric counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Energy.
    Joules,
    /// Power.
    Watts,
    /// Time.
    Seconds,
    /// Carbon dioxide equivalent.
    Grams,
    /// Carbon dioxide equivalent by energy.
    GramsPerJoule,
}

impl Unit {
    /// As names of Prometheus end.
    pub fn word(self) -> &'static str {
        match self {
            Unit::Joules => "joules",
            Unit::Watts => "watts",
            Unit::Seconds => "seconds",
            Unit::Grams => "grams",
            Unit::GramsPerJoule => "grams_per_joule",
        }
    }

    /// As OpenTelemetry writes it (UCUM).
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Joules => "J",
            Unit::Watts => "W",
            Unit::Seconds => "s",
            Unit::Grams => "g",
            Unit::GramsPerJoule => "g/J",
        }
    }
}

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Of what: names and values, in a fixed order.
    pub labels: Vec<(&'static str, String)>,
    /// The value, in the unit of its family.
    pub value: f64,
}

/// All metrics of a snapshot. A metric of which nothing is known is not among them.
pub fn families(snapshot: &Snapshot, aliases: Option<Aliases>) -> Vec<Family> {
    let mut families = vec![energy(snapshot)];
    if snapshot.has_parts {
        families.extend([share(snapshot), monitor(snapshot)]);
    }
    families.extend([power(snapshot), known(snapshot), gap(snapshot)]);
    families.extend(carbon(snapshot));
    families.extend(about(snapshot));
    if let Some(Aliases::CodeCarbon) = aliases {
        families.extend(codecarbon::families(snapshot));
    }
    families.retain(|family| !family.points.is_empty());
    families
}

/// The first clause of what a meter says of itself: a label is no place for a sentence.
fn brief(source: &str) -> &str {
    source.split(", ").next().unwrap_or(source)
}

fn energy(snapshot: &Snapshot) -> Family {
    let point = |total: &DeviceTotal| {
        let mut labels = of_class(total);
        labels.push(("kind", total.kind.to_string()));
        labels.push(("source", brief(&total.source).to_owned()));
        Point { labels, value: total.energy.0 }
    };
    counter(
        "energy",
        "The energy of a device since counting began; that of class machine holds the others",
        Unit::Joules,
        snapshot.devices.iter().map(point),
    )
}

fn share(snapshot: &Snapshot) -> Family {
    let points = snapshot.devices.iter().flat_map(|total| {
        let parts = total.parts;
        let parts =
            [("ours", parts.ours), ("others", parts.others), ("idle", parts.idle), ("unknown", parts.unknown)];
        parts.map(|(part, energy)| {
            let mut labels = of_class(total);
            labels.push(("part", part.to_owned()));
            Point { labels, value: energy.0 }
        })
    });
    counter("share", "Who used the energy of a device; the parts make all of it", Unit::Joules, points)
}

fn monitor(snapshot: &Snapshot) -> Family {
    let point = |total: &DeviceTotal| Point { labels: of(total), value: total.parts.own.0 };
    // The users of the energy of a whole machine are unknown.
    let points = snapshot.inner_devices().map(point);
    counter("monitor", "What jouletree itself used, a part of the share of others", Unit::Joules, points)
}

fn power(snapshot: &Snapshot) -> Family {
    let point = |total: &DeviceTotal| total.power.map(|power| Point { labels: of_class(total), value: power.0 });
    gauge(
        "power",
        "The mean power of a device over the last second that is known",
        Unit::Watts,
        snapshot.devices.iter().filter_map(point),
    )
}

fn known(snapshot: &Snapshot) -> Family {
    let point = |total: &DeviceTotal| Point { labels: of(total), value: total.known.seconds() };
    let help = "How long the energy of a device was known";
    counter("known", help, Unit::Seconds, snapshot.devices.iter().map(point))
}

fn gap(snapshot: &Snapshot) -> Family {
    let point = |total: &DeviceTotal| Point { labels: of(total), value: total.unknown.seconds() };
    let help = "How long the energy of a device was not known, and is not in its counter";
    counter("gap", help, Unit::Seconds, snapshot.devices.iter().map(point))
}

fn carbon(snapshot: &Snapshot) -> Vec<Family> {
    let Some(intensity) = &snapshot.intensity else { return Vec::new() };
    let point =
        |total: &DeviceTotal| Point { labels: of_class(total), value: intensity.value.grams(total.energy).0 };
    let carbon = counter(
        "carbon",
        "The carbon dioxide equivalent of the energy of a device",
        Unit::Grams,
        snapshot.devices.iter().map(point),
    );
    let labels = vec![("source", intensity.source.clone())];
    let intensity = gauge(
        "carbon_intensity",
        "The carbon dioxide equivalent of electricity, as it was given",
        Unit::GramsPerJoule,
        [Point { labels, value: intensity.value.per_joule() }],
    );
    vec![carbon, intensity]
}

/// What is to be said of jouletree itself.
fn about(snapshot: &Snapshot) -> [Family; 4] {
    let alone = |value: f64| [Point { labels: Vec::new(), value }];
    let version = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
    [
        Family {
            prefix: PREFIX,
            name: "lost_samples",
            help: "Readings of meters that were lost",
            unit: None,
            kind: Kind::Counter,
            points: alone(snapshot.lost_samples as f64).into(),
        },
        counter(
            "monitor_cpu",
            "The processor time of the jouletree process that answers here",
            Unit::Seconds,
            alone(snapshot.own_time.seconds()),
        ),
        gauge(
            "start_time",
            "When counting began, in seconds since 1970",
            Unit::Seconds,
            alone(snapshot.began.seconds()),
        ),
        Family {
            prefix: PREFIX,
            name: "build",
            help: "The jouletree that answers here",
            unit: None,
            kind: Kind::Info,
            points: vec![Point { labels: version, value: 1.0 }],
        },
    ]
}

fn of(total: &DeviceTotal) -> Vec<(&'static str, String)> {
    vec![("device", total.device.to_string())]
}

fn of_class(total: &DeviceTotal) -> Vec<(&'static str, String)> {
    vec![("device", total.device.to_string()), ("class", total.device.class().to_string())]
}

fn counter(name: &'static str, help: &'static str, unit: Unit, points: impl IntoIterator<Item = Point>) -> Family {
    let points = points.into_iter().collect();
    Family { prefix: PREFIX, name, help, unit: Some(unit), kind: Kind::Counter, points }
}

fn gauge(name: &'static str, help: &'static str, unit: Unit, points: impl IntoIterator<Item = Point>) -> Family {
    Family { kind: Kind::Gauge, ..counter(name, help, unit, points) }
}
