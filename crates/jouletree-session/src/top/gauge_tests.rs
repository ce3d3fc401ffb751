//! Gauges fed with scripted samples.

use jouletree_model::sampling::{Flags, Quality};
use jouletree_model::{Device, DeviceClass, Kind, Microjoules, Watts};

use super::*;

fn info(range: Option<u64>) -> SensorInfo {
    SensorInfo {
        device: Device::new(DeviceClass::Cpu, 0),
        domain: None,
        source: "a script".into(),
        kind: Kind::Measured,
        range,
        step: Microjoules(1.0),
        period: Nanos(1_000_000),
        most: Watts(1000.0),
        is_slow: false,
        quality: Quality::default(),
    }
}

fn sample(ms: i64, count: u64, flags: Flags) -> Sample {
    Sample { sensor: 0, flags, at: Mono(ms * 1_000_000), count }
}

/// Feeds samples of a period of 20 ms and gives the sum of the increments.
fn feed(gauge: &mut Gauge, samples: impl IntoIterator<Item = Sample>) -> f64 {
    samples.into_iter().filter_map(|sample| gauge.take(sample)).map(|increment| increment.energy.0).sum()
}

#[test]
fn increments_are_what_the_counter_gained_even_when_it_wraps() {
    let mut gauge = Gauge::new(info(Some(999_999_999)));
    // 50 W, beginning half a second before the end of the range.
    let count = |ms: i64| (975_000_000 + 50_000 * ms as u64) % 1_000_000_000;
    let sum = feed(&mut gauge, (0..=100).map(|at| sample(20 * at, count(20 * at), Flags::default())));
    assert!((sum - 100.0).abs() < 1e-9 && (gauge.energy().0 - sum).abs() < 1e-9, "{sum}");
    assert!((gauge.power(Mono(2_000_000_000)).unwrap().0 - 50.0).abs() < 1e-6);
    assert_eq!(gauge.known(), Nanos(2_000_000_000));
}

#[test]
fn power_is_that_of_the_last_second() {
    let mut gauge = Gauge::new(info(None));
    // A second of 10 W, two of 30 W.
    let count = |ms: i64| if ms < 1000 { 10_000 * ms } else { 10_000_000 + 30_000 * (ms - 1000) } as u64;
    feed(&mut gauge, (0..=75).map(|at| sample(40 * at, count(40 * at), Flags::default())));
    assert!((gauge.power(Mono(3_000_000_000)).unwrap().0 - 30.0).abs() < 1e-6);
    assert_eq!(gauge.power(Mono(6_000_000_000)), None, "nothing is known of the last seconds");
}

#[test]
fn a_gap_is_in_no_increment_and_its_time_is_not_known() {
    let mut gauge = Gauge::new(info(None));
    let sum = feed(
        &mut gauge,
        [
            sample(0, 0, Flags::default()),
            sample(100, 1_000_000, Flags::default()),
            sample(200, 0, Flags::GAP),
            sample(300, 9_000_000, Flags::default()),
            sample(400, 10_000_000, Flags::default()),
            sample(900, 50_000_000, Flags::APART),
            sample(1000, 51_000_000, Flags::default()),
        ],
    );
    assert!((sum - 3.0).abs() < 1e-9, "{sum}");
    assert_eq!(gauge.known(), Nanos(300_000_000));
    assert!((gauge.energy().0 - 3.0).abs() < 1e-9);
}

#[test]
fn what_may_rest_rests_and_what_may_not_is_frozen() {
    let still = |range| {
        let mut gauge = Gauge::new(info(range));
        feed(&mut gauge, [sample(0, 0, Flags::default()), sample(100, 5_000_000, Flags::default())]);
        feed(&mut gauge, (2..=40).map(|at| sample(100 * at, 5_000_000, Flags::default())));
        gauge
    };
    let resting = still(None);
    assert_eq!(resting.power(Mono(4_000_000_000)), Some(Watts(0.0)));
    let mut frozen = still(Some(1 << 40));
    assert_eq!(frozen.power(Mono(4_000_000_000)), None);
    assert_eq!(frozen.known(), Nanos(100_000_000));
    // When it moves again, what happened meanwhile stays unknown.
    let sum =
        feed(&mut frozen, [sample(4100, 7_000_000, Flags::default()), sample(4200, 8_000_000, Flags::default())]);
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
}

#[test]
fn a_reading_that_is_told_again_changes_nothing() {
    let mut gauge = Gauge::new(info(None));
    let one = sample(100, 5_000_000, Flags::STAMPED);
    feed(&mut gauge, [sample(0, 0, Flags::STAMPED), one, one, one]);
    assert_eq!((gauge.energy(), gauge.known()), (Joules(5.0), Nanos(100_000_000)));
}
