//! Every layout of a powercap tree is understood: names, devices, domains, ranges, and nothing twice.

use test_support::powercap as common;

use std::fs;
use std::time::Duration;

use jouletree_host::Roots;
use jouletree_meter::powercap;
use jouletree_series::Counter;

use common::{MS, machine, mono, roots, tick_bound, usable, words};
use fake_powercap::{Layout, Player};

#[test]
fn zones_are_known_by_their_names() {
    for (layout, expected) in [
        (Layout::OneSocket, &["cpu:0 whole: usable", "cpu:0 core: usable", "dram:0 whole: usable"][..]),
        (
            Layout::TwoSockets,
            &[
                "cpu:0 whole: usable",
                "cpu:0 core: usable",
                "cpu:1 whole: usable",
                "cpu:1 core: usable",
                "dram:0 whole: usable",
                "dram:1 whole: usable",
            ],
        ),
        (Layout::Dies, &["cpu:0 whole: usable", "dram:0 whole: usable"]),
        (Layout::PsysFirst, &["cpu:0 whole: usable", "cpu:0 core: usable", "cpu:0 psys: usable"]),
        (Layout::MmioOnly, &["cpu:0 whole: usable"]),
        (Layout::Amd, &["cpu:0 whole: usable", "cpu:0 core: usable"]),
        (
            Layout::Client,
            &[
                "cpu:0 whole: usable",
                "cpu:0 core: usable",
                "cpu:0 psys: usable",
                "cpu:0 uncore: usable",
                "dram:0 whole: usable",
            ],
        ),
    ] {
        assert_eq!(words(&machine(layout, "").discover()), expected, "{layout:?}");
    }
}

#[test]
fn ranges_and_steps_are_each_zones_own() {
    let client = machine(Layout::Client, "");
    let package = client.sensor("cpu:0", None).info().clone();
    assert_eq!(package.range, Some(262_143_328_850));
    assert!((package.step.0 - 61.035).abs() < 1e-6);
    let dram = client.sensor("dram:0", None).info().clone();
    assert_eq!(dram.range, Some(65_712_999_613));
    assert!((dram.step.0 - 15.3).abs() < 1e-6);
    let amd = machine(Layout::Amd, "").sensor("cpu:0", None).info().clone();
    assert_eq!(amd.range, Some(65_532_610_987));
    assert!(
        package.source.contains("package-0 at ") && package.source.ends_with("energy_uj"),
        "{}",
        package.source
    );
}

#[test]
fn a_twin_is_used_only_when_the_other_cannot_be() {
    let twin = machine(Layout::MmioTwin, "");
    let said = words(&twin.discover());
    assert_eq!(said[0], "cpu:0 whole: usable");
    assert!(said[1].starts_with("cpu:0 whole: the same is read from package-0 at "), "{said:?}");
    assert_eq!(said[2..], ["cpu:0 core: usable", "cpu:0 uncore: usable"]);
    fs::remove_file(twin.folder.path().join("class/powercap/intel-rapl:0/max_energy_range_uj")).unwrap();
    let said = words(&twin.discover());
    assert!(said[0].contains("says no range"), "{said:?}");
    assert_eq!(said[1], "cpu:0 whole: usable");
}

#[test]
fn the_dies_of_a_socket_are_added_up_through_their_wraps() {
    // The first die wraps in the first second, the second does not.
    let script = "start 1s before wrap\npackage-0-die-0: 100W\npackage-0-die-1: 30W for 50ms, 60W for 60s, 1W";
    let mut dies = machine(Layout::Dies, script);
    let mut sensor = dies.sensor("cpu:0", None);
    assert_eq!(sensor.info().range, Some(262_143_328_850));
    let (counter, _) = common::play(&mut dies, sensor.as_mut(), [100 * MS; 40]);
    let truth: f64 = ["package-0-die-0", "package-0-die-1"]
        .iter()
        .map(|die| dies.fake.oracle().energy(die, Duration::ZERO, dies.fake.now()).unwrap().0)
        .sum();
    let counted = counter.total() as f64 * 1e-6;
    assert!((counted - truth).abs() < tick_bound(160.0), "{counted} {truth}");
}

#[test]
fn a_die_that_mirrors_another_is_counted_once() {
    let mirrored = machine(Layout::MirroredDies, "package-0-die-0: 80W");
    let root = roots(mirrored.folder.path());
    let player = Player::start(mirrored.fake);
    let mut sensor = usable(powercap::discover(&root), "cpu:0", None);
    assert!(sensor.info().source.contains("intel-rapl:1 shows the same counter"), "{}", sensor.info().source);
    let (begun, first) = (player.elapsed(), sensor.read().unwrap());
    std::thread::sleep(200 * MS);
    let (ended, last) = (player.elapsed(), sensor.read().unwrap());
    let mut counter = Counter::new(sensor.info());
    counter.take(mono(begun), first);
    counter.take(mono(ended), last);
    let truth = player.oracle().energy("package-0-die-0", begun, ended).unwrap().0;
    let late = player.stop().unwrap().latest().as_secs_f64();
    let counted = counter.total() as f64 * 1e-6;
    assert!((counted - truth).abs() < tick_bound(80.0) + 2.0 * 80.0 * late, "{counted} {truth} {late}");
}

#[test]
fn dies_that_stand_still_or_move_alike_are_not_taken_for_one() {
    let dies = machine(Layout::Dies, "start 100J\npackage-0-die-0: 50W\npackage-0-die-1: 50W");
    let root = roots(dies.folder.path());
    assert!(!usable(powercap::discover(&root), "cpu:0", None).info().source.contains("shows the same"));
    let _player = Player::start(dies.fake);
    assert!(!usable(powercap::discover(&root), "cpu:0", None).info().source.contains("shows the same"));
}

#[test]
fn one_core_of_an_amd_socket_is_not_called_all() {
    let amd = machine(Layout::Amd, "");
    fs::create_dir(amd.folder.path().join("proc")).unwrap();
    fs::write(amd.folder.path().join("proc/cpuinfo"), "processor\t: 0\nvendor_id\t: AuthenticAMD\n").unwrap();
    assert_eq!(words(&amd.discover()), ["cpu:0 whole: usable", "cpu:0 one-core: usable"]);
}

#[test]
fn what_cannot_be_used_is_listed_with_its_reason() {
    let client = machine(Layout::Client, "");
    let zone = |id: &str| client.folder.path().join("class/powercap").join(id);
    fs::write(zone("intel-rapl:0:0").join("max_energy_range_uj"), "many\n").unwrap();
    fs::write(zone("intel-rapl:0:1").join("name"), "gadget\n").unwrap();
    fs::remove_file(zone("intel-rapl:0:2").join("energy_uj")).unwrap();
    fs::remove_dir_all(fs::canonicalize(zone("intel-rapl:1")).unwrap()).unwrap();
    let said = words(&client.discover());
    assert_eq!(said[0], "cpu:0 whole: usable");
    assert!(said[1].starts_with("cpu:0 core: ") && said[1].contains("says no range"), "{said:?}");
    assert_eq!(said[2], "dram:0 whole: the zone intel-rapl:0:2 counts no energy: it has no energy_uj");
    assert_eq!(said[3], "cpu:0 gadget: it is not known what `gadget` in `package-0` meters");
    assert_eq!(said[4], "cpu:0 intel-rapl:1: the zone intel-rapl:1 is listed but hidden, as containers do");
}

#[test]
fn a_die_that_cannot_be_read_spoils_the_sum() {
    let dies = machine(Layout::Dies, "");
    fs::remove_file(dies.folder.path().join("class/powercap/intel-rapl:1/energy_uj")).unwrap();
    assert!(words(&dies.discover())[0].contains("intel-rapl:1 counts no energy"));
}

#[test]
fn a_machine_without_zones_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let roots = Roots { sys: folder.path().into(), proc: folder.path().into(), nvml: None };
    assert!(powercap::discover(&roots).is_empty());
    assert!(powercap::why_none(&roots).remedy.unwrap().contains("modprobe intel_rapl_msr"));
    fs::write(folder.path().join("cpuinfo"), "flags\t\t: fpu vme hypervisor lahf_lm\n").unwrap();
    assert!(powercap::why_none(&roots).reason.contains("virtual machine"));
}
