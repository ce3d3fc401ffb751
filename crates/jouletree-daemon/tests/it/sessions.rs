//! Many clients, slow ones, dying ones, and lines that break: what one of them does harms no other, and what is lost is
//! said.

use crate::common;

use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use jouletree_daemon::client::{Address, Client};
use jouletree_daemon::wire::v1;
use jouletree_meter::station::{Feed, Next, Watch};
use jouletree_model::Nanos;
use jouletree_model::sampling::{Batch, Sample};

use common::{Busy, Cuttable, Daemon, MS, listen, lost, machine, rest, samples, until};

const SECOND: Duration = Duration::from_secs(1);

/// All sessions that see a sensor at one instant see the same. Not all see it at the same instants: on a busy machine a reading
/// that comes late may be due for one session and not for another.
fn assert_same(one: &[Sample], other: &[Sample]) {
    let seen: HashMap<_, _> = one.iter().map(|sample| ((sample.sensor, sample.at), sample)).collect();
    let both: Vec<_> =
        other.iter().filter_map(|sample| Some((*seen.get(&(sample.sensor, sample.at))?, sample))).collect();
    assert!(both.len() > 50, "they were there together: {}", both.len());
    for (one, other) in both {
        assert_eq!(one, other);
    }
}

/// The energy of 60 W, as exactly as can be known.
fn assert_60_watts(samples: &[Sample], bound: f64) {
    let package: Vec<&Sample> = samples.iter().filter(|sample| sample.sensor == 0).collect();
    let (begin, end) = (package[0], package[package.len() - 1]);
    let (joules, seconds) = ((end.count - begin.count) as f64 * 1e-6, (end.at - begin.at).seconds());
    assert!((joules - 60.0 * seconds).abs() <= bound, "{joules} J in {seconds} s, not within {bound} J");
}

#[test]
fn ten_clients_see_the_same() {
    let mut daemon = Daemon::start(|_, _| {});
    let clients: Vec<_> = (0..10)
        .map(|_| {
            let client = daemon.client();
            thread::spawn(move || {
                let mut session = client.watch(machine(Nanos(4_000_000))).unwrap();
                let mut batches = listen(&mut session, 2 * SECOND);
                session.stop();
                batches.extend(rest(&mut session));
                (batches, session.ending())
            })
        })
        .collect();
    let seen: Vec<(Vec<Batch>, _)> = clients.into_iter().map(|client| client.join().unwrap()).collect();
    for (batches, ending) in &seen {
        assert_eq!(lost(batches), 0);
        let numbers: Vec<u64> = batches.iter().map(|batch| batch.number).collect();
        assert_eq!(numbers, (0..batches.len() as u64).collect::<Vec<_>>());
        assert_eq!(ending.remarks, Vec::<String>::new());
        assert_eq!(ending.sensors, daemon.client().sensors().unwrap());
        assert!(ending.stats.wakes > 0);
    }
    let all: Vec<Vec<Sample>> = seen.iter().map(|(batches, _)| samples(batches)).collect();
    let bound = daemon.bound();
    for samples in &all {
        assert_60_watts(samples, bound);
        assert_same(&all[0], samples);
    }
    until("the end of all sessions", || daemon.client().status().unwrap().session_count == 0);
}

#[test]
fn two_sessions_watch_one_process() {
    let daemon = Daemon::start(|_, _| {});
    let (client, mut busy) = (daemon.client(), Busy::start());
    let watch = |period| Watch { pid: Some(busy.0.id()), period, grid: None };
    let mut fine = client.watch(watch(MS)).unwrap();
    let mut coarse = client.watch(watch(Nanos(50_000_000))).unwrap();
    let status = client.status().unwrap();
    let sessions: Vec<_> = status.sessions.iter().map(|session| (session.pid, session.period_ns)).collect();
    assert_eq!(sessions, [(Some(busy.0.id()), 1_000_000), (Some(busy.0.id()), 50_000_000)]);
    let (many, few) = (listen(&mut fine, SECOND), listen(&mut coarse, SECOND));
    for batches in [&many, &few] {
        let ours = batches.iter().flat_map(|batch| &batch.shares).map(|share| share.ours).fold(0.0, f64::max);
        assert!(ours > 0.0, "its share is seen");
        assert!(batches.iter().any(|batch| !batch.resources.is_empty()));
    }
    assert!(samples(&many).len() > 2 * samples(&few).len());
    assert!(!fine.is_over());
    busy.0.kill().unwrap();
    busy.0.wait().unwrap();
    for session in [&mut fine, &mut coarse] {
        until("the end of the process", || {
            let _ = session.next(Duration::from_millis(100)).unwrap();
            session.is_over()
        });
        session.stop();
        rest(session);
        assert!(session.ending().tree_time > Nanos(0));
    }
}

#[test]
fn a_client_that_does_not_listen_loses_its_own_and_harms_nobody() {
    let daemon = Daemon::start(|config, _| config.limits.kept_bytes = 8 << 10);
    let client = daemon.client();
    let mut slow = client.watch(machine(MS)).unwrap();
    let mut other = client.watch(machine(MS)).unwrap();
    let deadline = Instant::now() + common::TIMEOUT;
    let mut heard = Vec::new();
    // It loses nothing before buffers on the way are full.
    while client.status().unwrap().dropped == 0 {
        assert!(Instant::now() < deadline, "nothing is dropped");
        heard.extend(listen(&mut other, SECOND / 4));
    }
    other.stop();
    heard.extend(rest(&mut other));
    assert_eq!(lost(&heard), 0);
    assert_eq!(other.ending().remarks, Vec::<String>::new());
    slow.stop();
    let batches = rest(&mut slow);
    assert!(lost(&batches) > 0);
    until("the end of the sessions", || client.status().unwrap().session_count == 0);
    assert_eq!(lost(&batches), client.status().unwrap().dropped);
    assert!(batches.is_sorted_by_key(|batch| batch.number));
    let numbers = batches.iter().map(|batch| batch.number);
    assert!(batches.len() as u64 <= numbers.max().unwrap(), "numbers are missing");
    // A session that lost samples receives their exact number: nothing is missing beyond that.
    assert_eq!(slow.ending().remarks, Vec::<String>::new());
}

#[test]
fn a_line_may_break_and_nothing_is_lost() {
    let mut daemon = Daemon::start(|_, _| {});
    let line = Cuttable::to(&daemon);
    let mut broken = Client::connect(&Address::Unix(line.path.clone())).unwrap().watch(machine(MS)).unwrap();
    let mut whole = daemon.client().watch(machine(MS)).unwrap();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..4 {
        ours.extend(listen(&mut broken, SECOND / 2));
        line.cut();
        theirs.extend(listen(&mut whole, SECOND / 4));
    }
    // Samples are still there after the last cut.
    ours.extend(listen(&mut broken, SECOND));
    for (session, batches) in [(&mut broken, &mut ours), (&mut whole, &mut theirs)] {
        session.stop();
        batches.extend(rest(session));
        assert_eq!(lost(batches), 0);
        let numbers: Vec<u64> = batches.iter().map(|batch| batch.number).collect();
        assert_eq!(numbers, (0..batches.len() as u64).collect::<Vec<_>>(), "each batch once");
        assert_eq!(session.ending().remarks, Vec::<String>::new());
    }
    // The end says how many samples there were, and that none of them is missing.
    assert_same(&samples(&ours), &samples(&theirs));
    assert_60_watts(&samples(&ours), daemon.bound());
}

#[test]
fn a_client_that_is_gone_for_too_long_loses_its_session() {
    let daemon = Daemon::start(|config, _| config.limits.kept_for = SECOND);
    let line = Cuttable::to(&daemon);
    let mut session = Client::connect(&Address::Unix(line.path.clone())).unwrap().watch(machine(MS)).unwrap();
    listen(&mut session, SECOND / 4);
    assert_eq!(daemon.client().status().unwrap().session_count, 1);
    line.close();
    until("the end of the session", || daemon.client().status().unwrap().session_count == 0);
    let error = loop {
        match session.next(SECOND) {
            Ok(Next::Ended) => panic!("it ended without a reason"),
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(!error.to_string().is_empty());
}

#[test]
fn a_session_that_is_dropped_ends() {
    let daemon = Daemon::start(|_, _| {});
    let client = daemon.client();
    drop(client.watch(machine(MS)).unwrap());
    until("the end of the session", || client.status().unwrap().session_count == 0);
}

#[test]
fn the_daemon_ends_and_its_clients_are_told() {
    let mut daemon = Daemon::start(|_, _| {});
    let mut session = daemon.client().watch(machine(MS)).unwrap();
    listen(&mut session, SECOND / 4);
    daemon.tell_to_stop();
    let batches = rest(&mut session);
    assert!(!batches.is_empty() && lost(&batches) == 0);
    assert_eq!(session.ending().remarks, ["the daemon was shut down before the session was stopped"]);
    daemon.end();
    assert!(!daemon.ways.socket.exists());
}

#[test]
fn nobody_takes_more_than_its_part() {
    let daemon = Daemon::start(|config, _| config.limits.sessions_of_user = 2);
    let client = daemon.client();
    let _first = client.watch(machine(MS)).unwrap();
    let second = client.watch(machine(MS)).unwrap();
    let error = client.watch(machine(MS)).unwrap_err().to_string();
    assert!(error.contains("2 sessions"), "{error}");
    drop(second);
    until("a free place", || client.watch(machine(MS)).is_ok());
}

#[test]
fn nonsense_is_refused_with_a_reason() {
    let daemon = Daemon::start(|_, _| {});
    let client = daemon.client();
    let refused = |watch| client.watch(watch).unwrap_err().to_string();
    assert!(refused(machine(Nanos(1))).contains("choose one from 1 ms to 1 s"));
    assert!(refused(machine(Nanos(-5))).contains("choose one from 1 ms to 1 s"));
    assert!(refused(Watch { pid: Some(u32::MAX), period: MS, grid: None }).contains("there is no process"));
    assert!(refused(Watch { pid: Some(std::process::id()), period: MS, grid: None }).contains("monitor itself"));
    let _: v1::StatusResponse = client.status().unwrap();
}
