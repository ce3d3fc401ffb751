//! Shares of real processes: this program runs itself as the one that is watched, which reports what it used.

use crate::worker;

use std::time::Duration;

use jouletree_host::{Now, Roots};
use jouletree_meter::resources::ResourceLog;
use jouletree_meter::share::{ShareMeter, Source, Tree, TreeTime};
use jouletree_model::sampling::Mono;
use punctual::punctually;
use worker::Worker;

/// Not a test of its own: what the others run as a process of its own.
#[test]
fn work() {
    worker::run();
}

const MILLISECOND: f64 = 1e-3;

fn start(worker: &Worker, source: Source) -> TreeTime {
    let roots = Roots::default();
    let time = TreeTime::start_with(&roots, Tree::watch(&roots, worker.pid()).unwrap(), &[source]);
    if time.source() != source {
        eprintln!("SKIP {source}, {} instead: {:?}", time.source(), time.refused());
    }
    time
}

/// What the host of a virtual machine has taken from it so far, in seconds. The kernel's clock of a task goes on meanwhile,
/// the task's own account does not.
fn stolen() -> f64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks = text.lines().next().and_then(|line| line.split_whitespace().nth(8)?.parse::<f64>().ok());
    ticks.unwrap_or_default() * 0.01
}

/// What the worker says it used, and what was measured meanwhile, in seconds.
fn measured(mut worker: Worker, source: Source) -> (f64, f64, TreeTime) {
    let mut time = start(&worker, source);
    worker.go();
    let truth = loop {
        std::thread::sleep(Duration::from_millis(20));
        time.look();
        time.read();
        if let Some(truth) = worker.said() {
            break truth;
        }
    };
    time.look();
    let found = time.read().seconds();
    println!("{source}: {found:.4} s of {truth:.4} s");
    (truth, found, time)
}

#[test]
fn a_busy_process_is_measured_by_every_source() {
    for source in Source::ALL {
        let before = stolen();
        let (truth, found, time) = measured(Worker::start("burn 500"), source);
        let bound = 0.05 * truth
            + (stolen() - before)
            + if time.source() == Source::Stat { 20.0 * MILLISECOND } else { 0.0 };
        assert!((found - truth).abs() < bound, "{source}: {found} of {truth}");
        assert!(time.remarks().is_empty(), "{:?}", time.remarks());
    }
}

#[test]
fn children_that_are_born_and_die_are_counted() {
    for source in Source::ALL {
        let before = stolen();
        let (truth, found, time) = measured(Worker::start("children 100"), source);
        assert!(time.tree().seen() > 1, "no child was seen");
        // Ticks are cut off twice in the worker's own account and twice in ours.
        let bound = 0.05 * truth + (stolen() - before) + 40.0 * MILLISECOND;
        assert!((found - truth).abs() < bound, "{source}: {found} of {truth}");
    }
}

#[test]
fn a_thousand_threads_a_second_do_no_harm() {
    // Threads that end before anybody looks are lost to a watcher that is kept waiting.
    punctually(|| Source::ALL.into_iter().for_each(churn_is_measured_by));
}

fn churn_is_measured_by(source: Source) {
    let before = stolen();
    let (truth, found, _) = measured(Worker::start("churn 1000"), source);
    let bound = 0.05 * truth + (stolen() - before) + 40.0 * MILLISECOND;
    assert!((found - truth).abs() < bound, "{source}: {found} of {truth}");
}

#[test]
fn the_end_of_a_process_is_noticed() {
    for source in Source::ALL {
        let mut worker = Worker::start("burn 50");
        let mut time = start(&worker, source);
        worker.go();
        while worker.said().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        time.look();
        assert!(!time.tree().is_over());
        worker.kill();
        time.look();
        assert!(time.tree().is_over(), "a zombie is no longer running");
        drop(worker);
        let before = time.read();
        time.look();
        assert!(time.tree().is_over() && time.tree().processes().len() == 0);
        assert_eq!(time.read(), before);
    }
}

#[test]
fn shares_of_a_busy_process_add_up() {
    let mut worker = Worker::start("burn 600");
    let roots = Roots::default();
    let mut meter = ShareMeter::start(&roots, worker.pid()).unwrap();
    let mut log = ResourceLog::start(&roots, ResourceLog::PERIOD).unwrap();
    worker.go();
    let (mut windows, mut ours, mut resources) = (0, 0.0, Vec::new());
    let until = Mono(Mono::now().0 + 900_000_000);
    while Mono::now() < until {
        std::thread::sleep(Duration::from_millis(4));
        let now = Mono::now();
        for share in meter.poll(now).unwrap() {
            assert!((share.ours + share.others + share.idle - 1.0).abs() < 1e-9, "{share:?}");
            assert!(share.own <= share.others);
            windows += 1;
            ours += share.ours * (share.at - share.from).seconds();
        }
        let time = meter.cpu_time();
        resources.extend(log.poll(now, meter.time().tree(), time));
    }
    println!("{} windows of {}, {ours:.3} s × capacity ours, {resources:?}", windows, meter.window());
    assert!(windows >= 5 && ours > 0.05, "{windows} windows, {ours}");
    assert!(resources.len() >= 3);
    let most = resources.iter().map(|sample| sample.cpus).fold(0.0, f64::max);
    assert!((0.2..1.2).contains(&most), "{most} CPUs");
    for sample in &resources {
        assert!(sample.resident > 100_000 && sample.processes == 1 && sample.threads >= 1, "{sample:?}");
        assert!(sample.memory_available.unwrap() < sample.memory_total.unwrap(), "{sample:?}");
        assert!(sample.proportional.is_none_or(|bytes| bytes <= 2 * sample.resident), "{sample:?}");
    }
}
