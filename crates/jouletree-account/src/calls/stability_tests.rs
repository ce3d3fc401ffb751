//! Decisions on constructed traces.

use super::*;

const SECOND: i64 = 1_000_000_000;

fn device(class: DeviceClass) -> Device {
    Device::new(class, 0)
}

/// Power that goes up and down by a part of its level.
fn wavering(level: f64, part: f64, count: usize) -> Vec<Watts> {
    (0..count).map(|n| Watts(level * if n % 2 == 0 { 1.0 + part } else { 1.0 - part })).collect()
}

fn trace<'a>(class: DeviceClass, celsius: &'a [f64], power: &'a [Watts], idle: Option<f64>) -> Trace<'a> {
    Trace { device: device(class), celsius, power, idle: idle.map(Watts) }
}

#[test]
fn a_machine_at_rest_is_stable() {
    let (cpu, gpu) = (wavering(34.0, 0.01, 30), wavering(19.0, 0.001, 30));
    let traces = [
        trace(DeviceClass::Cpu, &[29.0; 5], &cpu, Some(34.2)),
        trace(DeviceClass::Gpu, &[33.0; 30], &gpu, Some(19.0)),
    ];
    for limits in [StabilityLimits::fecom(), StabilityLimits::default()] {
        assert_eq!(limits.judge(&traces), Steadiness::default());
    }
}

#[test]
fn what_is_warm_wavers_or_is_not_idle_is_told() {
    let limits = StabilityLimits::default();
    // A GPU on a high plateau: steady, and far from idling. FECoM lets it pass.
    let plateau = wavering(68.0, 0.001, 20);
    let steady = [trace(DeviceClass::Gpu, &[39.0; 20], &plateau, Some(19.0))];
    let found = limits.judge(&steady).power;
    assert!(matches!(found.as_slice(), [Unstable::NotIdle { .. }]), "{found:?}");
    assert_eq!(found[0].to_string(), "host/gpu:0: 68.0 W is more than 2.00 W away from idling at 19.0 W");
    assert_eq!(StabilityLimits::fecom().judge(&steady), Steadiness::default());

    // The standard deviation of ±4 % of 20 samples is 4.1 %: more than 3 %.
    let wavers = wavering(34.0, 0.04, 20);
    let found = limits.judge(&[trace(DeviceClass::Cpu, &[60.0, 50.0, 58.0], &wavers, Some(34.0))]);
    let Unstable::Hot { celsius, .. } = found.temperature[0] else { panic!("{found:?}") };
    assert_eq!(celsius, 56.0);
    let Unstable::Varies { variation, .. } = found.power[0] else { panic!("{found:?}") };
    assert!((variation - 0.04 * (20.0_f64 / 19.0).sqrt()).abs() < 1e-12);
    // Within FECoM's tolerance of its later runs, 0.03 · 1.4.
    let tolerant = StabilityLimits { tolerance: 0.4, ..StabilityLimits::fecom() };
    assert_eq!(tolerant.judge(&[trace(DeviceClass::Cpu, &[], &wavers, None)]), Steadiness::default());
}

#[test]
fn only_the_newest_samples_count() {
    let mut power = wavering(200.0, 0.5, 100);
    power.extend(wavering(34.0, 0.001, 20));
    let celsius: Vec<f64> = [vec![90.0; 50], vec![30.0; 20]].concat();
    let limits = StabilityLimits::default();
    assert_eq!(limits.judge(&[trace(DeviceClass::Cpu, &celsius, &power, Some(34.0))]), Steadiness::default());
    let few = limits.judge(&[trace(DeviceClass::Cpu, &[30.0], &power[115..], Some(34.0))]);
    let too_few = |what, found, wanted| Unstable::TooFew { device: device(DeviceClass::Cpu), what, found, wanted };
    assert_eq!(few.temperature, [too_few("temperature", 1, 3)]);
    assert_eq!(few.power, [too_few("power", 5, 20)]);
}

/// Two kinds of trouble, and none.
fn hot() -> Steadiness {
    let hot = Unstable::Hot { device: device(DeviceClass::Cpu), celsius: 60.0, limit: 55.0 };
    Steadiness { temperature: vec![hot], power: Vec::new() }
}

fn wavers() -> Steadiness {
    let varies = Unstable::Varies { device: device(DeviceClass::Cpu), variation: 0.1, limit: 0.03 };
    Steadiness { temperature: Vec::new(), power: vec![varies] }
}

#[track_caller]
fn decisions(limits: &StabilityLimits, looks: &[&Steadiness], wanted: &[i64]) -> Decision {
    let mut check = StabilityCheck::new(limits);
    let mut looks = looks.iter();
    for seconds in wanted {
        let decision = check.next(looks.next().unwrap());
        assert_eq!(decision, Decision::Wait(Nanos(seconds * SECOND)));
    }
    assert_eq!(check.waited(), Nanos(wanted.iter().sum::<i64>() * SECOND));
    check.next(looks.next().unwrap())
}

#[test]
fn fecom_waits_thirty_seconds_even_at_rest() {
    let (fecom, calm) = (StabilityLimits::fecom(), Steadiness::default());
    assert_eq!(decisions(&fecom, &[&calm, &calm, &calm], &[10, 20]), Decision::Go);
    // Warm for two looks, then unsteady for one more.
    let (hot, wavers) = (hot(), wavers());
    let looks = [&calm, &hot, &hot, &calm, &wavers, &calm];
    assert_eq!(decisions(&fecom, &looks, &[10, 20, 20, 20, 20]), Decision::Go);
}

#[test]
fn fecom_tries_for_ever_and_a_cap_ends_that() {
    let (calm, wavers) = (Steadiness::default(), wavers());
    // Six looks at the power, half a minute of rest, and again.
    let round = [10, 20, 20, 20, 20, 20, 20, 30];
    let looks = [&wavers; 17];
    let next = decisions(&StabilityLimits::fecom(), &looks, &[round, round].concat());
    assert_eq!(next, Decision::Wait(Nanos(10 * SECOND)));
    let capped = StabilityLimits { retries: Some(1), ..StabilityLimits::fecom() };
    let mut both = [round, round].concat();
    both.pop();
    let next = decisions(&capped, &looks, &both);
    assert_eq!(next, Decision::GiveUp(wavers.power.clone()));
    let never = StabilityLimits { time_out: Nanos(0), ..StabilityLimits::fecom() };
    assert_eq!(decisions(&never, &[&wavers, &calm], &[]), Decision::Go);
}

#[test]
fn ours_does_not_wait_at_rest_and_gives_up_with_reasons() {
    let limits = StabilityLimits { time_out: Nanos(3 * SECOND), ..StabilityLimits::default() };
    let (calm, hot) = (Steadiness::default(), hot());
    assert_eq!(decisions(&limits, &[&calm], &[]), Decision::Go);
    assert_eq!(decisions(&limits, &[&hot, &calm], &[1]), Decision::Go);
    assert_eq!(decisions(&limits, &[&hot; 4], &[1, 1, 1]), Decision::GiveUp(hot.temperature.clone()));
}

#[test]
fn calls_share_a_wait() {
    let limits = StabilityLimits::default();
    let shared = |stable: Option<i64>, now: i64| {
        StabilityCheck::is_shared(&limits, stable.map(|time| Nanos(time * SECOND)), Nanos(now * SECOND))
    };
    assert!(shared(Some(100), 104) && !shared(Some(100), 105) && !shared(None, 100));
}

#[test]
fn windows_do_not_grow() {
    // Steady, then a step: only windows over the step vary.
    let samples: Vec<f64> = (0..40).map(|n| if n < 20 { 10.0 } else { 30.0 }).collect();
    assert_eq!(disjoint_variation(&samples, 10), [0.0; 4]);
    let sliding = sliding_variation(&samples, 10);
    assert_eq!((sliding.len(), sliding.iter().filter(|variation| **variation > 0.0).count()), (31, 9));
    assert_eq!(disjoint_variation(&samples[..19], 10).len(), 1);
    assert!(disjoint_variation(&[0.0; 10], 5).is_empty());
}
