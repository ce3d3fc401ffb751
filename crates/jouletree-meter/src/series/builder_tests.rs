//! Properties of series, for any samples.

use jouletree_model::{Device, DeviceClass, Kind};
use proptest::prelude::*;

use super::*;
use crate::series::{Whole, Windows};
use crate::{Anchor, Quality};

const PERIOD: Nanos = Nanos(4_000_000);

fn info() -> SensorInfo {
    SensorInfo {
        device: Device::new(DeviceClass::Cpu, 0),
        domain: None,
        source: "a test".into(),
        kind: Kind::Measured,
        range: Some(1_000_000_000),
        step: 1.0,
        period: Nanos(1_000_000),
        most_watts: 2000.0,
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
        let (mut known, mut is_connected, mut stands) = (0, false, Mono(0));
        for (wait, gain, fails) in looks {
            let before = at;
            at = Mono(at.0 + wait * 1000);
            count = (count + gain) % (1_000_000_000 + 1);
            let flags = if fails { Flags::GAP } else { Flags::default() };
            builder.take(Sample { sensor: 0, flags, at, count });
            let is_stale = at - before > STALE_LEAST;
            if !fails && is_connected && !is_stale {
                prop_assume!(gain > 0 || at - stands <= still_after(&info));
                known += gain;
            }
            is_connected = !fails;
            if gain > 0 || is_stale || fails {
                stands = at;
            }
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
        let parts: f64 = placed.into_iter().filter_map(|point| whole.take(point)).map(|joules| joules.0).sum();
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
