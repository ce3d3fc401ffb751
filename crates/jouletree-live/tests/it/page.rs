//! A page with everything in it, by the judgement of others: Prometheus' own checker, and the dashboard that is built on it.

use test_support::prometheus;

use std::collections::BTreeSet;
use std::time::Duration;

use jouletree_live::{Aliases, Board, CarbonIntensity, Endpoint, Snapshot};
use jouletree_model::{Device, DeviceClass, GramsPerKwh, Joules, Kind, Nanos, Watts};
use jouletree_series::ongoing::DeviceTotal;
use jouletree_series::share::Split;

/// A machine of which everything is known.
fn everything() -> Snapshot {
    let device = |class| DeviceTotal {
        device: Device::new(class, 0),
        kind: Kind::Measured,
        source: "a \"meter\" with a \\ in its name".into(),
        energy: Joules(100.0),
        parts: Split {
            ours: Joules(40.0),
            others: Joules(30.0),
            own: Joules(1.0),
            idle: Joules(20.0),
            unknown: Joules(10.0),
        },
        known: Nanos(2_000_000_000),
        unknown: Nanos(1),
        power: Some(Watts(50.0)),
    };
    let classes = [DeviceClass::Cpu, DeviceClass::Dram, DeviceClass::Gpu, DeviceClass::Machine];
    Snapshot {
        began: Nanos(1_700_000_000_000_000_000),
        at: Nanos(1_700_000_002_000_000_000),
        duration: Duration::from_secs(2),
        devices: classes.map(device).into(),
        has_parts: true,
        lost_samples: 0,
        own_time: Nanos(1_000_000),
        intensity: Some(CarbonIntensity { value: GramsPerKwh(331.0), source: "given by the user".to_owned() }),
    }
}

fn scraped() -> String {
    let board = Board::default();
    board.pin(everything());
    let endpoint = Endpoint::open(":0".parse().unwrap(), board, Some(Aliases::CodeCarbon), &[]).unwrap();
    prometheus::get(endpoint.address(), "/metrics", "*/*").unwrap()
}

#[test]
fn promtool_has_nothing_to_complain_about() {
    let Some(programs) = prometheus::programs() else { return };
    assert_eq!(prometheus::complaints(&programs, &scraped()), "");
    // It does complain.
    let wrong = "# HELP jouletree_energy x\n# TYPE jouletree_energy counter\njouletree_energy 1\n";
    assert!(prometheus::complaints(&programs, wrong).contains("_total"));
}

#[test]
fn the_dashboard_asks_for_nothing_that_there_is_not() {
    let samples = prometheus::samples(&scraped());
    let names: BTreeSet<&str> = samples.iter().map(|sample| sample.name.as_str()).collect();
    let queries = prometheus::dashboard_queries();
    assert!(queries.len() >= 8, "{queries:?}");
    let mut asked = BTreeSet::new();
    for query in &queries {
        let words = query.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_' && letter != ':');
        let metrics: Vec<&str> = words.filter(|word| word.starts_with("jouletree_")).collect();
        assert!(!metrics.is_empty(), "{query} asks for nothing of jouletree's");
        asked.extend(metrics);
    }
    let missing: Vec<_> = asked.iter().filter(|name| !names.contains(**name)).collect();
    assert!(missing.is_empty(), "the dashboard asks for {missing:?}, and there are {names:?}");
    for wanted in ["jouletree_power_watts", "jouletree_share_joules_total", "jouletree_carbon_grams_total"] {
        assert!(asked.contains(wanted), "{wanted} is not shown");
    }
}

#[test]
fn the_dashboard_can_be_imported() {
    let file = prometheus::workspace().join("packaging/grafana/jouletree.json");
    let dashboard: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(dashboard["__inputs"][0]["type"], "datasource");
    assert!(dashboard["schemaVersion"].as_u64().unwrap() >= 36);
    let mut ids = BTreeSet::new();
    let mut places = Vec::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "two panels have one number");
        for place in [&panel["datasource"], &panel["targets"][0]["datasource"]] {
            assert_eq!(place["uid"], "${datasource}", "{}", panel["title"]);
        }
        let side = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        let (x, y, w, h) = (side("x"), side("y"), side("w"), side("h"));
        assert!(x + w <= 24);
        let overlaps = |(a, b, c, d): &(u64, u64, u64, u64)| x < a + c && *a < x + w && y < b + d && *b < y + h;
        assert!(!places.iter().any(overlaps), "{} covers another", panel["title"]);
        places.push((x, y, w, h));
    }
}
