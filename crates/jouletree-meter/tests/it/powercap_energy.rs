//! Energy counted through the real sensor is the script's energy in closed form, within the bound of a tick.

use test_support::powercap as common;

use std::time::Duration;

use jouletree_series::{Advance, Counter};

use common::{MS, machine, play, tick_bound};
use fake_powercap::Layout;
use proptest::prelude::*;

#[test]
fn scripts_are_counted_within_a_tick_at_any_rate_through_a_wrap() {
    for (script, most) in [
        ("50W", 50.0),
        ("ramp 20W to 200W for 2s, 20W", 200.0),
        ("square 20W to 80W every 3ms", 80.0),
        ("walk 10W to 300W by 40W every 7ms for 2s", 300.0),
    ] {
        for layout in [Layout::OneSocket, Layout::Amd, Layout::MmioOnly] {
            let zone = if layout == Layout::MmioOnly { "mmio/package-0" } else { "package-0" };
            for every in [1, 4, 20, 500] {
                let mut machine = machine(layout, &format!("start 0.2s before wrap\n{zone}: {script}"));
                let mut sensor = machine.sensor("cpu:0", None);
                let (counter, said) = play(&mut machine, sensor.as_mut(), vec![every * MS; 2000 / every as usize]);
                assert!(said[1..].iter().all(|advance| matches!(advance, Advance::By(_))), "{script} {said:?}");
                let truth = machine.fake.oracle().energy(zone, Duration::ZERO, machine.fake.now()).unwrap().0;
                let counted = counter.total() as f64 * 1e-6;
                // A microjoule may be lost to the kernel's rounding at every reading.
                let bound = tick_bound(most) + said.len() as f64 * 1e-6;
                assert!((counted - truth).abs() <= bound, "{script} at {every} ms: {counted} {truth} ± {bound}");
            }
        }
    }
}

/// A segment of a script: at most 900 W.
fn segment() -> impl Strategy<Value = String> {
    let (power, ms) = (0_u32..900, 1_u32..3000);
    prop_oneof![
        (power.clone(), ms.clone()).prop_map(|(power, ms)| format!("{power}W for {ms}ms")),
        (power.clone(), power.clone(), ms.clone()).prop_map(|(a, b, ms)| format!("ramp {a}W to {b}W for {ms}ms")),
        (power.clone(), power.clone(), 1_u32..20, ms.clone())
            .prop_map(|(a, b, period, ms)| format!("square {a}W to {b}W every {period}ms for {ms}ms")),
        (0_u32..400, 400_u32..900, 1_u32..100, 1_u32..50, ms)
            .prop_map(|(a, b, by, every, ms)| format!("walk {a}W to {b}W by {by}W every {every}ms for {ms}ms")),
    ]
}

/// What happens between two looks at the counter.
#[derive(Debug, Clone)]
enum CounterRead {
    After(Duration),
    Lost(Duration),
}

fn look() -> impl Strategy<Value = CounterRead> {
    prop_oneof![
        8 => (1_u64..200_000).prop_map(|us| CounterRead::After(Duration::from_micros(us))),
        1 => (1_u64..60).prop_map(|seconds| CounterRead::After(Duration::from_secs(seconds))),
        1 => (130_u64..300).prop_map(|seconds| CounterRead::After(Duration::from_secs(seconds))),
        1 => (1_u64..5000).prop_map(|ms| CounterRead::Lost(Duration::from_millis(ms))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What is counted, and what happened in the gaps, is what was used: for any script, however it is looked at.
    #[test]
    fn energy_is_conserved(
        segments in prop::collection::vec(segment(), 1..6),
        seed in any::<u32>(),
        before_wrap in 0_u32..5000,
        looks in prop::collection::vec(look(), 1..60),
    ) {
        let script = format!("seed {seed}\nstart {before_wrap}ms before wrap\npackage-0: {}", segments.join(", "));
        let mut machine = machine(Layout::OneSocket, &script);
        let mut sensor = machine.sensor("cpu:0", None);
        let mut counter = Counter::new(sensor.info());
        prop_assert_eq!(counter.take(machine.now(), sensor.read().unwrap()), Advance::Begins);
        let info = sensor.info();
        // The longest time for which the counter cannot have wrapped twice, within a millisecond.
        let seconds = info.range.unwrap() as f64 * 1e-6 / info.most.0;
        let longest = Duration::from_secs_f64(seconds) - Duration::from_millis(20);
        // Each stretch without a gap has two ends, each of which may be off by a tick.
        let (mut in_gaps, mut stretches) = (0.0, 1.0);
        for look in &looks {
            let from = machine.fake.now();
            let (CounterRead::After(time) | CounterRead::Lost(time)) = look;
            let is_lost = matches!(look, CounterRead::Lost(_));
            if is_lost {
                counter.lose();
            }
            machine.fake.advance(*time).unwrap();
            let advance = counter.take(machine.now(), sensor.read().unwrap());
            if let Advance::By(_) = advance {
                prop_assert!(!is_lost && *time <= longest + MS);
            } else {
                prop_assert!(is_lost || *time >= longest - MS, "a gap without a reason: {:?}", advance);
                in_gaps += machine.fake.oracle().energy("package-0", from, machine.fake.now()).unwrap().0;
                stretches += 1.0;
            }
        }
        let all = machine.fake.oracle().energy("package-0", Duration::ZERO, machine.fake.now()).unwrap().0;
        let counted = counter.total() as f64 * 1e-6;
        let bound = stretches * tick_bound(machine.fake.oracle().most("package-0").unwrap().0);
        prop_assert!((counted + in_gaps - all).abs() <= bound, "{} + {} ≠ {} ± {}", counted, in_gaps, all, bound);
        prop_assert!(counted <= all + bound);
    }
}
