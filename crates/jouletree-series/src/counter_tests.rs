use jouletree_model::{Device, DeviceClass, Kind, Microjoules, Watts};
use proptest::prelude::*;

use super::*;

/// 2³² − 1 steps of 61.035 µJ, as the kernel says for most processors of Intel.
const RANGE: u64 = 262_143_328_850;
const SECOND: i64 = 1_000_000_000;

fn info(range: Option<u64>, step: f64) -> SensorInfo {
    SensorInfo {
        device: Device::new(DeviceClass::Cpu, 0),
        domain: None,
        source: "a test".into(),
        kind: Kind::Measured,
        range,
        step: Microjoules(step),
        period: Nanos(1_000_000),
        most: Watts(2000.0),
        is_slow: false,
        quality: jouletree_model::sampling::Quality::default(),
    }
}

fn rapl() -> Counter {
    Counter::new(&info(Some(RANGE), 61.035))
}

#[test]
fn the_first_reading_begins_and_the_next_add() {
    let mut counter = rapl();
    assert_eq!(counter.take(Mono(0), 1000), Advance::Begins);
    assert_eq!(counter.take(Mono(SECOND), 51_001_000), Advance::By(51_000_000));
    assert_eq!(counter.take(Mono(SECOND + 1), 51_001_000), Advance::By(0));
    assert_eq!(counter.total(), 51_000_000);
}

#[test]
fn a_wrap_counts_the_step_from_the_largest_value_to_zero() {
    let mut counter = rapl();
    counter.take(Mono(0), RANGE);
    assert_eq!(counter.take(Mono(1_000_000), 0), Advance::By(61));
    counter.take(Mono(2_000_000), RANGE - 610);
    let mut counter = rapl();
    counter.take(Mono(0), RANGE - 610);
    assert_eq!(counter.take(Mono(1_000_000), 61), Advance::By(610 + 61 + 61));
}

#[test]
fn a_counter_that_is_set_back_is_no_wrap() {
    let mut counter = rapl();
    counter.take(Mono(0), 5_000_000);
    assert_eq!(counter.take(Mono(1_000_000), 4_000_000), Advance::Gap(Implausible::Backwards));
    assert_eq!(counter.take(Mono(2_000_000), 4_050_000), Advance::By(50_000), "it counts on from there");
    let mut endless = Counter::new(&info(None, 1.0));
    endless.take(Mono(0), 7);
    assert_eq!(endless.take(Mono(1), 6), Advance::Gap(Implausible::Backwards));
}

#[test]
fn more_than_the_hardware_can_use_is_a_gap() {
    let mut counter = rapl();
    counter.take(Mono(0), 0);
    assert_eq!(counter.take(Mono(1_000_000), 43_000_000), Advance::Gap(Implausible::TooMuch));
    assert_eq!(counter.total(), 0);
}

#[test]
fn the_energy_of_a_stall_may_be_in_the_second_reading_after_it() {
    for (first, second) in [(0, 120_000_000), (60_000_000, 60_040_000), (120_000_000, 40_000)] {
        let mut counter = rapl();
        counter.take(Mono(0), RANGE - 7);
        let shown = |energy: u64| (RANGE - 7 + energy) % (RANGE + 61);
        assert_eq!(counter.take(Mono(3 * SECOND), shown(first)), Advance::By(first));
        assert_eq!(counter.take(Mono(3 * SECOND + 1_000_000), shown(first + second)), Advance::By(second));
        // And not in the third.
        let third = shown(first + second + 60_000_000);
        let said = counter.take(Mono(3 * SECOND + 2_000_000), third);
        assert_eq!(said, Advance::Gap(Implausible::TooMuch), "{first} {second}");
    }
}

#[test]
fn a_time_that_allows_two_wraps_is_a_gap_whatever_is_read() {
    let mut counter = rapl();
    // The range at 2 kW, without the time that readings may be late.
    let longest = Nanos((RANGE as f64 / 2000.0 * 1e3) as i64) - STALL;
    assert!(longest > Nanos(130 * SECOND) && longest < Nanos(132 * SECOND), "{longest}");
    counter.take(Mono(0), 500);
    assert_eq!(counter.take(Mono(longest.0 + SECOND), 501), Advance::Gap(Implausible::ManyWraps));
    assert_eq!(counter.take(Mono(2 * longest.0), 601), Advance::By(100));
}

#[test]
fn a_count_beyond_the_range_ends_what_is_known() {
    let mut counter = rapl();
    counter.take(Mono(0), 500);
    assert_eq!(counter.take(Mono(1), RANGE + 1), Advance::Gap(Implausible::OutOfRange));
    assert_eq!(counter.take(Mono(2), 500), Advance::Begins);
    counter.lose();
    assert_eq!(counter.take(Mono(3), 600), Advance::Begins);
    assert_eq!(counter.total(), 0);
}

#[test]
fn a_coarse_counter_may_jump_by_a_step_at_once() {
    // The platform's counter of some servers counts whole joules: 50 J of steps in no time would be too much for
    // 2 kW, a step is not.
    let mut counter = Counter::new(&info(Some(4_294_967_295_000_000), 1e6));
    counter.take(Mono(0), 7_000_000);
    assert_eq!(counter.take(Mono(1000), 8_000_000), Advance::By(1_000_000));
}

#[test]
fn time_that_runs_backwards_does_no_harm() {
    let mut counter = rapl();
    counter.take(Mono(SECOND), 500);
    assert_eq!(counter.take(Mono(0), 600), Advance::By(100));
}

proptest! {
    /// Whatever is read, nothing panics, and the total is the sum of what was said.
    #[test]
    fn any_readings_do_no_harm(
        readings in prop::collection::vec((any::<i64>(), any::<u64>(), any::<bool>()), 0..50),
        range in prop::option::of(any::<u64>()),
        step in prop_oneof![0.0..1e6, Just(f64::NAN), Just(f64::INFINITY)],
    ) {
        let mut counter = Counter::new(&info(range, step));
        let mut sum = 0_u64;
        for (at, raw, lost) in readings {
            if lost {
                counter.lose();
            }
            if let Advance::By(energy) = counter.take(Mono(at), raw) {
                sum = sum.saturating_add(energy);
            }
        }
        prop_assert_eq!(counter.total(), sum);
    }

    /// A true count of hardware steps, seen through a 32-bit register and the kernel's rounding: what is counted is
    /// what was used, to a microjoule per reading, whenever no gap was said; and no gap is said without a reason.
    #[test]
    fn steps_are_conserved_through_wraps(
        start in any::<u32>(),
        advances in prop::collection::vec((1_i64..2_000_000_000, 0.0..1.0), 1..100),
    ) {
        let (mut counter, mut at, mut true_steps) = (rapl(), 0_i64, u64::from(start));
        let shown = |steps: u64| (steps % (1 << 32)) * 61_035 / 1000;
        counter.take(Mono(at), shown(true_steps));
        for (time, load) in &advances {
            at += time;
            true_steps += (load * 2000.0 * (*time as f64) * 1e-9 * 1e6 / 61.035) as u64;
            prop_assert!(matches!(counter.take(Mono(at), shown(true_steps)), Advance::By(_)));
        }
        let used = (true_steps - u64::from(start)) as f64 * 61.035;
        prop_assert!((counter.total() as f64 - used).abs() <= advances.len() as f64 + 1.0);
    }
}
