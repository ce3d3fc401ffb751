//! Views of our own making, for tests of what draws or writes them.

use jouletree_model::sampling::Stats;
use jouletree_model::{Joules, Kind, Nanos, Watts};
use jouletree_series::share::Split;

use super::super::cpu_socket::Powers;
use super::super::history::SECONDS;
use super::super::ledger::Entry;
use super::super::view::{DeviceRow, IncidentRow, SocketRow, TreeRow, View};

pub fn device(name: &str, domain: Option<&str>, kind: Kind, watts: f64) -> DeviceRow {
    let is_estimated = kind == Kind::Estimated;
    let power = |second: usize| (second > 20).then(|| Watts(watts * (1 + second % 10) as f64 / 10.0));
    DeviceRow {
        device: name.parse().unwrap(),
        domain: domain.map(str::to_owned),
        kind,
        source: "a script".into(),
        power: Some(Watts(watts)),
        interval: is_estimated.then_some((Watts(watts * 0.5), Watts(watts * 1.5))),
        minute: (0..SECONDS).map(power).collect(),
        energy: Joules(watts * 39.0),
        known: Nanos(39_000_000_000),
    }
}

fn socket(socket: u32, ours: f64, others: f64, idle: f64) -> SocketRow {
    let powers = Powers {
        ours: Watts(ours),
        others: Watts(others),
        own: Watts(0.012),
        idle: Watts(idle),
        unknown: Watts(0.0),
    };
    let energy = |watts: f64| Joules(watts * 38.9);
    let sum = Split {
        ours: energy(ours),
        others: energy(others),
        own: energy(0.012),
        idle: energy(idle),
        unknown: Joules(0.0),
    };
    SocketRow { socket, powers: Some(powers), sum, waiting: Joules((ours + others + idle) * 0.1) }
}

/// A training on two sockets and a GPU, all measured.
pub fn busy_view() -> View {
    let entry = |at: u32| Entry {
        pid: 4242 + at,
        command: format!("python train.py --worker {at} --batch-size 32 --data /datasets/imagenet"),
        threads: 8,
        cpus: 2.5 / f64::from(at + 1),
        power: Watts(40.0 / f64::from(at + 1)),
        energy: Joules(1500.0 / f64::from(at + 1)),
    };
    View {
        subject: "pid 4242 python train.py".into(),
        wall: Some(Nanos(1_794_771_926_000_000_000)),
        elapsed: Nanos(39_000_000_000),
        kind: Some(Kind::Derived),
        devices: vec![
            device("cpu:0", None, Kind::Measured, 61.25),
            device("cpu:0", Some("core"), Kind::Measured, 40.0),
            device("cpu:1", None, Kind::Measured, 55.5),
            device("gpu:0", None, Kind::Derived, 312.0),
            device("dram:0", None, Kind::Measured, 6.5),
        ],
        power: Some(Watts(435.25)),
        energy: Joules(16_974.75),
        sockets: vec![socket(0, 40.0, 10.0, 11.25), socket(1, 5.5, 20.0, 30.0)],
        tree: Some(TreeRow { cpus: 4.25, memory: 3 << 30, processes: 12, threads: 96, is_over: false }),
        processes: (0..12).map(entry).collect(),
        ended: Joules(12.0),
        unlisted: Joules(1.0),
        incidents: vec![IncidentRow {
            number: 0,
            elapsed: Nanos(12_000_000_000),
            wall: Some(Nanos(1_794_771_899_000_000_000)),
            device: Some("cpu:0".parse().unwrap()),
            domain: Some("core".into()),
            kind: "lost",
            what: "it cannot be read: it is gone".into(),
        }],
        own_power: Some(Watts(0.024)),
        own_energy: Joules(0.93),
        sampler: Stats { late_p99: Nanos(84_000), wakes: 1950, ..Stats::default() },
        lost: 0,
    }
}

/// A machine without a meter.
pub fn estimated_view() -> View {
    let mut view = busy_view();
    view.subject = "this machine".into();
    view.kind = Some(Kind::Estimated);
    view.devices = vec![device("cpu:0", None, Kind::Estimated, 12.5)];
    (view.power, view.energy) = (Some(Watts(12.5)), Joules(12.5 * 39.0));
    view.sockets = vec![socket(0, 4.0, 2.0, 6.5)];
    for entry in &mut view.processes {
        (entry.power, entry.energy) = (Watts(entry.power.0 / 32.0), Joules(entry.energy.0 / 32.0));
    }
    (view.tree, view.incidents) = (None, Vec::new());
    view
}
