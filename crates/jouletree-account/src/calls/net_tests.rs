//! Net energies of constructed power, the true energy of which is known.

use proptest::prelude::*;

use super::*;

const SECOND: f64 = 1e9;

fn at(seconds: f64) -> Nanos {
    Nanos((seconds * SECOND).round() as i64)
}

fn range(start: f64, end: f64) -> TimeRange {
    TimeRange { start: at(start), end: at(end) }
}

/// Readings every `period` seconds of a power that is constant between the given instants.
fn readings(pieces: &[(f64, f64)], period: f64, end: f64, mut noise: impl FnMut() -> f64) -> EnergySeries {
    let used_by = |time: f64| -> f64 {
        let mut from = 0.0;
        let mut used = 0.0;
        for (until, watts) in pieces {
            used += watts * (until.min(time) - from).max(0.0);
            from = *until;
        }
        used
    };
    let mut series = EnergySeries::default();
    let mut wavered = 0.0;
    for reading in 0..=(end / period).round() as i64 {
        let time = reading as f64 * period;
        series.push(at(time), Joules(used_by(time) + wavered), false).unwrap();
        wavered += noise();
    }
    series
}

/// Up and down, one watt around the level of readings every half second.
fn up_and_down() -> impl FnMut() -> f64 {
    let mut is_up = false;
    move || {
        is_up = !is_up;
        if is_up { 0.5 } else { -0.5 }
    }
}

/// 30 s at 10 W, a call of 10 s at 110 W, a tail of 4 s at 30 W, idling.
const CALL: [(f64, f64); 4] = [(30.0, 10.0), (40.0, 110.0), (44.0, 30.0), (80.0, 10.0)];

fn rule() -> NetRule {
    NetRule::for_class(DeviceClass::Gpu)
}

#[test]
fn a_window_between_readings_is_exact() {
    let series = readings(&CALL, 0.5, 80.0, up_and_down());
    let net = CallMeter::new(&series, rule()).net(range(30.0, 40.0), &[range(10.0, 30.0)], None);
    let baseline = net.baseline.unwrap();
    assert_eq!((net.readings, baseline.blocks, baseline.known), (20, 40, at(20.0)));
    assert!((net.gross.0 - 1100.0).abs() < 1e-6 && (baseline.power.0 - 10.0).abs() < 1e-6, "{net:?}");
    assert!((net.net.unwrap().0 - 1000.0).abs() < 1e-6, "{net:?}");
    // One watt up and one down, forty times: the deviation is √(40/39) W, that of half a second half of it in joules.
    let deviation = (40.0_f64 / 39.0).sqrt();
    assert!((baseline.deviation.0 - deviation).abs() < 1e-6);
    let wanted = 0.5 * deviation * (20.0_f64 + 400.0 / 40.0).sqrt();
    assert!((net.standard_error.unwrap().0 - wanted).abs() < 1e-6, "{net:?}");
    assert_eq!(net.below, None);
}

/// The reading in which the call begins is mostly the call's; it is no part of the baseline.
#[test]
fn the_baseline_ends_with_the_last_whole_reading() {
    let pieces = [(30.2, 10.0), (40.0, 110.0), (80.0, 10.0)];
    let series = readings(&pieces, 0.5, 80.0, || 0.0);
    let baseline =
        CallMeter::new(&series, rule()).net(range(30.2, 40.0), &[range(10.2, 30.2)], None).baseline.unwrap();
    assert_eq!((baseline.blocks, baseline.known), (39, at(19.5)));
    assert!((baseline.power.0 - 10.0).abs() < 1e-9 && baseline.deviation.0 < 1e-6, "{baseline:?}");
}

#[test]
fn the_tail_is_what_stays_up() {
    let series = readings(&CALL, 0.5, 80.0, up_and_down());
    let meter = CallMeter::new(&series, rule());
    let tail = meter.net(range(30.0, 40.0), &[range(10.0, 30.0)], None).tail.unwrap();
    // The mean of the time ahead is over 10 W + 2 W + noise until 43.5 s, when half a second of 30 W is left.
    assert_eq!((tail.range, tail.is_cut), (range(40.0, 44.0), false));
    assert!((tail.gross.0 - 120.0).abs() < 1e-6 && (tail.net.0 - 80.0).abs() < 1e-6, "{tail:?}");
    // Another call begins before it is over.
    let cut = meter.net(range(30.0, 40.0), &[range(10.0, 30.0)], Some(at(42.0))).tail.unwrap();
    assert_eq!((cut.range, cut.is_cut), (range(40.0, 42.0), true));
    assert_eq!(meter.net(range(30.0, 40.0), &[range(10.0, 30.0)], Some(at(40.0))).tail, None);
    // Nothing stays up after idling.
    let idle = meter.net(range(60.0, 61.0), &[range(46.0, 60.0)], None).tail.unwrap();
    assert_eq!((idle.range.duration(), idle.net, idle.is_cut), (Nanos(0), Joules(0.0), false));
}

#[test]
fn the_next_call_does_not_learn_idling_from_a_tail() {
    let pieces = [(30.0, 10.0), (40.0, 110.0), (44.0, 30.0), (50.0, 10.0), (55.0, 110.0), (80.0, 10.0)];
    let series = readings(&pieces, 0.5, 80.0, up_and_down());
    let meter = CallMeter::new(&series, rule());
    let busy = [range(30.0, 40.0), range(50.0, 55.0)];
    let occupied = crate::calls::occupied(&meter, &busy, &[], Nanos(0));
    assert_eq!(occupied, [range(30.0, 44.0), range(50.0, 55.0)]);
    let quiet = crate::calls::quiet(&occupied, Nanos(0), at(50.0), rule().baseline);
    assert_eq!(quiet, [range(44.0, 50.0), range(16.0, 30.0)]);
    let net = meter.net(range(50.0, 55.0), &quiet, None);
    assert!((net.net.unwrap().0 - 500.0).abs() < 1e-6, "{net:?}");
}

#[test]
fn what_is_below_resolution_is_told_and_not_zero() {
    let series = readings(&CALL, 0.5, 80.0, up_and_down());
    let meter = CallMeter::new(&series, rule());
    let quiet = [range(10.0, 30.0)];
    // Shorter than a reading, though the power is high.
    let short = meter.net(range(32.1, 32.3), &quiet, None);
    assert_eq!((short.readings, short.below), (0, Some(BelowResolution::NoReading)));
    assert!((short.gross.0 - 0.2 * 110.0).abs() < 1.0 && short.net.is_some());
    // Idling, longer than a reading.
    let idle = meter.net(range(50.0, 53.0), &quiet, None);
    assert_eq!(idle.below, Some(BelowResolution::WithinNoise));
    assert!(idle.net.unwrap().0.abs() < idle.resolution().unwrap().0);
    // A step of the counter that is larger than what was used.
    let coarse = NetRule { step: Joules(4000.0), ..rule() };
    let coarse = CallMeter::new(&series, coarse).net(range(30.0, 40.0), &quiet, None);
    assert_eq!(coarse.below, Some(BelowResolution::WithinNoise));
}

#[test]
fn without_quiet_time_there_is_gross_and_no_net() {
    let series = readings(&CALL, 0.5, 80.0, up_and_down());
    let meter = CallMeter::new(&series, rule());
    for quiet in [&[][..], &[range(28.0, 30.0)], &[range(100.0, 120.0)]] {
        let net = meter.net(range(30.0, 40.0), quiet, None);
        assert_eq!((net.baseline, net.net, net.standard_error, net.tail), (None, None, None, None));
        assert!((net.gross.0 - 1100.0).abs() < 1e-6);
    }
    // Outside of all that is known.
    let outside = meter.net(range(90.0, 95.0), &[range(10.0, 30.0)], None);
    assert_eq!((outside.known, outside.gross, outside.net, outside.tail), (Nanos(0), Joules(0.0), None, None));
}

#[test]
fn readings_far_denser_than_blocks_are_put_together() {
    let series = readings(&CALL, 0.004, 80.0, || 0.0);
    let net = CallMeter::new(&series, rule()).net(range(30.0, 40.0), &[range(10.0, 30.0)], None);
    let baseline = net.baseline.unwrap();
    assert!((40..=45).contains(&baseline.blocks), "{baseline:?}");
    assert!((net.net.unwrap().0 - 1000.0).abs() < 1e-6, "{net:?}");
}

/// Whenever a call begins and ends between readings, and whatever its power, the truth is in the 95 % interval as often as
/// it should be: of 2000, three standard deviations less than 1900 at least.
#[test]
fn intervals_hold_the_truth() {
    let mut state = 2_718_281_828_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut inside = 0;
    for _ in 0..2000 {
        let (start, length, watts) = (30.0 + random(), 0.6 + 20.0 * random(), 10.0 + 100.0 * random().powi(3));
        let pieces = [(start, 10.0), (start + length, watts), (80.0, 10.0)];
        // The sum of four uniform numbers is nearly normal.
        let series = readings(&pieces, 0.5, 80.0, || 0.4 * ((0..4).map(|_| random()).sum::<f64>() - 2.0));
        let quiet = [range(start - 20.0, start)];
        let net = CallMeter::new(&series, rule()).net(range(start, start + length), &quiet, None);
        let off = net.net.unwrap().0 - (watts - 10.0) * length;
        inside += usize::from(off.abs() <= net.resolution().unwrap().0);
    }
    assert!(inside >= 1871, "{inside} of 2000");
}

proptest! {
    /// Windows that follow each other add up, wherever they are cut.
    #[test]
    fn gross_energy_is_additive(cuts in proptest::collection::vec(0.0..80.0_f64, 1..20)) {
        let series = readings(&CALL, 0.5, 80.0, up_and_down());
        let meter = CallMeter::new(&series, rule());
        let mut cuts = cuts;
        cuts.extend([0.0, 80.0]);
        cuts.sort_by(f64::total_cmp);
        let sum: f64 = cuts.windows(2).map(|pair| meter.net(range(pair[0], pair[1]), &[], None).gross.0).sum();
        prop_assert!((sum - series.total().0).abs() < 1e-6);
    }
}
