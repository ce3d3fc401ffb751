//! Properties of series, for any samples.

use jouletree_model::sampling::{Anchor, Quality};
use jouletree_model::{Device, DeviceClass, Kind, Microjoules, Watts};
use proptest::prelude::*;

use super::*;
use crate::{Implausible, Stillness, Whole, Windows};

const PERIOD: Nanos = Nanos(4_000_000);

fn info() -> SensorInfo {
    SensorInfo {
        device: Device::new(DeviceClass::Cpu, 0),
        domain: None,
        source: "a test".into(),
        kind: Kind::Measured,
        range: Some(1_000_000_000),
        step: Microjoules(1.0),
        period: Nanos(1_000_000),
        most: Watts(2000.0),
        is_slow: false,
        quality: Quality::default(),
    }
}

/// One look at a counter: after how many microseconds, how much it gained, and whether the reading fails.
fn looks() -> impl Strategy<Value = Vec<(i64, u64, bool)>> {
    let wait = prop_oneof![20 => 100_i64..5000, 1 => 5000_i64..200_000];
    let gain = prop_oneof![1 => Just(0_u64), 3 => 1_u64..100_000];
    let fails = prop_oneof![20 => Just(false), 1 => Just(true)];
    prop::collection::vec((wait, gain, fails), 1..300)
}

proptest! {
    /// The series holds what the counter gained between readings that follow each other, and nothing else.
    #[test]
    fn energy_is_conserved(looks in looks(), start in 0_u64..1_000_000_000) {
        let info = info();
        let mut builder = SeriesBuilder::new(&info, PERIOD);
        let (mut at, mut count) = (Mono(0), start);
        // The energy since the last change counts when there is a next one.
        let (mut known, mut is_connected, mut still) = (0, false, Stillness::new(&info));
        for (wait, gain, fails) in looks {
            at = Mono(at.0 + wait * 1000);
            count = (count + gain) % (1_000_000_000 + 1);
            let flags = if fails { Flags::GAP } else { Flags::default() };
            builder.take(Sample { sensor: 0, flags, at, count });
            if !fails && is_connected {
                known += gain;
            }
            match gain > 0 || fails || !is_connected {
                true => still.moved(at),
                false => still.stays(at),
            }
            prop_assume!(!still.is_still());
            is_connected = !fails;
        }
        let mut anchors = Anchors::default();
        anchors.push(Anchor { mono: Mono(0), wall: Nanos(1_700_000_000_000_000_000), boot: Nanos(0) });
        let series = builder.series(&anchors).unwrap();
        prop_assert!((series.total().0 - known as f64 * 1e-6).abs() < 1e-6, "{:?} {}", series.total(), known);
        prop_assert_eq!(series.points().filter(|(.., gap)| *gap).count(), builder.gaps().len());
    }
}

proptest! {
    /// Handing out points as they come changes nothing, and the whole is the window that holds everything.
    #[test]
    fn a_recording_can_be_worked_through(looks in looks(), every in 1_usize..40, coverage in 0.2_f64..1.0) {
        let quality = Quality { coverage: Some(coverage), ..Quality::default() };
        let info = SensorInfo { quality, ..info() };
        let (mut kept, mut handed) = (SeriesBuilder::new(&info, PERIOD), SeriesBuilder::new(&info, PERIOD));
        let mut anchors = Anchors::default();
        let (mut at, mut count) = (Mono(0), 0);
        let (mut points, mut gaps) = (Vec::new(), 0);
        for (number, (wait, gain, fails)) in looks.into_iter().enumerate() {
            at = Mono(at.0 + wait * 1000);
            count += gain;
            if number % 60 == 0 {
                // Now and then the clock is set back by half a second.
                let wall = Nanos(1_700_000_000_000_000_000 + at.0 - number as i64 / 60 * 500_000_000);
                anchors.push(Anchor { mono: at, wall, boot: Nanos(at.0) });
            }
            let flags = if fails { Flags::GAP } else { Flags::default() };
            let sample = Sample { sensor: 0, flags, at, count };
            kept.take(sample);
            handed.take(sample);
            if number % every == 0 {
                let (finished, more) = handed.finished();
                points.extend(finished);
                gaps += more;
            }
        }
        gaps += handed.gaps().len();
        points.extend(handed.into_points());
        prop_assert_eq!(gaps, kept.gaps().len());

        let (mut wall, mut whole) = (OnWall::default(), Whole::of(&info));
        let mut placed: Vec<_> = points.into_iter().filter_map(|point| wall.take(point, &anchors)).collect();
        placed.extend(wall.end());
        let series = kept.series(&anchors).unwrap();
        let same: Vec<_> = placed.iter().map(|p| (p.time, Joules(p.microjoules as f64 * 1e-6), p.gap_follows)).collect();
        prop_assert_eq!(series.points().collect::<Vec<_>>(), same);

        let Some(extent) = series.extent() else { return Ok(()) };
        let parts: f64 = placed.into_iter().filter_map(|point| whole.take(point)).map(|grown| grown.energy.0).sum();
        prop_assert!((parts - whole.energy().0).abs() < 1e-9);
        let found = whole.estimate(extent.duration());
        let wanted = Windows::of(&series, &info).energy_between(extent.start, extent.end);
        let pairs = [
            (found.joules.0, wanted.joules.0),
            (found.low.0, wanted.low.0),
            (found.high.0, wanted.high.0),
            (found.coverage, wanted.coverage),
        ];
        for (found, wanted) in pairs {
            prop_assert!((found - wanted).abs() <= 1e-6 * wanted.abs() + 1e-9, "{} {}", found, wanted);
        }
    }
}

/// Readings of a counter that counts 40 W in ticks, with stalls: after how many readings, for how long, and how much of
/// the stall the first count after it is behind.
fn stalls() -> impl Strategy<Value = Vec<(i64, i64, f64)>> {
    let length = prop_oneof![20_i64..200, 200_i64..60_000];
    let behind = prop_oneof![Just(0.0), Just(1.0), 0.0..1.0];
    prop::collection::vec((2_i64..100, length, behind), 1..20)
}

const RAPL_TICK: i64 = 976_562;
/// 2³² steps of 61 µJ, and what the counter gained before it began.
const RAPL_RANGE: u64 = 262_143_328_850;

fn forty_watts(at: i64, start: u64) -> u64 {
    let ticks = at / RAPL_TICK * RAPL_TICK;
    (start + (ticks / 25).unsigned_abs()) % (RAPL_RANGE + 1)
}

proptest! {
    /// A constant power stays constant through stalls: the counter knows their energy, and no old count makes a peak.
    #[test]
    fn stalls_cost_no_energy_and_make_no_peaks(
        stalls in stalls(),
        (range, start) in (prop::bool::ANY, 0..RAPL_RANGE),
        domain in prop::option::of(Just("core".to_owned())),
    ) {
        // A start near the end of the range puts a wrap into the first stalls.
        let start = if start % 3 == 0 { RAPL_RANGE - start % 1_000_000_000 } else { start };
        let range = range.then_some(RAPL_RANGE);
        let info = SensorInfo { range, domain, period: Nanos(RAPL_TICK), step: Microjoules(61.035), ..info() };
        prop_assume!(range.is_some() || start < RAPL_RANGE / 2);
        let mut builder = SeriesBuilder::new(&info, PERIOD);
        let mut at = 10 * PERIOD.0;
        let take = |builder: &mut SeriesBuilder, at: i64, behind: i64| {
            let count = forty_watts(at - behind, start);
            builder.take(Sample { sensor: 0, flags: Flags::default(), at: Mono(at), count });
        };
        for (readings, milliseconds, behind) in stalls {
            for _ in 0..readings {
                take(&mut builder, at, 0);
                at += PERIOD.0;
            }
            let stall = milliseconds * 1_000_000;
            at += stall;
            take(&mut builder, at, ((stall + PERIOD.0) as f64 * behind) as i64);
            at += PERIOD.0;
        }
        for _ in 0..5 {
            take(&mut builder, at, 0);
            at += PERIOD.0;
        }
        prop_assert!(builder.gaps().is_empty(), "{:?}", builder.gaps());
        let mut anchors = Anchors::default();
        anchors.push(Anchor { mono: Mono(0), wall: Nanos(0), boot: Nanos(0) });
        let series = builder.series(&anchors).unwrap();
        let extent = series.extent().unwrap();
        prop_assert!((extent.end.0 - at).abs() < 2 * PERIOD.0 + RAPL_TICK);
        // A tick at either end.
        let tick = 40.0 * RAPL_TICK as f64 * 1e-9;
        let truth = 40.0 * extent.duration().seconds();
        prop_assert!((series.total().0 - truth).abs() <= 1.01 * tick, "{:?} {truth}", series.total());
        for span in series.spans() {
            let energy = 40.0 * span.range.duration().seconds();
            let found = span.power.0 * span.range.duration().seconds();
            prop_assert!((found - energy).abs() <= 2.01 * tick, "{found} J for {energy} J in {:?}", span.range);
        }
        let estimate = Windows::of(&series, &info).energy_between(extent.start, extent.end);
        prop_assert!(estimate.coverage == 1.0 && (estimate.low.0..=estimate.high.0).contains(&truth), "{estimate:?} {truth}");
        prop_assert!(estimate.high.0 - estimate.low.0 < 10.0 * tick, "stalls in between do not make the whole unsure");
    }
}

/// Of so many joules at 40 W, only the readings next to a gap are missing: the last one, two after it, and a tick each.
#[track_caller]
fn assert_lost(series: &EnergySeries, joules: f64) {
    let lost = joules - series.total().0;
    let most = 40.0 * (3 * PERIOD.0 + 3 * RAPL_TICK) as f64 * 1e-9;
    assert!((0.0..=most).contains(&lost), "{lost} J of {joules} J are missing");
}

/// What is not known stays so: two wraps, power that was not read, and the energy of a gap in an old count after it.
#[test]
fn stalls_that_no_counter_knows_are_gaps() {
    let rapl =
        SensorInfo { range: Some(RAPL_RANGE), period: Nanos(RAPL_TICK), step: Microjoules(61.035), ..info() };
    let run = |info: &SensorInfo, stall: i64, behind: i64, late: Flags| {
        let mut builder = SeriesBuilder::new(info, PERIOD);
        for n in 0..500 {
            let at = n * PERIOD.0 + if n >= 250 { stall } else { 0 };
            let (flags, behind) = if n == 250 { (late, behind) } else { (Flags::default(), 0) };
            builder.take(Sample { sensor: 0, flags, at: Mono(at), count: forty_watts(at - behind, 0) });
        }
        let mut anchors = Anchors::default();
        anchors.push(Anchor { mono: Mono(0), wall: Nanos(0), boot: Nanos(0) });
        let whys: Vec<Why> = builder.gaps().iter().map(|gap| gap.why).collect();
        (whys, builder.series(&anchors).unwrap())
    };
    for behind in [0, 300_000_000, 100_000_000_000] {
        let (whys, series) = run(&rapl, 200_000_000_000, behind, Flags::LATE);
        assert_eq!(whys[0], Why::Implausible(Implausible::ManyWraps), "{whys:?}");
        assert_lost(&series, 80.0);
        let most = series.spans().map(|span| span.power.0).fold(0.0, f64::max);
        assert!(most < 60.0, "{behind}: {most} W");
    }
    let derived = SensorInfo { kind: Kind::Derived, range: None, ..rapl.clone() };
    let (whys, series) = run(&derived, 1_000_000_000, 0, Flags::LATE);
    assert_eq!(whys, [Why::Stale]);
    assert_lost(&series, 80.0);
    // A batch that was dropped on the way leaves what was integrated before it was dropped.
    let (whys, series) = run(&derived, 1_000_000_000, 0, Flags::default());
    assert!(whys.is_empty(), "{whys:?}");
    assert_lost(&series, 120.0);
}

/// What is counted right after a gap that is shorter than a tick belongs to the time after it.
#[test]
fn a_gap_shorter_than_a_tick_costs_only_itself() {
    let mut builder = SeriesBuilder::new(&info(), PERIOD);
    let looks = [(0, false), (1, false), (1, true), (1, false), (2, false)];
    for ((count, fails), n) in looks.into_iter().zip(1..) {
        let flags = if fails { Flags::GAP } else { Flags::default() };
        builder.take(Sample { sensor: 0, flags, at: Mono(n * 100_000), count });
    }
    let mut anchors = Anchors::default();
    anchors.push(Anchor { mono: Mono(0), wall: Nanos(1_000_000_000), boot: Nanos(0) });
    let series = builder.series(&anchors).unwrap();
    assert!((series.total().0 - 2e-6).abs() < 1e-12 && builder.gaps().len() == 1, "{:?}", series.total());
}

/// A meter that is updated once a second and read every 4 ms does not rest in between.
#[test]
fn a_slow_meter_is_linear_between_its_updates() {
    let info = SensorInfo { range: None, period: Nanos(1_000_000_000), ..info() };
    let mut builder = SeriesBuilder::new(&info, PERIOD);
    for n in 0..2500_i64 {
        let count = (n / 250).unsigned_abs() * 50_000_000;
        builder.take(Sample { sensor: 0, flags: Flags::default(), at: Mono(n * PERIOD.0), count });
    }
    let mut anchors = Anchors::default();
    anchors.push(Anchor { mono: Mono(0), wall: Nanos(0), boot: Nanos(0) });
    let windows = Windows::of(&builder.series(&anchors).unwrap(), &info);
    let second = windows.energy_between(Nanos(3_300_000_000), Nanos(4_300_000_000));
    assert!((second.joules.0 - 50.0).abs() < 0.5 && builder.gaps().is_empty(), "{second:?}");
    assert!(second.low.0 < 30.0 && second.high.0 > 70.0, "either end is unsure by half a second: {second:?}");
}
