//! Scripted batches and passes go in; what comes out adds up.

use jouletree_meter::share::Listed;
use jouletree_model::Device;
use jouletree_model::Microjoules;
use jouletree_model::Watts;
use jouletree_model::sampling::{Bounds, Flags, Quality, Sample, Stats, What};

use super::*;
use crate::top::view::{DeviceRow, TreeRow, View};

const SECOND: i64 = 1_000_000_000;
const TENTH: i64 = SECOND / 10;

fn info(device: &str, domain: Option<&str>, kind: Kind) -> SensorInfo {
    SensorInfo {
        device: device.parse::<Device>().unwrap(),
        domain: domain.map(str::to_owned),
        source: "a script".into(),
        kind,
        range: None,
        step: Microjoules(1.0),
        period: Nanos(1_000_000),
        most: Watts(1000.0),
        is_slow: false,
        quality: Quality::default(),
    }
}

fn subject(pid: Option<u32>) -> Subject {
    Subject { pid, words: "a script".into() }
}

fn share(tenth: i64, socket: u32, ours: f64, others: f64) -> ShareSample {
    let (from, at) = (Mono(tenth * TENTH), Mono((tenth + 1) * TENTH));
    ShareSample { from, at, socket, ours, others, idle: 1.0 - ours - others, own: others / 10.0 }
}

fn listed(pid: u32, parent: u32, ran: Nanos, socket: u32) -> Listed {
    Listed { pid, parent, began: 1, command: format!("command {pid}"), ran, threads: 1, socket }
}

/// A tenth of a second of constant powers: five samples for each sensor, and the shares of the tenth before.
fn batch(tenth: i64, watts: &[f64], shares: Vec<ShareSample>) -> Batch {
    let mut samples = Vec::new();
    for (sensor, watts) in (0_u16..).zip(watts) {
        for step in 0..5 {
            let at = tenth * TENTH + step * TENTH / 5;
            let count = (watts * at as f64 / 1000.0) as u64;
            samples.push(Sample { sensor, flags: Flags::default(), at: Mono(at), count });
        }
    }
    Batch { samples, shares, ..Batch::default() }
}

fn passed(second: i64, processes: Vec<Listed>, shares: Vec<ShareSample>) -> ProcScan {
    ProcScan { from: Mono((second - 1) * SECOND), at: Mono(second * SECOND), processes, shares }
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-6 * other.abs().max(1.0)
}

/// All that was counted on a socket is charged, and all that is ours is on the ledger.
fn assert_books_balance(view: &View) {
    let counted: f64 = view
        .devices
        .iter()
        .filter(|row| row.device.class() == DeviceClass::Cpu && row.domain.is_none())
        .map(|row| row.energy.0)
        .sum();
    let cut: f64 = view.sockets.iter().map(|row| row.sum.total().0 + row.waiting.0).sum();
    assert!(near(cut, counted), "{cut} {counted}");
    let ours: f64 = view.sockets.iter().map(|row| row.sum.ours.0).sum();
    let charged = view.processes.iter().map(|entry| entry.energy.0).sum::<f64>() + view.ended.0 + view.unlisted.0;
    assert!(charged <= ours + 1e-6, "{charged} {ours}");
}

#[test]
fn a_tree_on_two_sockets_is_charged_and_nothing_is_lost() {
    let sensors = [
        info("cpu:0", None, Kind::Measured),
        info("cpu:1", None, Kind::Measured),
        info("cpu:0", Some("core"), Kind::Measured),
        info("gpu:0", None, Kind::Derived),
        info("machine:0", None, Kind::Measured),
    ];
    let mut state = State::new(&sensors, subject(Some(10)), Nanos(SECOND));
    for tenth in 0..100 {
        let shares = if tenth > 0 {
            vec![share(tenth - 1, 0, 0.5, 0.1), share(tenth - 1, 1, 0.25, 0.5)]
        } else {
            Vec::new()
        };
        state.take(&batch(tenth, &[40.0, 20.0, 30.0, 100.0, 300.0], shares));
        if tenth % 10 == 9 {
            let second = (tenth + 1) / 10;
            let ran = |ms: i64| Nanos(ms * 1_000_000);
            // The third process ends after five seconds.
            let mut processes = vec![
                listed(10, 1, ran(300), 0),
                listed(11, 10, ran(100), 0),
                listed(12, 10, ran(50), 1),
                listed(99, 1, ran(900), 1),
            ];
            processes.retain(|process| process.pid != 12 || second < 5);
            state.pass(&passed(second, processes, Vec::new()));
        }
        assert_books_balance(&state.view(Stats::default()));
    }
    let view = state.view(Stats::default());
    let names: Vec<String> = view.devices.iter().map(DeviceRow::name).collect();
    assert_eq!(names, ["cpu:0", "  core", "cpu:1", "gpu:0", "machine:0"]);
    assert!(near(view.power.unwrap().0, 160.0), "parts and the machine are not added: {:?}", view.power);
    assert_eq!(view.kind, Some(Kind::Derived));
    let powers = view.sockets[0].powers.unwrap();
    assert!(near(powers.ours.0, 20.0) && near(powers.others.0, 4.0) && near(powers.idle.0, 16.0), "{powers:?}");
    assert!(near(view.own_power.unwrap().0, 0.4 + 1.0), "{:?}", view.own_power);
    let pids: Vec<u32> = view.processes.iter().map(|entry| entry.pid).collect();
    assert_eq!(pids, [10, 11], "a stranger is not charged");
    assert!(near(view.processes[0].energy.0, 3.0 * view.processes[1].energy.0));
    assert!(view.ended.0 > 10.0 && view.unlisted.0 > 10.0, "{view:?}");

    state.finish();
    let view = state.view(Stats::default());
    assert_books_balance(&view);
    let ours: f64 = view.sockets.iter().map(|row| row.sum.ours.0).sum();
    let charged = view.processes.iter().map(|entry| entry.energy.0).sum::<f64>() + view.ended.0 + view.unlisted.0;
    assert!(near(charged, ours), "{charged} {ours}");
    assert!(view.sockets.iter().all(|row| row.waiting == Joules::ZERO));
}

#[test]
fn a_machine_is_cut_by_the_passes_over_its_processes() {
    // An estimate covers all sockets.
    let mut estimate = info("cpu:0", None, Kind::Estimated);
    estimate.quality.bounds = Some(Bounds { low: 0.5, high: 1.5 });
    let mut state = State::new(&[estimate], subject(None), Nanos(SECOND));
    for tenth in 0..31 {
        state.take(&batch(tenth, &[100.0], Vec::new()));
        if tenth % 10 == 9 {
            let second = (tenth + 1) / 10;
            let window = |socket: u32, ours: f64| ShareSample {
                from: Mono((second - 1) * SECOND),
                at: Mono(second * SECOND),
                ..share(0, socket, ours, 0.1)
            };
            let processes = vec![listed(10, 1, Nanos(SECOND / 2), 0), listed(11, 1, Nanos(SECOND / 4), 1)];
            state.pass(&passed(second, processes, vec![window(0, 0.5), window(1, 0.3)]));
            assert_books_balance(&state.view(Stats::default()));
        }
    }
    let view = state.view(Stats::default());
    let powers = view.sockets[0].powers.unwrap();
    assert!(near(powers.ours.0, 40.0) && near(powers.others.0, 10.0) && near(powers.idle.0, 50.0), "{powers:?}");
    assert!(near(view.processes[0].energy.0, 2.0 * view.processes[1].energy.0));
    let (low, high) = view.devices[0].interval.unwrap();
    // The 90 % interval of the sensor is shown as one of 95 %.
    let wider = 1.96 / 1.645;
    assert!(near(low.0, 100.0 * 0.5_f64.powf(wider)) && near(high.0, 100.0 * 1.5_f64.powf(wider)));
    assert!(view.is_all_estimated() && view.tree.is_none());
}

#[test]
fn incidents_are_told_with_their_device_and_only_the_last_are_kept() {
    let mut state = State::new(&[info("cpu:0", Some("core"), Kind::Measured)], subject(None), Nanos(SECOND));
    state.take(&batch(0, &[1.0], Vec::new()));
    let lost = |at: i64, sensor| Incident { at: Mono(at), sensor, what: What::Lost("it is gone".into()) };
    let incidents = (0..150).map(|at| lost(at * SECOND, (at == 149).then_some(0))).collect();
    state.take(&Batch { incidents, lost: 3, ..Batch::default() });
    let view = state.view(Stats::default());
    assert_eq!((view.incidents.len(), view.lost), (INCIDENTS, 3));
    let last = view.incidents.last().unwrap();
    assert_eq!(
        (last.number, last.elapsed, last.about().as_deref()),
        (149, Nanos(149 * SECOND), Some("cpu:0 core"))
    );
    assert_eq!(last.what, "it cannot be read: it is gone");
}

#[test]
fn without_any_sample_there_is_nothing_to_show_and_nothing_breaks() {
    let state = State::new(&[info("cpu:0", None, Kind::Measured)], subject(Some(1)), Nanos(SECOND));
    let view = state.view(Stats::default());
    assert_eq!((view.power, view.own_power, view.wall, view.elapsed), (None, None, None, Nanos(0)));
    assert_eq!(view.tree, Some(TreeRow::default()));
    let nothing = State::new(&[], subject(None), Nanos(SECOND)).view(Stats::default());
    assert_eq!((nothing.power, nothing.kind), (None, None));
}
