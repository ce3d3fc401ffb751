//! The real station on a fake powercap tree that plays by the clock, watching real processes: no energy here comes from
//! hardware.

use test_support::powercap as common;

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use jouletree_host::Roots;
use jouletree_meter::Sensor;
use jouletree_meter::station::{Next, Options, Session, SessionError, Station, Watch};
use jouletree_model::Nanos;
use jouletree_model::sampling::{Anchors, Batch, Sample};
use jouletree_series::SeriesBuilder;

use common::{Machine, machine, tick_bound};
use fake_powercap::{Layout, Player};
use punctual::punctually;

const MS: Nanos = Nanos(1_000_000);

/// A process that is killed when the test ends.
struct Busy(Child);

impl Busy {
    fn start() -> Busy {
        Busy(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).unwrap();
    }
}

/// A station on a machine whose power is known.
fn station(script: &str, options: Options) -> (Station, Player, tempfile::TempDir) {
    let Machine { folder, fake } = machine(Layout::OneSocket, script);
    let found = jouletree_meter::powercap::discover(&common::roots(folder.path()));
    let sensors: Vec<Box<dyn Sensor>> = found.into_iter().filter_map(|found| found.sensor.ok()).collect();
    let player = Player::start(fake);
    (Station::start(sensors, &Roots::default(), options).unwrap(), player, folder)
}

/// How far the energy of 60 W may be off: a tick at either end, and what a busy machine makes the player late.
fn bound(player: &Player) -> f64 {
    tick_bound(60.0) + 60.0 * player.latest().as_secs_f64()
}

/// Everything until the end.
fn rest(session: &mut Session) -> Vec<Batch> {
    let mut batches = Vec::new();
    let deadline = Instant::now() + Duration::from_secs(20);
    while Instant::now() < deadline {
        match session.next(Duration::from_secs(5)) {
            Next::Batch(batch) => batches.push(batch),
            Next::NothingYet => {}
            Next::Ended => return batches,
        }
    }
    panic!("the session does not end");
}

fn samples(batches: &[Batch]) -> Vec<Sample> {
    batches.iter().flat_map(|batch| batch.samples.iter().copied()).collect()
}

fn energy(session: &Session, batches: &[Batch], period: Nanos) -> (f64, f64) {
    let mut builder = SeriesBuilder::new(&session.ending().sensors[0], period);
    let mut anchors = Anchors::default();
    for batch in batches {
        batch.anchors.iter().for_each(|anchor| anchors.push(*anchor));
        batch.samples.iter().filter(|sample| sample.sensor == 0).for_each(|sample| builder.take(*sample));
    }
    let series = builder.series(&anchors).unwrap();
    (series.total().0, series.spans().map(|span| span.range.duration().seconds()).sum())
}

#[test]
fn sessions_of_different_periods_get_what_they_asked_for() {
    let (station, player, _folder) = station("package-0: 60W", Options::default());
    let busy = Busy::start();
    let wishes =
        [(Some(busy.0.id()), Nanos(2_000_000)), (Some(busy.0.id()), Nanos(10_000_000)), (None, Nanos(40_000_000))];
    let mut sessions: Vec<(Session, Nanos)> = wishes
        .into_iter()
        .map(|(pid, period)| (station.watch(Watch { pid, period, grid: None }).unwrap(), period))
        .collect();
    std::thread::sleep(Duration::from_millis(1200));
    for (session, period) in &mut sessions {
        session.stop();
        let batches = rest(session);
        let numbers: Vec<u64> = batches.iter().map(|batch| batch.number).collect();
        assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
        assert!(batches.iter().all(|batch| batch.lost == 0));
        let times: Vec<i64> =
            samples(&batches).iter().filter(|sample| sample.sensor == 0).map(|sample| sample.at.0).collect();
        let length = (times[times.len() - 1] - times[0]) as f64;
        let mean = length / (times.len() - 1) as f64;
        // A machine that is busy skips readings and makes up none.
        assert!(mean > period.0 as f64 * 0.9, "{mean} {period}");
        assert!(length > 1e9, "{length}");
        let (joules, seconds) = energy(session, &batches, *period);
        assert!((joules - 60.0 * seconds).abs() < bound(&player), "{joules} J in {seconds} s");
        let ending = session.ending();
        assert!(ending.own_time > Nanos(0));
    }
    let (watching, _) = &sessions[0];
    assert!(watching.ending().tree_time > Nanos(200_000_000), "{:?}", watching.ending());
}

#[test]
fn a_tree_has_shares_and_resources_until_the_very_end() {
    punctually(is_watched_to_the_end);
}

fn is_watched_to_the_end() {
    let (station, _player, _folder) = station("package-0: 60W", Options::default());
    let busy = Busy::start();
    let mut session = station.watch(Watch { pid: Some(busy.0.id()), ..Watch::default() }).unwrap();
    std::thread::sleep(Duration::from_millis(1150));
    session.stop();
    let batches = rest(&mut session);
    let shares: Vec<_> =
        batches.iter().flat_map(|batch| &batch.shares).filter(|share| share.socket == 0).collect();
    let resources: Vec<_> = batches.iter().flat_map(|batch| &batch.resources).collect();
    assert!(shares.iter().all(|share| (share.ours + share.others + share.idle - 1.0).abs() < 1e-9));
    assert!(shares.iter().any(|share| share.ours > 0.1), "{shares:?}");
    let last = samples(&batches).iter().map(|sample| sample.at).max().unwrap();
    let covered = shares.iter().map(|share| share.at).max().unwrap();
    assert!(last - covered < Nanos(30 * MS.0), "the shares end {} before the samples", last - covered);
    assert!(resources.len() >= 3 && resources.iter().all(|sample| sample.resident > 0), "{resources:?}");
    assert!(!session.is_over());
}

#[test]
fn a_session_that_nobody_empties_loses_its_oldest_and_says_so() {
    let options = Options { most_waiting: 1500, ..Options::default() };
    let (station, player, _folder) = station("package-0: 60W", options);
    let mut lazy = station.watch(Watch { period: MS, ..Watch::default() }).unwrap();
    let mut eager = station.watch(Watch { period: MS, ..Watch::default() }).unwrap();
    let mut taken = Vec::new();
    let until = Instant::now() + Duration::from_millis(1500);
    while Instant::now() < until {
        if let Next::Batch(batch) = eager.next(Duration::from_millis(100)) {
            taken.push(batch);
        }
    }
    lazy.stop();
    eager.stop();
    taken.extend(rest(&mut eager));
    assert!(taken.iter().all(|batch| batch.lost == 0), "a lazy neighbour harms no other session");
    let left = rest(&mut lazy);
    let lost: u64 = left.iter().map(|batch| batch.lost).sum();
    assert!(lost > 0 && left[0].number > 0, "{lost}");
    assert!(!left[0].anchors.is_empty(), "what ties it to the time of day is never lost");
    let all = samples(&taken).len() as i64;
    let accounted = samples(&left).len() as i64 + i64::try_from(lost).unwrap();
    assert!((all - accounted).abs() < all / 5, "{all} {accounted}");
    // What is left of a counter is still right.
    let (joules, seconds) = energy(&lazy, &left, MS);
    assert!((joules - 60.0 * seconds).abs() < bound(&player), "{joules} J in {seconds} s");
}

/// However many sessions a client opens, at whatever time and period: one reading in a stretch of the grid is all there
/// is to see.
#[test]
fn sessions_on_a_grid_show_no_more_together_than_one_alone() {
    let (station, _player, _folder) = station("package-0: 60W", Options::default());
    let _fast = station.watch(Watch { period: MS, ..Watch::default() }).unwrap();
    let grid = Nanos(10_000_000);
    let mut sessions = Vec::new();
    for number in 0..6 {
        let period = Nanos(grid.0 + number * 700_000);
        sessions.push(station.watch(Watch { period, grid: Some(grid), ..Watch::default() }).unwrap());
        std::thread::sleep(Duration::from_micros(130_300));
    }
    let mut seen = std::collections::BTreeMap::<i64, std::collections::BTreeSet<i64>>::new();
    for session in &mut sessions {
        session.stop();
        for sample in samples(&rest(session)).iter().filter(|sample| sample.sensor == 0) {
            seen.entry(sample.at.0 / grid.0).or_default().insert(sample.at.0);
        }
    }
    assert!(seen.len() > 30, "{}", seen.len());
    assert!(seen.values().all(|instants| instants.len() == 1), "{seen:?}");
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let (station, _player, _folder) = station("package-0: 60W", Options::default());
    let error = station.watch(Watch { pid: Some(u32::MAX >> 2), ..Watch::default() }).unwrap_err();
    assert!(matches!(&error, SessionError::Watch(_)), "{error}");
    let error = station.watch(Watch { period: Nanos(10), ..Watch::default() }).unwrap_err();
    assert!(error.to_string().contains("choose one from 1 ms to 1 s"), "{error}");
}

#[test]
fn the_end_of_a_tree_is_seen_and_a_session_outlives_it() {
    let (station, _player, _folder) = station("package-0: 60W", Options::default());
    let busy = Busy::start();
    let mut session = station.watch(Watch { pid: Some(busy.0.id()), ..Watch::default() }).unwrap();
    drop(station);
    drop(busy);
    let deadline = Instant::now() + Duration::from_secs(10);
    while !session.is_over() {
        assert!(Instant::now() < deadline, "its end is not seen");
        session.next(Duration::from_millis(50));
    }
    session.stop();
    assert!(!rest(&mut session).is_empty());
}

/// A client that requests an early flush does not wait for the next regular batch, and loses nothing.
#[test]
fn a_session_can_be_flushed_early() {
    punctually(flushes_early);
}

fn flushes_early() {
    let (station, player, _folder) = station("package-0: 60W", Options::default());
    let busy = Busy::start();
    let mut session = station.watch(Watch { pid: Some(busy.0.id()), ..Watch::default() }).unwrap();
    let (mut batches, mut waits) = (Vec::new(), Vec::new());
    for _ in 0..30 {
        let began = Instant::now();
        session.early_flush().now();
        match session.next(Duration::from_secs(5)) {
            Next::Batch(batch) => batches.push(batch),
            other => panic!("{other:?}"),
        }
        waits.push(began.elapsed());
    }
    waits.sort_unstable();
    // Without an early flush a batch takes 100 ms; on a machine that is busy otherwise, half of them may take longer.
    assert!(waits[waits.len() / 4] < Duration::from_millis(80), "{waits:?}");
    session.stop();
    batches.extend(rest(&mut session));
    let numbers: Vec<u64> = batches.iter().map(|batch| batch.number).collect();
    assert_eq!(numbers, (0..batches.len() as u64).collect::<Vec<_>>());
    let shares: Vec<_> =
        batches.iter().flat_map(|batch| &batch.shares).filter(|share| share.socket == 0).collect();
    assert!(shares.windows(2).all(|pair| pair[0].at == pair[1].from), "{shares:?}");
    let (last, others) = shares.split_last().unwrap();
    assert!(others.iter().all(|share| share.at - share.from >= Nanos(49 * MS.0)), "{others:?} {last:?}");
    let (joules, seconds) = energy(&session, &batches, Watch::default().period);
    assert!((joules - 60.0 * seconds).abs() < bound(&player), "{joules} J in {seconds} s");
}
