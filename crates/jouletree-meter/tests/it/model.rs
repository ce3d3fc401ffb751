//! The estimate for machines without a meter, on process files made up for the test.

use std::fs;
use std::time::Duration;

use jouletree_host::{Now, Roots};
use jouletree_meter::Sensor;
use jouletree_meter::model::{Given, MeasuredPair, find};
use jouletree_model::sampling::Mono;
use jouletree_model::{Kind, Watts};
use tempfile::TempDir;

const CPUINFO: &str = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n\
                       model name\t: Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz\nstepping\t: 8\n\
                       flags\t\t: fpu hypervisor\n\nprocessor\t: 1\n";

fn machine(cpuinfo: Option<&str>, stat: Option<&str>) -> (TempDir, Roots) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("cpuinfo", cpuinfo), ("stat", stat)] {
        if let Some(text) = text {
            fs::write(folder.path().join(name), text).unwrap();
        }
    }
    let roots = Roots { proc: folder.path().to_owned(), ..Roots::default() };
    (folder, roots)
}

/// Two CPUs that were busy for so many hundredths of a second; all other times are large and must not matter.
fn stat(busy: u64) -> String {
    format!("cpu  {busy} 0 0 99999 88888 0 0 77777 66666 55555\ncpu0 1 1 1 1\ncpu1 1 1 1 1\nintr 0\n")
}

/// Reads, lets the machine be busy for three CPU seconds, and reads again: joules, and the time between.
fn three_busy_seconds(sensor: &mut dyn Sensor, roots: &Roots) -> (f64, f64) {
    let first = sensor.reading().unwrap();
    fs::write(roots.proc.join("stat"), stat(800)).unwrap();
    std::thread::sleep(Duration::from_millis(15));
    let last = sensor.reading().unwrap();
    ((last.microjoules - first.microjoules) as f64 * 1e-6, (last.at - first.at).seconds())
}

#[test]
fn a_known_family_on_a_virtual_machine() {
    let (_folder, roots) = machine(Some(CPUINFO), Some(&stat(500)));
    let found = find(&roots, None);
    let mut sensor = found.sensor.unwrap();
    assert_eq!((found.info.kind, found.info.device.to_string().as_str()), (Kind::Estimated, "host/cpu:0"));
    assert!(found.info.source.contains("Sapphire Rapids") && found.info.source.contains("wall power"));
    let widest = found.info.quality.bounds.unwrap();
    assert!((widest.low - 0.45).abs() < 1e-9 && (widest.high - 2.0 * 1.89).abs() < 1e-9, "{widest:?}");

    let (joules, time) = three_busy_seconds(sensor.as_mut(), &roots);
    let energy = |idle: f64, full: f64, empty: f64| 2.0 * idle * empty * time + (full - idle) * 3.0;
    let expected = energy(1.0363, 4.1605, 1.0);
    assert!((joules - expected).abs() < 2e-6, "{joules} J, not {expected} J");
    let bounds = sensor.info().quality.bounds.unwrap();
    let low = energy(1.0363 * 0.45, 4.1605 * 0.70, 1.0) / expected;
    let high = energy(1.0363 * 1.89, 4.1605 * 1.48, 2.0) / expected;
    assert!((bounds.low - low).abs() < 1e-9 && (bounds.high - high).abs() < 1e-9, "{bounds:?}, not {low}..{high}");
    assert!(sensor.remarks()[0].starts_with("estimated"), "{:?}", sensor.remarks());
}

#[test]
fn a_processor_that_nobody_knows_takes_the_prior() {
    let (_folder, roots) = machine(None, Some(&stat(500)));
    let mut sensor = find(&roots, None).sensor.unwrap();
    let (joules, time) = three_busy_seconds(sensor.as_mut(), &roots);
    let expected = 2.0 * 0.63 * time + (3.35 - 0.63) * 3.0;
    assert!((joules - expected).abs() < 2e-6, "{joules} J, not {expected} J");
}

#[test]
fn measured_powers_replace_the_table() {
    let (_folder, roots) = machine(Some(CPUINFO), Some(&stat(500)));
    let pair = Given::Pair(MeasuredPair { idle: Watts(30.0), full: Watts(130.0) });
    let mut sensor = find(&roots, Some(&pair)).sensor.unwrap();
    assert_eq!((sensor.info().kind, sensor.info().quality.bounds), (Kind::Estimated, None));
    let (joules, time) = three_busy_seconds(sensor.as_mut(), &roots);
    // One CPU of two makes half of the difference.
    let expected = 30.0 * time + 50.0 * 3.0;
    assert!((joules - expected).abs() < 2e-6, "{joules} J, not {expected} J");
    let absurd = find(&roots, Some(&Given::Pair(MeasuredPair { idle: Watts(9.0), full: Watts(5.0) })));
    assert!(absurd.sensor.err().unwrap().remedy.unwrap().contains("larger"));
}

#[test]
fn what_cannot_be_read_is_no_number() {
    let (_folder, roots) = machine(Some(CPUINFO), None);
    assert!(find(&roots, None).sensor.err().unwrap().reason.contains("stat"));
    let (_folder, roots) = machine(Some(CPUINFO), Some(&stat(500)));
    let mut sensor = find(&roots, None).sensor.unwrap();
    fs::write(roots.proc.join("stat"), "nonsense\n").unwrap();
    assert!(sensor.read().is_err());
}

#[test]
fn on_this_machine_the_estimate_grows_and_stays_within_idle_and_full() {
    let found = find(&Roots::default(), None);
    let (most, bounds) = (found.info.most.0, found.info.quality.bounds.unwrap());
    assert!(bounds.low < 1.0 && bounds.high > 1.0, "{bounds:?}");
    let mut sensor = found.sensor.unwrap();
    let (begin, first) = (Mono::now(), sensor.read().unwrap());
    while Mono::now() - begin < jouletree_model::Nanos(50_000_000) {
        std::hint::spin_loop();
    }
    let watts = (sensor.read().unwrap() - first) as f64 * 1e-6 / (Mono::now() - begin).seconds();
    assert!(watts > 0.0 && watts < most, "{watts} W");
}
