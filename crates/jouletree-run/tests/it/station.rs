//! The real station, journal and run on a fake powercap tree that plays by the clock: no energy here comes from hardware.

use test_support::powercap as common;

use std::process::Command;
use std::time::{Duration, Instant};

use jouletree_host::Roots;
use jouletree_meter::station::{Next, Options, Station, Watch};
use jouletree_meter::{Sensor, powercap};
use jouletree_run::{Exit, JournalWriter, RecordingHeader};

use common::{Machine, machine, roots, tick_bound};
use fake_powercap::{Layout, Player};

#[test]
fn a_program_is_recorded() {
    let Machine { folder, fake } = machine(Layout::OneSocket, "package-0: 60W");
    let found = powercap::discover(&roots(folder.path()));
    let sensors: Vec<Box<dyn Sensor>> = found.into_iter().filter_map(|found| found.sensor.ok()).collect();
    let player = Player::start(fake);
    let station = Station::start(sensors, &Roots::default(), Options::default()).unwrap();
    let mut program = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();

    let watch = Watch { pid: Some(program.id()), ..Watch::default() };
    let mut session = station.watch(watch).unwrap();
    let command = vec!["sh".to_owned()];
    let header = RecordingHeader::new(&Roots::default(), command, watch.pid, &station.sensors());
    let run = folder.path().join("run");
    let mut writer = JournalWriter::create(&run, &header).unwrap();
    let end = Instant::now() + Duration::from_millis(2500);
    let exit = loop {
        match session.next(Duration::from_millis(300)) {
            Next::Batch(batch) => writer.append(&batch).unwrap(),
            Next::NothingYet => {}
            Next::Ended => break Exit::from(program.wait().unwrap()),
        }
        if Instant::now() > end {
            // Twice does no harm, and a session ends once.
            let _ = program.kill();
            session.stop();
        }
    };
    let opened = writer.finish(&session.ending(), Some(exit)).unwrap();

    let recording = opened.manifest().recording.clone().unwrap();
    let package = recording.balance.iter().find(|balance| balance.domain.is_none()).unwrap();
    let known = recording.duration_ns as f64 * 1e-9 * package.coverage;
    assert!(recording.complete && recording.exit == Some(Exit { code: None, signal: Some(9) }));
    // Where what is known begins and ends is unsure by a tick, and the player is a thread of a busy machine, too.
    let late = player.stop().unwrap().latest().as_secs_f64();
    let (truth, unsure) = (60.0 * known, (tick_bound(60.0) + 2.0 * 60.0 * late) * (package.gaps + 1) as f64);
    assert!((package.energy.0 - truth).abs() <= unsure, "{truth} J ± {unsure}: {package:?}");
    assert!(package.coverage > 0.0 && package.coverage <= 1.0, "{package:?}");
    let parts = package.parts.unwrap();
    assert!(parts.ours.0 > 0.0 && parts.others.0 > 0.0, "{parts:?}");
    let sum = parts.ours + parts.others + parts.idle + parts.unknown;
    assert!((sum.0 - package.energy.0).abs() <= 1e-9 * package.energy.0);
    let resources = run.join("resources.parquet");
    assert!(resources.exists() && recording.tree_time_ns > Some(0) && recording.own_time_ns > Some(0));
}
