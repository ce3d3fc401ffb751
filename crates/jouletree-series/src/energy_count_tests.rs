//! One count for all: what it gives is the energy of the recorder's series, sample by sample.

use jouletree_model::sampling::{Anchor, Anchors, Quality};
use jouletree_model::{Device, DeviceClass, Microjoules, Watts};
use proptest::prelude::*;

use super::*;
use crate::{SeriesBuilder, course_shown, still_after};

const PERIOD: Nanos = Nanos(4_000_000);
const RANGE: u64 = 1_000_000_000;
const FLAGS: [Flags; 5] = [Flags(0), Flags::GAP, Flags::APART, Flags::LATE, Flags::STAMPED];

fn info(kind: Kind, range: Option<u64>) -> SensorInfo {
    SensorInfo {
        device: Device::new(DeviceClass::Cpu, 0),
        domain: None,
        source: "a script".into(),
        kind,
        range,
        step: Microjoules(1.0),
        period: Nanos(1_000_000),
        most: Watts(1000.0),
        is_slow: false,
        quality: Quality::default(),
    }
}

fn sample(at: i64, count: u64, flags: Flags) -> Sample {
    Sample { sensor: 0, flags, at: Mono(at * 1_000_000), count }
}

/// Samples of any sensor: after how many microseconds, how much the count gained, the flags, and whether the count is
/// repeated, set to anything or beyond its range.
fn looks() -> impl Strategy<Value = Vec<(i64, u64, Flags, u8)>> {
    let wait =
        prop_oneof![20 => 100_i64..5000, 2 => 5000_i64..300_000, 1 => Just(0_i64), 1 => 300_000_i64..3_000_000];
    let gain = prop_oneof![2 => Just(0_u64), 3 => 1_u64..100_000, 1 => 0_u64..30_000_000];
    let flags = prop_oneof![20 => Just(0_usize), 4 => 1_usize..5].prop_map(|at| FLAGS[at]);
    let odd = prop_oneof![30 => Just(0_u8), 1 => 1_u8..4];
    // Runs of the same look make counts that rest, or are stuck.
    let run = (wait, gain, flags, odd, prop_oneof![6 => Just(1_usize), 1 => 2_usize..120]);
    prop::collection::vec(run, 1..120).prop_map(|runs| {
        let repeat = |(wait, gain, flags, odd, times): (_, _, _, _, usize)| {
            std::iter::repeat_n((wait, gain, flags, odd), times).take(times)
        };
        runs.into_iter().flat_map(repeat).collect()
    })
}

fn samples(looks: Vec<(i64, u64, Flags, u8)>, start: u64) -> Vec<Sample> {
    let (mut at, mut count) = (0, start);
    let mut sample_of = |(wait, gain, flags, odd): (i64, u64, Flags, u8)| {
        at += wait * 1000;
        count = match odd {
            0 => (count + gain) % (RANGE + 1),
            1 => count,
            2 => count / 2,
            _ => RANGE + 1 + gain,
        };
        let shown = Sample { sensor: 0, flags, at: Mono(at), count };
        count %= RANGE + 1;
        shown
    };
    looks.into_iter().map(&mut sample_of).collect()
}

proptest! {
    /// A series holds every microjoule that is counted, and both find the same gaps. One stretch is in no series: that
    /// from the first count after a gap in a stall, which may be an old one, to the next change.
    #[test]
    fn the_series_of_a_recording_holds_what_is_counted(
        looks in looks(),
        start in 0..RANGE,
        is_derived: bool,
        range in prop::option::weighted(0.7, Just(RANGE)),
    ) {
        let info = info(if is_derived { Kind::Derived } else { Kind::Measured }, range);
        let (mut count, mut builder) = (EnergyCount::new(&info).read_every(PERIOD), SeriesBuilder::new(&info, PERIOD));
        let (mut sum, mut left_out, mut gaps) = (0, 0, 0);
        let (mut is_open, mut is_old) = (false, false);
        for sample in samples(looks, start) {
            let Progress { lost, since, step } = count.take(&sample);
            builder.take(sample);
            // A gap is one, however many reasons there are for it; nothing is open before a count is sure.
            let is_loss = lost.is_some();
            gaps += usize::from(is_loss && (is_open || is_old));
            (is_open, is_old) = (is_open && !is_loss, is_old && !is_loss);
            match step {
                Some(CountStep::Grew(grown)) => {
                    prop_assert!(grown > 0 && since.is_some_and(|since| since > Nanos(0)) && !is_loss);
                    sum += grown;
                    left_out += if is_old { grown } else { 0 };
                    (is_open, is_old) = (true, false);
                }
                Some(CountStep::Restarts) => {
                    prop_assert!(matches!(lost, Some(Why::Implausible(_))));
                    is_old = since > Some(course_shown(PERIOD)) && !sample.flags.has(Flags::STAMPED);
                    is_open = !is_old;
                }
                Some(CountStep::Same) => {
                    prop_assert!(!is_loss);
                    (is_open, is_old) = (is_open || count.is_still(), is_old && !count.is_still());
                }
                Some(CountStep::Begins) => is_open = true,
                None => {}
            }
            prop_assert_eq!(count.total(), sum);
        }
        prop_assert_eq!(builder.gaps().len(), gaps);
        let mut anchors = Anchors::default();
        anchors.push(Anchor { mono: Mono(0), wall: Nanos(1_700_000_000_000_000_000), boot: Nanos(0) });
        let series = builder.series(&anchors).unwrap();
        let wanted = (sum - left_out) as f64 * 1e-6;
        prop_assert!((series.total().0 - wanted).abs() < 5e-7, "{:?} {wanted}", series.total());
    }

    /// A count that is never stuck is that of the plain counter: only failed and separate readings are gaps.
    #[test]
    fn without_rules_it_is_the_counter(looks in looks(), start in 0..RANGE, is_derived: bool) {
        let info = info(if is_derived { Kind::Derived } else { Kind::Measured }, Some(RANGE));
        let (mut count, mut counter) = (EnergyCount::new(&info).never_stuck(), Counter::new(&info));
        let mut last = Mono(-1);
        for sample in samples(looks, start).into_iter().filter(|sample| sample.at > std::mem::replace(&mut last, sample.at)) {
            count.take(&sample);
            if sample.flags.has(Flags::GAP) || sample.flags.has(Flags::APART) {
                counter.lose();
            }
            if !sample.flags.has(Flags::GAP) {
                counter.take(sample.at, sample.count);
            }
            prop_assert_eq!(count.total(), counter.total());
        }
    }
}

#[test]
fn every_flag_has_one_meaning() {
    let info = info(Kind::Derived, None);
    let mut count = EnergyCount::new(&info).read_every(PERIOD);
    let mut take = |at, count_shown, flags| count.take(&sample(at, count_shown, flags));
    let lost = |why, step| Progress { lost: Some(why), since: None, step };
    let after = |ms: i64, step| Progress { lost: None, since: Some(Nanos(ms * 1_000_000)), step: Some(step) };
    let begins = Some(CountStep::Begins);
    assert_eq!(take(0, 10, Flags::default()), Progress { lost: None, since: None, step: begins });
    assert_eq!(take(4, 15, Flags::STAMPED), after(4, CountStep::Grew(5)));
    assert_eq!(
        take(4, 15, Flags::STAMPED),
        Progress { lost: None, since: None, step: None },
        "a stamp is repeated"
    );
    assert_eq!(take(8, 15, Flags::LATE), after(4, CountStep::Same), "late by little");
    assert_eq!(take(12, 0, Flags::GAP), lost(Why::Failed, None));
    assert_eq!(take(16, 99, Flags::default()), lost(Why::Failed, None).step_after());
    assert_eq!(take(20, 110, Flags::APART), lost(Why::Apart, begins));
    assert_eq!(take(1020, 120, Flags::LATE), lost(Why::Stale, begins));
    assert_eq!(
        take(1021, 3, Flags::default()),
        Progress {
            lost: Some(Why::Implausible(Implausible::Backwards)),
            since: Some(Nanos(1_000_000)),
            step: Some(CountStep::Restarts),
        }
    );
    assert_eq!(count.total(), 5);
}

impl Progress {
    /// That of the first sample after a failed one.
    fn step_after(self) -> Progress {
        Progress { lost: None, step: Some(CountStep::Begins), ..self }
    }
}

#[test]
fn a_counter_that_is_always_on_is_stuck_and_a_meter_rests() {
    let run = |count: EnergyCount| {
        let mut count = count;
        let mut losses = Vec::new();
        for at in 0..100 {
            let shown = if at < 50 { 7 } else { 7 + 1000 };
            losses.extend(count.take(&sample(at * 20, shown, Flags::default())).lost);
        }
        (count.total(), losses)
    };
    let always_on = info(Kind::Measured, Some(RANGE));
    assert!(still_after(&always_on) < Nanos(1_000_000_000));
    // It is stuck twice: what it moved by between is not known.
    assert_eq!(run(EnergyCount::new(&always_on)), (0, vec![Why::Still, Why::Still]));
    assert_eq!(run(EnergyCount::new(&always_on).never_stuck()), (1000, Vec::new()));
    assert_eq!(run(EnergyCount::new(&info(Kind::Measured, None))), (1000, Vec::new()));
}

#[test]
fn a_rest_that_is_counted_starts_anew() {
    let mut count = EnergyCount::new(&info(Kind::Measured, None));
    let mut rests = 0;
    for at in 0..=100 {
        count.take(&sample(at * 20, 7, Flags::default()));
        if count.is_still() {
            rests += 1;
            count.rest_is_counted(Mono(at * 20_000_000));
        }
    }
    // 2 s of readings that are 20 ms apart; more than 250 ms of them make a rest.
    assert_eq!(rests, 7);
}
