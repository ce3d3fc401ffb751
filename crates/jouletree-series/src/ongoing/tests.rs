//! Windows of a recording that goes on, against the whole series and all shares at once.

use jouletree_model::sampling::{
    Anchor, Bounds, Flags, GpuSample, GpuShare, GpuUse, Quality, Sample, ShareBasis, ShareSample,
};
use jouletree_model::{Device, DeviceClass, EnergySeries, Joules, Kind, Microjoules, TimeRange, Watts};
use proptest::prelude::*;

use super::*;
use crate::share::{Increment, Split};
use crate::{SeriesBuilder, Windows};

const MS: i64 = 1_000_000;
const PERIOD: Nanos = Nanos(4 * MS);
const EPOCH: i64 = 1_700_000_000_000_000_000;

fn sensor(class: DeviceClass, index: u32, domain: Option<&str>) -> SensorInfo {
    let is_gpu = class == DeviceClass::Gpu;
    SensorInfo {
        device: Device::new(class, index),
        domain: domain.map(str::to_owned),
        source: "a made-up course of counts".into(),
        kind: Kind::Measured,
        range: (!is_gpu).then_some(262_143_328_850),
        step: Microjoules(61.035),
        period: if is_gpu { Nanos(20 * MS) } else { Nanos(MS) },
        most: Watts(2000.0),
        is_slow: is_gpu,
        quality: Quality {
            lag: if is_gpu { Nanos(10 * MS) } else { Nanos(0) },
            coverage: is_gpu.then_some(0.25),
            bounds: (index == 1).then_some(Bounds { low: 0.7, high: 1.48 }),
        },
    }
}

fn sensors() -> Vec<SensorInfo> {
    vec![
        sensor(DeviceClass::Cpu, 0, None),
        sensor(DeviceClass::Cpu, 0, Some("core")),
        sensor(DeviceClass::Cpu, 1, None),
        sensor(DeviceClass::Gpu, 0, None),
        sensor(DeviceClass::Machine, 0, None),
    ]
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below.max(1)
    }
}

/// What a session brings in the `number`th tenth of a second.
fn batch(dice: &mut Dice, counts: &mut [u64], number: u64) -> Batch {
    let mut batch = Batch { number, ..Batch::default() };
    let (start, end) = (number as i64 * 100 * MS, (number as i64 + 1) * 100 * MS);
    // Now and then nothing is read for a while, and the first count after that is an old one.
    let stall = match dice.roll(12) {
        // Windows begin in the first tenth.
        _ if number == 0 => 0..0,
        0 => 0..25,
        1 => dice.roll(25) as i64..25,
        2 => 0..dice.roll(25) as i64,
        _ => 0..0,
    };
    for (sensor, count) in counts.iter_mut().enumerate() {
        let mut behind = 0;
        for tick in 0..25 {
            let before = *count;
            *count += if sensor == 3 && tick % 5 != 0 { 0 } else { 1 + dice.roll(400_000) };
            let flags = if dice.roll(90) == 0 { Flags::GAP } else { Flags::default() };
            let at = Mono(start + tick * PERIOD.0 + dice.roll(100_000) as i64);
            if stall.contains(&tick) {
                behind += *count - before;
                continue;
            }
            let shown = *count - dice.roll(std::mem::take(&mut behind) + 1);
            batch.samples.push(Sample { sensor: sensor as u16, flags, at, count: shown });
        }
    }
    if dice.roll(8) > 0 {
        for socket in 0..2 {
            let ours = dice.roll(1000) as f64 / 1000.0;
            let idle = (1.0 - ours) * dice.roll(1000) as f64 / 1000.0;
            let (from, at, others) = (Mono(start), Mono(end), 1.0 - ours - idle);
            batch.shares.push(ShareSample { from, at, socket, ours, others, idle, own: others / 8.0 });
        }
    }
    let share = [None, Some(1.0), Some(0.25)][dice.roll(3) as usize];
    let share = share.map(|share| GpuShare { share, basis: ShareBasis::Alone });
    batch.gpus.push(GpuSample { at: Mono(end - MS), gpu: 0, used: GpuUse::default(), share });
    if number.is_multiple_of(10) {
        batch.anchors.push(Anchor { mono: Mono(start), wall: Nanos(EPOCH + start), boot: Nanos(start) });
    }
    batch
}

/// Everything that was seen of a recording, kept whole.
struct Whole {
    sensors: Vec<SensorInfo>,
    builders: Vec<SeriesBuilder>,
    anchors: Anchors,
    sockets: ShareBook,
    gpus: ShareBook,
}

impl Whole {
    fn new() -> Whole {
        let sensors = sensors();
        let builders = sensors.iter().map(|info| SeriesBuilder::new(info, PERIOD)).collect();
        let (anchors, sockets, gpus) = Default::default();
        Whole { sensors, builders, anchors, sockets, gpus }
    }

    fn take(&mut self, batch: &Batch) {
        batch.anchors.iter().for_each(|anchor| self.anchors.push(*anchor));
        batch.samples.iter().for_each(|sample| self.builders[usize::from(sample.sensor)].take(*sample));
        batch.shares.iter().for_each(|share| self.sockets.note(share));
        batch.gpus.iter().for_each(|gpu| self.gpus.note(gpu));
    }

    /// The energy of a window and whose it was, from the series so far.
    fn energies(&self, start: Nanos, end: Nanos) -> Vec<DeviceEnergy> {
        let wholes = self.sensors.iter().zip(&self.builders).filter(|(info, _)| info.domain.is_none());
        let energy_of = |(info, builder): (&SensorInfo, &SeriesBuilder)| {
            let series = builder.series(&self.anchors).unwrap();
            let energy = Windows::of(&series, info).energy_between(start, end);
            let parts = self.parts(info, &series, TimeRange { start, end });
            DeviceEnergy { device: info.device.clone(), kind: info.kind, energy, parts }
        };
        wholes.map(energy_of).collect()
    }

    fn parts(&self, info: &SensorInfo, series: &EnergySeries, window: TimeRange) -> Split {
        let inside = series.spans().filter_map(|span| {
            let (from, to) = (span.range.start.max(window.start), span.range.end.min(window.end));
            (from < to).then(|| Increment {
                from: Mono(from.0 - EPOCH),
                to: Mono(to.0 - EPOCH),
                energy: span.power * (to - from),
            })
        });
        let mut sum = Split::default();
        let parts = Cut::of(info).split(&inside.collect::<Vec<_>>(), &self.sockets, &self.gpus);
        parts.into_iter().for_each(|part| sum.add(part));
        sum
    }
}

#[track_caller]
fn assert_same(found: &DeviceEnergy, wanted: &DeviceEnergy, what: &str) {
    let close = |found: f64, wanted: f64, off: f64| (found - wanted).abs() <= off * (1.0 + wanted.abs());
    let (one, other) = (found.energy, wanted.energy);
    assert!(close(one.joules.0, other.joules.0, 1e-9), "{what}: {one:?} {other:?}");
    assert!(close(one.coverage, other.coverage, 1e-9), "{what}: {one:?} {other:?}");
    assert!(
        close(one.low.0, other.low.0, 1e-6) && close(one.high.0, other.high.0, 1e-6),
        "{what}: {one:?} {other:?}"
    );
    let parts = |split: &Split| [split.ours.0, split.others.0, split.own.0, split.idle.0, split.unknown.0];
    for (one, other) in parts(&found.parts).into_iter().zip(parts(&wanted.parts)) {
        assert!(close(one, other, 1e-9), "{what}: {:?} {:?}", found.parts, wanted.parts);
    }
    assert!(close(found.parts.total().0, one.joules.0, 1e-9), "{what}: the parts make the whole");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Windows of any length, nested and overlapping, open for longer than anything is kept.
    #[test]
    fn windows_are_those_of_the_whole_series(seed: u64, tenths in 3_u64..260) {
        let mut dice = Dice(seed);
        let (mut live, mut whole) = (OngoingEnergy::new(&sensors(), PERIOD), Whole::new());
        let mut counts: Vec<u64> = (0..5).map(|_| dice.roll(1_000_000)).collect();
        let (mut open, mut ended) = (BTreeMap::new(), BTreeMap::new());
        for number in 0..tenths {
            let now = EPOCH + (number as i64 + 1) * 100 * MS;
            let near = |dice: &mut Dice| Nanos((now - dice.roll(120 * MS as u64) as i64).max(EPOCH + 40 * MS));
            if dice.roll(4) == 0 {
                let start = near(&mut dice);
                live.open(number, start);
                open.insert(number, start);
            }
            if dice.roll(6) == 0 && let Some((&id, &start)) = open.iter().nth(dice.roll(open.len() as u64) as usize) {
                let end = near(&mut dice).max(start + Nanos(1));
                open.remove(&id);
                ended.insert(id, (start, end));
                prop_assert!(live.close(id, end) && !live.close(id, end));
            }
            let batch = batch(&mut dice, &mut counts, number);
            // A question is answered with what was there when it was asked, or with more.
            for answer in live.answers() {
                let (start, end) = ended.remove(&answer.id).unwrap();
                for (found, wanted) in answer.devices.iter().zip(whole.energies(start, end)) {
                    assert_same(found, &wanted, "at once");
                }
            }
            whole.take(&batch);
            live.take(&batch);
            for answer in live.answers() {
                let (start, end) = ended.remove(&answer.id).unwrap();
                prop_assert!(answer.complete, "{answer:?}");
                prop_assert_eq!(answer.devices.len(), 4);
                for (found, wanted) in answer.devices.iter().zip(whole.energies(start, end)) {
                    assert_same(found, &wanted, "later");
                }
            }
            for course in &live.courses {
                prop_assert!(course.kept() <= 2700, "{} stretches are kept", course.kept());
            }
        }
        for answer in live.finish() {
            let (start, end) = ended.remove(&answer.id).unwrap();
            for (found, wanted) in answer.devices.iter().zip(whole.energies(start, end)) {
                assert_same(found, &wanted, "at the end");
            }
        }
        prop_assert!(ended.is_empty() && live.windows() == open.len());
    }

    #[test]
    fn adjacent_windows_add_up(seed: u64, tenths in 5_u64..60, cuts in 1_u64..9) {
        let (mut dice, mut live) = (Dice(seed), OngoingEnergy::new(&sensors(), PERIOD));
        let mut counts = [0; 5];
        let mut edges: Vec<i64> = (0..=cuts).map(|_| EPOCH + dice.roll(tenths * 100 * MS as u64) as i64).collect();
        edges.sort_unstable();
        let whole = (edges[0], edges[edges.len() - 1]);
        for (id, (start, end)) in (0..).zip(edges.windows(2).map(|pair| (pair[0], pair[1])).chain([whole])) {
            live.open(id, Nanos(start));
            live.close(id, Nanos(end));
        }
        (0..tenths).for_each(|number| live.take(&batch(&mut dice, &mut counts, number)));
        let mut answers = live.finish();
        answers.sort_by_key(|answer| answer.id);
        prop_assert_eq!(answers.len() as u64, cuts + 1);
        let (all, parts) = answers.split_last().unwrap();
        for (place, device) in all.devices.iter().enumerate() {
            let sum = |of: fn(&DeviceEnergy) -> Joules| parts.iter().map(|part| of(&part.devices[place]).0).sum::<f64>();
            for of in [|d: &DeviceEnergy| d.energy.joules, |d: &DeviceEnergy| d.parts.ours, |d: &DeviceEnergy| d.parts.idle] {
                prop_assert!((sum(of) - of(device).0).abs() <= 1e-9 * (1.0 + of(device).0));
            }
        }
    }

    /// Totals only grow, their parts make them at every instant, and the last ones are those of the whole series.
    #[test]
    fn totals_grow_and_end_as_the_whole_series(seed: u64, tenths in 3_u64..160) {
        let mut dice = Dice(seed);
        let (mut live, mut whole) = (OngoingEnergy::new(&sensors(), PERIOD), Whole::new());
        let mut counts: Vec<u64> = (0..5).map(|_| dice.roll(1_000_000)).collect();
        let numbers = |total: &DeviceTotal| {
            let parts = total.parts;
            [total.energy.0, parts.ours.0, parts.others.0, parts.own.0, parts.idle.0, parts.unknown.0, total.known.seconds()]
        };
        let mut before = vec![[0.0; 7]; 4];
        for number in 0..tenths {
            let batch = batch(&mut dice, &mut counts, number);
            whole.take(&batch);
            live.take(&batch);
            let last = if number + 1 == tenths { live.last_totals() } else { live.totals() };
            for (total, before) in last.iter().zip(&mut before) {
                let now = numbers(total);
                prop_assert!(now.iter().zip(before.iter()).all(|(now, before)| now >= before), "{before:?} {total:?}");
                prop_assert!((total.parts.total().0 - total.energy.0).abs() <= 1e-9 * (1.0 + total.energy.0));
                *before = now;
            }
        }
        // A change lies up to half a tick before the reading that shows it.
        let span = (EPOCH - 100 * MS, EPOCH + (tenths as i64 + 1) * 100 * MS);
        for (total, wanted) in live.last_totals().iter().zip(whole.energies(Nanos(span.0), Nanos(span.1))) {
            let energy = wanted.energy;
            prop_assert!((total.energy.0 - energy.joules.0).abs() <= 1e-9 * (1.0 + energy.joules.0), "{total:?} {wanted:?}");
            prop_assert!((total.parts.ours.0 - wanted.parts.ours.0).abs() <= 1e-9 * (1.0 + energy.joules.0));
            let known = energy.coverage * (span.1 - span.0) as f64 * 1e-9;
            prop_assert!((total.known.seconds() - known).abs() < 1e-6, "{total:?} {wanted:?}");
        }
    }
}

/// One processor at 50 W, with its share.
fn steady(number: i64) -> Batch {
    let start = number * 100 * MS;
    let sample = |tick: i64| {
        let at = Mono(start + tick * PERIOD.0);
        Sample { sensor: 0, flags: Flags::default(), at, count: (at.0 / 20).unsigned_abs() }
    };
    let share = ShareSample {
        ours: 0.5,
        others: 0.1,
        idle: 0.4,
        own: 0.0,
        socket: 0,
        from: Mono(start),
        at: Mono(start + 100 * MS),
    };
    Batch {
        samples: (0..25).map(sample).collect(),
        shares: vec![share],
        anchors: vec![Anchor { mono: Mono(start), wall: Nanos(EPOCH + start), boot: Nanos(start) }],
        ..Batch::default()
    }
}

fn only(live: &mut OngoingEnergy) -> Answer {
    let mut answers = live.answers();
    assert_eq!(answers.len(), 1, "{answers:?}");
    answers.remove(0)
}

#[test]
fn what_is_no_longer_kept_is_missing_and_said() {
    let mut live = OngoingEnergy::new(&sensors()[..1], PERIOD);
    (0..300).for_each(|number| live.take(&steady(number)));
    for (ago, complete, joules) in [(8, true, 350.0), (20, false, 450.0)] {
        live.open(1, Nanos(EPOCH + (30 - ago) * 1000 * MS));
        live.close(1, Nanos(EPOCH + 29_000 * MS));
        let answer = only(&mut live);
        let energy = answer.devices[0].energy;
        assert_eq!(answer.complete, complete, "{answer:?}");
        assert!((energy.joules.0 - joules).abs() < 1.0, "{energy:?}");
        assert_eq!(energy.coverage < 0.999, !complete);
    }
}

#[test]
fn a_window_is_answered_when_its_end_and_its_shares_are_known() {
    let mut live = OngoingEnergy::new(&sensors()[..1], PERIOD);
    (0..20).for_each(|number| live.take(&steady(number)));
    live.open(7, Nanos(EPOCH + 1950 * MS));
    live.close(7, Nanos(EPOCH + 2050 * MS));
    assert!(live.answers().is_empty());
    // The meter has reached it, the share has not.
    let next = steady(20);
    live.take(&Batch { shares: Vec::new(), ..next.clone() });
    assert!(live.answers().is_empty());
    live.take(&Batch { samples: Vec::new(), anchors: Vec::new(), ..next });
    let answer = only(&mut live);
    let DeviceEnergy { energy, parts, .. } = &answer.devices[0];
    assert!(answer.complete && (energy.joules.0 - 5.0).abs() < 1e-3, "{answer:?}");
    assert!((parts.ours.0 - 2.5).abs() < 1e-3 && (parts.idle.0 - 2.0).abs() < 1e-3, "{parts:?}");
    assert_eq!(live.windows(), 0);
}

#[test]
fn a_sensor_that_is_lost_or_late_holds_up_nobody_for_long() {
    let mut live =
        OngoingEnergy::new(&[sensor(DeviceClass::Cpu, 0, None), sensor(DeviceClass::Cpu, 1, None)], PERIOD);
    live.open(1, Nanos(EPOCH + 500 * MS));
    live.close(1, Nanos(EPOCH + 900 * MS));
    let mut answered = None;
    for number in 0..40 {
        let mut batch = steady(number);
        // The second socket is heard of for a moment.
        if number == 6 {
            let heard: Vec<Sample> = batch.samples.iter().take(5).map(|s| Sample { sensor: 1, ..*s }).collect();
            batch.samples.extend(heard);
        }
        live.take(&batch);
        if let Some(answer) = live.answers().pop() {
            answered = Some((number, answer));
        }
    }
    let (number, answer) = answered.unwrap();
    assert!((9..22).contains(&number) && !answer.complete, "{number}: {answer:?}");
    assert!((answer.devices[0].energy.joules.0 - 20.0).abs() < 0.1, "{answer:?}");
    assert!(answer.devices[1].energy.coverage < 0.1, "{answer:?}");
}

#[test]
fn totals_tell_power_and_how_long_nothing_was_known() {
    let mut live = OngoingEnergy::new(&sensors()[..1], PERIOD);
    let total = |live: &OngoingEnergy| live.totals().remove(0);
    assert_eq!((total(&live).energy, total(&live).power), (Joules(0.0), None));
    let mut least = Nanos(0);
    for number in 0..100 {
        let mut batch = steady(number);
        // Nothing can be read for two seconds.
        if (30..50).contains(&number) {
            batch.samples.iter_mut().for_each(|sample| sample.flags = Flags::GAP);
        }
        live.take(&batch);
        assert!(total(&live).unknown >= least, "{number}");
        least = total(&live).unknown;
        if number == 29 {
            assert!((total(&live).power.unwrap().0 - 50.0).abs() < 0.5 && least == Nanos(0), "{:?}", total(&live));
        }
    }
    let last = live.last_totals().remove(0);
    assert!((last.unknown.seconds() - 2.0).abs() < 0.02, "{last:?}");
    assert!((last.known.seconds() - 7.99).abs() < 0.03 && (last.energy.0 - 50.0 * 7.99).abs() < 1.5, "{last:?}");
    assert!((last.power.unwrap().0 - 50.0).abs() < 0.5);
    // A sensor that says nothing any more has no power.
    for number in 100..160 {
        live.take(&Batch { samples: vec![Sample { sensor: 9, ..steady(number).samples[0] }], ..Batch::default() });
    }
    assert_eq!(total(&live).power, None);
}

#[test]
fn a_clock_that_is_set_back_makes_no_wrong_number() {
    let mut live = OngoingEnergy::new(&sensors()[..1], PERIOD);
    live.open(1, Nanos(EPOCH + 500 * MS));
    let mut least = live.totals().remove(0);
    for number in 0..60 {
        let mut batch = steady(number);
        if number >= 30 {
            batch.anchors[0].wall += Nanos(-3_600_000 * MS);
        }
        live.take(&batch);
        let total = live.totals().remove(0);
        assert!(total.energy.0 >= least.energy.0 && total.unknown >= least.unknown, "{least:?} {total:?}");
        least = total;
    }
    // What is not known is said.
    let covered = least.known.seconds() + least.unknown.seconds();
    assert!((covered - 5.9).abs() < 0.3 && least.unknown > Nanos(0), "{least:?}");
    let now = EPOCH - 3_600_000 * MS;
    live.open(2, Nanos(now + 4000 * MS));
    live.close(2, Nanos(now + 5000 * MS));
    let after = only(&mut live);
    assert!(after.complete && (after.devices[0].energy.joules.0 - 50.0).abs() < 0.1, "{after:?}");
    live.close(1, Nanos(now + 5000 * MS));
    assert!(!only(&mut live).complete);
}

#[test]
fn nothing_to_read_is_nothing_to_say() {
    let mut live = OngoingEnergy::new(&[], PERIOD);
    live.open(3, Nanos(EPOCH));
    assert!(live.close(3, Nanos(EPOCH + 1)) && !live.close(4, Nanos(0)));
    assert_eq!(only(&mut live), Answer { id: 3, complete: true, devices: Vec::new() });
    let mut live = OngoingEnergy::new(&sensors(), PERIOD);
    live.open(1, Nanos(i64::MIN));
    live.close(1, Nanos(i64::MAX));
    (0..3).for_each(|number| live.take(&steady(number)));
    assert!(!live.finish()[0].complete);
}
