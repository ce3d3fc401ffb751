//! What goes wrong ends in a gap or an error, never in a wrong number.

use test_support::powercap as common;

use std::time::Duration;

use jouletree_host::Now;
use jouletree_meter::{Probe, ReadError, Sensor, powercap};
use jouletree_model::Nanos;
use jouletree_model::sampling::Mono;
use jouletree_series::{Advance, Counter, Implausible};

use common::{MS, Machine, machine, mono, play, roots, tick_bound, words};
use fake_powercap::{Layout, Player};

/// The first reading that is neither a beginning nor an advance.
fn first_gap(said: &[Advance]) -> Option<Implausible> {
    said.iter().find_map(|advance| if let Advance::Gap(why) = advance { Some(*why) } else { None })
}

fn read_at(machine: &mut Machine, sensor: &mut dyn Sensor, at: Duration) -> Result<u64, ReadError> {
    machine.fake.advance(at - machine.fake.now()).unwrap();
    sensor.read()
}

#[test]
fn a_counter_that_is_set_back_is_a_gap_and_counts_on() {
    let mut machine = machine(Layout::OneSocket, "start 100J\npackage-0: 50W\nat 1s package-0 back 20J");
    let mut sensor = machine.sensor("cpu:0", None);
    let (counter, said) = play(&mut machine, sensor.as_mut(), [10 * MS; 200]);
    assert_eq!(first_gap(&said), Some(Implausible::Backwards));
    assert_eq!(said.iter().filter(|advance| matches!(advance, Advance::Gap(_))).count(), 1);
    let counted = counter.total() as f64 * 1e-6;
    assert!((99.0 - counted).abs() < 1.0 + tick_bound(50.0), "all but the gap of some 10 ms: {counted}");
}

#[test]
fn two_wraps_in_a_gap_are_a_gap() {
    // 1.5 kW: a wrap takes 175 s.
    let mut machine = machine(Layout::OneSocket, "package-0: 1.5kW");
    let mut sensor = machine.sensor("cpu:0", None);
    let (counter, said) = play(&mut machine, sensor.as_mut(), [100 * MS, Duration::from_secs(400), 100 * MS]);
    assert!(matches!(said[1], Advance::By(_)) && matches!(said[3], Advance::By(_)));
    assert_eq!(said[2], Advance::Gap(Implausible::ManyWraps));
    assert!((counter.total() as f64 * 1e-6 - 300.0).abs() < 2.0 * tick_bound(1500.0));
}

#[test]
fn energy_used_while_the_clock_stood_still_is_a_gap() {
    let mut machine = machine(Layout::OneSocket, "package-0: 50W\nat 1s jump 900s");
    let mut sensor = machine.sensor("cpu:0", None);
    let (_, said) = play(&mut machine, sensor.as_mut(), [10 * MS; 120]);
    assert_eq!(first_gap(&said), Some(Implausible::TooMuch));
}

#[test]
fn a_frozen_counter_shows_all_it_missed() {
    let mut machine = machine(Layout::OneSocket, "package-0: 50W\nat 1s package-0 freeze for 500ms");
    let mut sensor = machine.sensor("cpu:0", None);
    let (counter, said) = play(&mut machine, sensor.as_mut(), [10 * MS; 200]);
    assert_eq!(first_gap(&said), None, "25 J at once is within the bound of what a socket can use in a stall");
    assert!((counter.total() as f64 * 1e-6 - 100.0).abs() < tick_bound(50.0));
}

#[test]
fn nonsense_in_the_file_is_an_error_of_its_kind() {
    let faults = "package-0: 50W\nat 100ms package-0 garbage for 50ms\nat 200ms package-0 empty for 50ms\n\
        at 300ms package-0 beyond for 50ms\nat 400ms package-0 refuse for 50ms\nat 500ms package-0 vanish";
    let mut machine = machine(Layout::OneSocket, faults);
    let mut sensor = machine.sensor("cpu:0", None);
    let before = sensor.read().unwrap();
    let mut at = |ms: u32| read_at(&mut machine, sensor.as_mut(), ms * MS);
    assert!(matches!(at(130), Err(ReadError::Garbage(said)) if said == "not a number"));
    assert!(at(180).unwrap() > before);
    assert!(matches!(at(230), Err(ReadError::Garbage(said)) if said.is_empty()));
    assert!(matches!(at(330), Err(ReadError::OutOfRange { count: 262_143_328_851, range: 262_143_328_850 })));
    assert!(at(430).is_err());
    let after = at(480).unwrap() - before;
    assert!((after as f64 * 1e-6 - 24.0).abs() < tick_bound(50.0), "the kept descriptor reads on: {after}");
    assert!(at(550).is_err());
    assert!(words(&machine.discover()).is_empty());
}

#[test]
fn a_zone_whose_driver_was_loaded_again_is_read_again() {
    let mut machine =
        machine(Layout::OneSocket, "package-0: 50W\npackage-0/dram: 5W\nat 500ms package-0 vanish for 300ms");
    let [mut package, mut dram] = [machine.sensor("cpu:0", None), machine.sensor("dram:0", None)];
    let before = [package.read().unwrap(), dram.read().unwrap()];
    for sensor in [&mut package, &mut dram] {
        let gone = read_at(&mut machine, sensor.as_mut(), 700 * MS);
        assert!(matches!(gone, Err(ReadError::Gone(_))), "{gone:?}");
    }
    for (sensor, before, watts) in [(&mut package, before[0], 50.0), (&mut dram, before[1], 5.0)] {
        let after = read_at(&mut machine, sensor.as_mut(), 1000 * MS).unwrap();
        let used = (after - before) as f64 * 1e-6;
        assert!((used - watts).abs() < tick_bound(watts), "the hardware counted on: {used}");
    }
}

#[test]
fn another_zone_in_the_place_of_a_lost_one_is_not_taken_for_it() {
    let mut machine = machine(Layout::OneSocket, "at 100ms package-0 vanish for 100ms");
    let mut package = machine.sensor("cpu:0", None);
    assert!(read_at(&mut machine, package.as_mut(), 150 * MS).is_err());
    machine.fake.advance(100 * MS).unwrap();
    std::fs::write(machine.folder.path().join("class/powercap/intel-rapl:0/name"), "psys\n").unwrap();
    let other = package.read();
    assert!(matches!(&other, Err(ReadError::Gone(why)) if why.contains("another zone")), "{other:?}");
}

#[test]
fn a_zone_that_refuses_from_the_start_is_named_by_the_probe() {
    let machine = machine(Layout::OneSocket, "at 0s package-0 refuse");
    let root = roots(machine.folder.path());
    let _player = Player::start(machine.fake);
    let said = words(&Probe::default().living(powercap::discover(&root)));
    assert!(said[0].starts_with("cpu:0 whole: it opens but cannot be read: Input/output error"), "{said:?}");
    assert_eq!(said[1..], ["cpu:0 core: usable", "dram:0 whole: usable"]);
}

#[test]
fn a_counter_that_never_moves_is_dead() {
    let machine = machine(Layout::Client, "at 0s psys freeze");
    let root = roots(machine.folder.path());
    let _player = Player::start(machine.fake);
    let begun = Mono::now();
    let said = words(&Probe::default().living(powercap::discover(&root)));
    assert!(Mono::now() - begun >= Nanos(300_000_000));
    assert!(said[2].starts_with("cpu:0 psys: it opens but has not moved in "), "{said:?}");
    assert_eq!(said.iter().filter(|word| word.ends_with("usable")).count(), 4, "{said:?}");
}

#[test]
fn readings_while_it_plays_by_the_clock_are_true() {
    let script = "start 0.2s before wrap\npackage-0: 50W for 300ms, ramp 50W to 150W for 300ms, square 20W to 80W every 3ms";
    let machine = machine(Layout::OneSocket, script);
    let mut sensor = machine.sensor("cpu:0", None);
    let player = Player::start(machine.fake);
    let mut counter = Counter::new(sensor.info());
    // A reading happens at some time between two looks at the clock.
    let mut reading = || {
        let (before, count) = (player.elapsed(), sensor.read().unwrap());
        (before, count, player.elapsed() - before)
    };
    let (begun, first, mut unsure) = reading();
    counter.take(mono(begun), first);
    let mut ended = begun;
    while ended < begun + Duration::from_secs(1) {
        std::thread::sleep(4 * MS);
        let (at, count, took) = reading();
        let advance = counter.take(mono(at), count);
        assert!(matches!(advance, Advance::By(_)), "{advance:?}");
        (ended, unsure) = (at, unsure.max(took));
    }
    let truth = player.oracle().energy("package-0", begun, ended).unwrap().0;
    let late = (player.stop().unwrap().latest() + unsure).as_secs_f64();
    let counted = counter.total() as f64 * 1e-6;
    println!("counted {counted:.4} J, played {truth:.4} J; player and reader were late by {:.3} ms", late * 1e3);
    assert!((counted - truth).abs() < tick_bound(150.0) + 2.0 * 150.0 * late, "{counted} {truth} {late}");
}
