//! Energy through performance events. No machine here has the unit, so a folder describes one whose events are the
//! kernel's own: its CPU clock, which counts nanoseconds, and its dummy, which stays at zero for ever as the counters
//! of virtual machines do. The events are opened and read for real.

use test_support::powercap as common;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{machine, roots, usable, words};
use fake_powercap::{Layout, Player};
use jouletree_meter::inventory::{Inventory, Sources};
use jouletree_meter::{Found, Probe, Unusable, perf_power};
use jouletree_model::Kind;
use tempfile::TempDir;

const CLOCK: &str = "event=0x00";
const DUMMY: &str = "event=0x09";
/// A nanosecond of a CPU for 20 nanojoules: 20 W.
const SCALE: &str = "2e-8";

/// The files of a unit that the kernel's software events simulate.
fn unit(root: &Path, events: &[(&str, &str)], cpumask: &str) {
    let folder = root.join("bus/event_source/devices/power");
    fs::create_dir_all(folder.join("events")).unwrap();
    fs::create_dir_all(folder.join("format")).unwrap();
    fs::write(folder.join("type"), "1\n").unwrap();
    fs::write(folder.join("format/event"), "config:0-7\n").unwrap();
    fs::write(folder.join("cpumask"), cpumask).unwrap();
    for (name, event) in events {
        fs::write(folder.join("events").join(name), event).unwrap();
        fs::write(folder.join("events").join(format!("{name}.scale")), SCALE).unwrap();
        fs::write(folder.join("events").join(format!("{name}.unit")), "Joules\n").unwrap();
    }
}

fn socket(root: &Path, cpu: usize, package: &str) {
    let folder = root.join(format!("devices/system/cpu/cpu{cpu}/topology"));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("physical_package_id"), package).unwrap();
}

/// What is found, unless the system refuses to count events of a CPU: then there is only its remedy to look at.
fn permitted(found: Vec<Found>) -> Option<Vec<Found>> {
    let refusal = found.iter().find_map(|found| {
        let why = found.sensor.as_ref().err()?;
        why.reason.contains("only the privileged").then_some(why)
    });
    if let Some(Unusable { remedy, .. }) = refusal {
        let remedy = remedy.as_deref().unwrap();
        assert!(
            remedy.contains("cap_perfmon") && remedy.contains("sysctl kernel.perf_event_paranoid"),
            "{remedy}"
        );
        println!("skipped: events of a whole CPU may not be counted here");
        return None;
    }
    Some(found)
}

#[test]
fn events_are_counters_of_sockets() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let names = ["energy-pkg", "energy-ram", "energy-cores", "energy-gpu", "energy-psys", "energy-gadget"];
    unit(root, &names.map(|name| (name, CLOCK)), "0-1\n");
    socket(root, 0, "0\n");
    socket(root, 1, "1\n");
    let Some(found) = permitted(perf_power::discover(&roots(root))) else { return };
    let expected = [
        "cpu:0 whole: usable",
        "cpu:1 whole: usable",
        "dram:0 whole: usable",
        "dram:1 whole: usable",
        "cpu:0 core: usable",
        "cpu:1 core: usable",
        "cpu:0 energy-gadget: it is not known what `energy-gadget` meters",
        "cpu:1 energy-gadget: it is not known what `energy-gadget` meters",
        "cpu:0 uncore: usable",
        "cpu:1 uncore: usable",
        "cpu:0 psys: usable",
    ];
    assert_eq!(words(&found), expected);
    assert!(found[0].info.source.starts_with("perf energy-pkg of CPU 0 at "), "{}", found[0].info.source);
    let info = &found[0].info;
    assert!(info.kind == Kind::Measured && !info.may_rest() && found[4].info.may_rest());
}

#[test]
fn counts_are_energy_and_dies_are_added_up() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    unit(root, &[("energy-pkg", CLOCK)], "0-1");
    socket(root, 0, "0\n");
    socket(root, 1, "0\n");
    let Some(found) = permitted(perf_power::discover(&roots(root))) else { return };
    assert_eq!(words(&found), ["cpu:0 whole: usable"]);
    let mut sensor = usable(found, "cpu:0", None);
    let begun = Instant::now();
    let (first, outer_begin) = (sensor.read().unwrap(), begun.elapsed());
    std::thread::sleep(Duration::from_millis(200));
    let inner_end = begun.elapsed();
    let energy = (sensor.read().unwrap() - first) as f64 * 1e-6;
    // Two clocks of 20 W; the readings lie somewhere between the looks at the clock.
    let [least, most] = [inner_end - outer_begin, begun.elapsed()].map(|time| 40.0 * time.as_secs_f64());
    println!("counted {energy:.4} J, between {least:.4} J and {most:.4} J");
    assert!((0.999 * least - 1e-4..1.001 * most + 1e-4).contains(&energy), "{least} {energy} {most}");
}

#[test]
fn an_event_that_opens_and_stands_still_is_dead() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    unit(root, &[("energy-pkg", DUMMY)], "0");
    let Some(found) = permitted(Probe::default().living(perf_power::discover(&roots(root)))) else { return };
    assert!(words(&found)[0].starts_with("cpu:0 whole: it opens but has not moved in "), "{found:?}");
}

#[test]
fn what_is_described_badly_is_said() {
    let said = |spoil: &dyn Fn(&Path)| {
        let folder: TempDir = tempfile::tempdir().unwrap();
        unit(folder.path(), &[("energy-pkg", CLOCK)], "0");
        spoil(&folder.path().join("bus/event_source/devices/power"));
        let roots = roots(folder.path());
        let found = perf_power::discover(&roots);
        found.first().map_or_else(|| perf_power::why_none(&roots).reason, |_| words(&found).remove(0))
    };
    assert!(
        said(&|unit| fs::write(unit.join("events/energy-pkg.unit"), "Watts").unwrap()).contains("how many joules")
    );
    assert!(
        said(&|unit| fs::remove_file(unit.join("events/energy-pkg.scale")).unwrap()).contains("how many joules")
    );
    assert!(said(&|unit| fs::write(unit.join("cpumask"), "all").unwrap()).contains("no list of CPUs"));
    assert!(said(&|unit| fs::remove_file(unit.join("cpumask")).unwrap()).contains("which CPUs"));
    assert!(said(&|unit| fs::write(unit.join("format/event"), "what").unwrap()).contains("does not describe"));
    assert!(
        said(&|unit| fs::remove_file(unit.join("events/energy-pkg")).unwrap()).contains("no events of energy")
    );
    assert!(said(&|unit| fs::remove_dir_all(unit).unwrap()).contains("no performance events"));
}

#[test]
fn powercap_is_preferred_and_events_take_its_place() {
    let machine = machine(Layout::OneSocket, "at 0s package-0/dram freeze");
    let root = machine.folder.path();
    unit(root, &[("energy-pkg", CLOCK), ("energy-ram", CLOCK)], "0");
    let sources = Sources { roots: roots(root), ..Sources::default() };
    if permitted(perf_power::discover(&sources.roots)).is_none() {
        return;
    }
    let _player = Player::start(machine.fake);
    let inventory = Inventory::take(&sources);
    let said = words(&inventory.found);
    assert!(said[0] == "cpu:0 whole: usable" && inventory.found[0].info.source.contains("package-0"), "{said:?}");
    assert!(said[2].starts_with("dram:0 whole: it opens but has not moved"), "{said:?}");
    assert!(said[3].starts_with("cpu:0 whole: the same is read from package-0"), "{said:?}");
    assert_eq!(said[4], "dram:0 whole: usable");
    assert!(said[5].starts_with("cpu:0 whole: not needed: cpu:0 is metered by package-0"), "{said:?}");
    inventory.require_measured().unwrap();
}
