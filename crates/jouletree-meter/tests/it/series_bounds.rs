//! Energy of windows, in virtual time on a fake powercap tree: no number here comes from hardware.

use test_support::powercap as common;

use std::time::Duration;

use jouletree_meter::Sensor;
use jouletree_model::sampling::{Anchor, Anchors, Flags, Mono, Sample, SensorInfo};
use jouletree_model::{EnergySeries, Nanos};
use jouletree_series::{Estimate, Implausible, SeriesBuilder, Why, Windows};

use common::{MS, Machine, machine};
use fake_powercap::Layout;

/// Numbers that look random and are the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// The clock of the fake is the time of day.
fn anchors() -> Anchors {
    let mut anchors = Anchors::default();
    anchors.push(Anchor { mono: Mono(0), wall: Nanos(0), boot: Nanos(0) });
    anchors
}

fn sample(machine: &Machine, sensor: &mut dyn Sensor) -> Sample {
    let said = sensor.read();
    let flags = if said.is_err() { Flags::GAP } else { Flags::default() };
    Sample { sensor: 0, flags, at: machine.now(), count: said.unwrap_or(0) }
}

/// Plays and samples every so often, for so long.
fn record(machine: &mut Machine, every: Duration, until: Duration) -> (SeriesBuilder, SensorInfo) {
    let mut sensor = machine.sensor("cpu:0", None);
    let period = Nanos(i64::try_from(every.as_nanos()).unwrap());
    let mut builder = SeriesBuilder::new(sensor.info(), period);
    builder.take(sample(machine, sensor.as_mut()));
    while machine.fake.now() < until {
        machine.fake.advance(every).unwrap();
        builder.take(sample(machine, sensor.as_mut()));
    }
    (builder, sensor.info().clone())
}

fn nanos(time: Duration) -> Nanos {
    Nanos(i64::try_from(time.as_nanos()).unwrap())
}

fn energy(builder: &SeriesBuilder, info: &SensorInfo, from: Duration, to: Duration) -> Estimate {
    let series = builder.series(&anchors()).unwrap();
    Windows::of(&series, info).energy_between(nanos(from), nanos(to))
}

fn random_script(dice: &mut Dice) -> String {
    let mut segments = Vec::new();
    for _ in 0..1 + dice.below(4) {
        let (one, other, ms) = (1 + dice.below(300), 1 + dice.below(300), 50 + dice.below(500));
        let (low, high) = (one.min(other), one.max(other) + 1);
        segments.push(match dice.below(4) {
            0 => format!("{one}W for {ms}ms"),
            1 => format!("ramp {one}W to {other}W for {ms}ms"),
            2 => format!("square {one}W to {other}W every {}ms for {ms}ms", 1 + dice.below(40)),
            _ => format!(
                "walk {low}W to {high}W by {}W every {}ms for {ms}ms",
                1 + dice.below(50),
                1 + dice.below(40)
            ),
        });
    }
    let (seed, wrap) = (dice.below(1 << 30), dice.below(2000));
    format!("seed {seed}\nstart {wrap}ms before wrap\npackage-0: {}", segments.join(", "))
}

#[test]
fn intervals_hold_in_95_of_100_scripts() {
    let mut dice = Dice(7);
    let mut by_rate = Vec::new();
    let (mut held, mut all) = (0, 0);
    for every in [1, 4, 20] {
        let (mut here, mut count, mut width, mut off) = (0, 0, 0.0, 0.0);
        for _ in 0..334 {
            let script = random_script(&mut dice);
            let mut machine = machine(Layout::MmioOnly, &script.replace("package-0", "mmio/package-0"));
            // Samples come at any time, not at round ones.
            machine.fake.advance(Duration::from_micros(dice.below(20_000))).unwrap();
            let begun = machine.fake.now();
            let (builder, info) = record(&mut machine, every * MS, begun + 1000 * MS);
            assert!(builder.gaps().is_empty(), "{script}: {:?}", builder.gaps());
            let from = begun + Duration::from_micros(dice.below(400_000));
            let to = from + Duration::from_micros(50_000 + dice.below(500_000));
            let truth = machine.fake.oracle().energy("mmio/package-0", from, to).unwrap().0;
            let said = energy(&builder, &info, from, to);
            assert!((said.coverage - 1.0).abs() < 1e-9, "{said:?}");
            here += u32::from((said.low.0..=said.high.0).contains(&truth));
            count += 1;
            let mean = truth / (to - from).as_secs_f64();
            width += (said.high.0 - said.low.0) / 2.0 / (mean * 1e-3);
            off += (said.joules.0 - truth) / (mean * 1e-3);
        }
        let count_f = f64::from(count);
        by_rate.push(format!(
            "every {every} ms: {here} of {count}, ± {:.2} ms of mean power, bias {:+.3} ms",
            width / count_f,
            off / count_f
        ));
        (held, all) = (held + here, all + count);
    }
    println!("95 % intervals hold in {held} of {all} scripts (fake counters); {}", by_rate.join("; "));
    assert!(f64::from(held) >= 0.93 * f64::from(all), "{held} of {all}: {by_rate:?}");
}

/// The same with stalls of up to a second at any place, in which some windows begin or end: those are less sure.
#[test]
fn intervals_hold_in_95_of_100_scripts_with_stalls() {
    let mut dice = Dice(11);
    let (mut held, mut all, mut inside) = ([0, 0], [0, 0], 0.0);
    for _ in 0..300 {
        let script = random_script(&mut dice);
        let mut machine = machine(Layout::MmioOnly, &script.replace("package-0", "mmio/package-0"));
        machine.fake.advance(Duration::from_micros(dice.below(20_000))).unwrap();
        let begun = machine.fake.now();
        let mut sensor = machine.sensor("cpu:0", None);
        let mut builder = SeriesBuilder::new(sensor.info(), Nanos(4_000_000));
        let mut stalls = Vec::new();
        while machine.fake.now() < begun + 1500 * MS {
            builder.take(sample(&machine, sensor.as_mut()));
            let stall = if dice.below(60) == 0 { 20 + dice.below(200) * dice.below(6) } else { 4 };
            let from = machine.fake.now();
            machine.fake.advance(u32::try_from(stall).unwrap() * MS).unwrap();
            if stall > 24 {
                stalls.push((from, machine.fake.now()));
            }
        }
        (0..3).for_each(|_| {
            machine.fake.advance(4 * MS).unwrap();
            builder.take(sample(&machine, sensor.as_mut()));
        });
        assert!(builder.gaps().is_empty(), "{script}: {:?}", builder.gaps());
        let from = begun + Duration::from_micros(20_000 + dice.below(700_000));
        let to = from + Duration::from_micros(20_000 + dice.below(700_000));
        let truth = machine.fake.oracle().energy("mmio/package-0", from, to).unwrap().0;
        let said = energy(&builder, sensor.info(), from, to);
        assert!((said.coverage - 1.0).abs() < 1e-9, "{said:?}");
        let is_inside = |time: Duration| stalls.iter().any(|(from, to)| (*from..=*to).contains(&time));
        let sort = usize::from(is_inside(from) || is_inside(to));
        held[sort] += u32::from((said.low.0..=said.high.0).contains(&truth));
        all[sort] += 1;
        inside += if sort == 1 { (said.high.0 - said.low.0) / said.joules.0.max(0.1) } else { 0.0 };
    }
    let width = inside / f64::from(all[1]);
    println!(
        "of windows beside stalls {} of {}, of those with an end in one {} of {} hold; the latter are {width:.2} of the energy wide",
        held[0], all[0], held[1], all[1]
    );
    assert!(all[1] > 100);
    for (held, all) in held.into_iter().zip(all) {
        assert!(f64::from(held) >= 0.93 * f64::from(all), "{held} of {all}");
    }
}

#[test]
fn scripted_energy_lies_within_the_bound_at_any_rate_and_rates_agree() {
    let (from, to) = (30 * MS, 1930 * MS);
    for power in ["50W", "ramp 20W to 200W for 2s, 20W", "square 20W to 80W every 3ms"] {
        let said = [1, 4, 20].map(|every| {
            let script = format!("start 0.2s before wrap\npackage-0: {power}");
            let mut machine = machine(Layout::OneSocket, &script);
            let (builder, info) = record(&mut machine, every * MS, 2000 * MS);
            assert!(builder.gaps().is_empty());
            let said = energy(&builder, &info, from, to);
            let truth = machine.fake.oracle().energy("package-0", from, to).unwrap().0;
            println!(
                "{power} every {every} ms: {:.4} J in {:.4} to {:.4}, played {truth:.4}",
                said.joules.0, said.low.0, said.high.0
            );
            assert!((said.low.0..=said.high.0).contains(&truth), "{power} at {every} ms: {said:?} {truth}");
            said
        });
        let [fast, _, slow] = said;
        assert!((fast.joules.0 - slow.joules.0).abs() <= (slow.high.0 - slow.low.0) / 2.0, "{fast:?} {slow:?}");
    }
}

/// Energy is conserved: the series holds what the counter gained, to the microjoule.
#[test]
fn changes_alone_carry_all_the_energy() {
    let mut machine = machine(Layout::OneSocket, "start 0.2s before wrap\npackage-0: square 5W to 95W every 7ms");
    let mut sensor = machine.sensor("cpu:0", None);
    let mut builder = SeriesBuilder::new(sensor.info(), Nanos(250_000));
    let mut counter = jouletree_series::Counter::new(sensor.info());
    let mut readings = 0_u32;
    while machine.fake.now() < 1000 * MS {
        let sample = sample(&machine, sensor.as_mut());
        counter.take(sample.at, sample.count);
        builder.take(sample);
        readings += 1;
        machine.fake.advance(MS / 4).unwrap();
    }
    let series = builder.series(&anchors()).unwrap();
    assert!((series.total().0 - counter.total() as f64 * 1e-6).abs() < 1e-6);
    assert!(series.points().len() < 1010 && readings == 4000, "{} points", series.points().len());
}

fn gaps(series: &EnergySeries) -> Vec<(f64, f64)> {
    let points: Vec<_> = series.points().collect();
    let pairs = points.windows(2).filter(|pair| pair[0].2);
    pairs.map(|pair| (pair[0].0.seconds(), pair[1].0.seconds())).collect()
}

#[test]
fn two_wraps_between_samples_are_a_marked_gap() {
    let mut machine = machine(Layout::OneSocket, "package-0: 1.5kW");
    let mut sensor = machine.sensor("cpu:0", None);
    // A client that samples every 100 s: it is not stale, and still unknown.
    let mut builder = SeriesBuilder::new(sensor.info(), Nanos(100_000_000_000));
    for wait in [0, 1, 400, 1] {
        machine.fake.advance(Duration::from_secs(wait)).unwrap();
        builder.take(sample(&machine, sensor.as_mut()));
    }
    assert_eq!(builder.gaps().len(), 1);
    assert_eq!(builder.gaps()[0].why, Why::Implausible(Implausible::ManyWraps));
    let series = builder.series(&anchors()).unwrap();
    assert!((series.total().0 - 3000.0).abs() < 40.0, "{:?}", series.total());
    let window = Windows::of(&series, sensor.info()).energy_between(Nanos(0), Nanos(402_000_000_000));
    assert!((window.coverage - 2.0 / 402.0).abs() < 1e-4, "{window:?}");
}

#[test]
fn suspend_and_failure_are_gaps_and_a_stall_is_none() {
    let mut machine = machine(Layout::OneSocket, "package-0: 50W\nat 1s package-0 garbage for 50ms");
    let mut sensor = machine.sensor("cpu:0", None);
    let mut builder = SeriesBuilder::new(sensor.info(), Nanos(4_000_000));
    for n in 0..1000_u32 {
        let pause = if n == 100 { 200 * MS } else { 4 * MS };
        machine.fake.advance(pause).unwrap();
        let mut sample = sample(&machine, sensor.as_mut());
        if n == 500 {
            sample.flags = sample.flags | Flags::APART;
        }
        builder.take(sample);
    }
    let reasons: Vec<Why> = builder.gaps().iter().map(|gap| gap.why).collect();
    assert_eq!(reasons, [Why::Failed, Why::Apart]);
    let series = builder.series(&anchors()).unwrap();
    let lengths: Vec<f64> = gaps(&series).iter().map(|(from, to)| to - from).collect();
    assert!((lengths[0] - 0.056).abs() < 0.02 && lengths[1] < 0.02, "{lengths:?}");
    let known: f64 = machine.fake.now().as_secs_f64() - lengths.iter().sum::<f64>();
    assert!((series.total().0 - 50.0 * known).abs() < 1.5, "{:?} {known}", series.total());
}

#[test]
fn a_frozen_counter_is_a_gap_and_a_part_that_rests_is_not() {
    let freeze = "package-0: 50W\npackage-0/core: 20W for 500ms, 0W for 2s, 20W\nat 500ms package-0 freeze for 2s";
    let mut machine = machine(Layout::OneSocket, freeze);
    let mut sensors = [machine.sensor("cpu:0", None), machine.sensor("cpu:0", Some("core"))];
    let mut builders = sensors.each_ref().map(|sensor| SeriesBuilder::new(sensor.info(), Nanos(4_000_000)));
    while machine.fake.now() < 3000 * MS {
        for (sensor, builder) in sensors.iter_mut().zip(&mut builders) {
            builder.take(sample(&machine, sensor.as_mut()));
        }
        machine.fake.advance(4 * MS).unwrap();
    }
    let [whole, part] = builders;
    assert_eq!(whole.gaps().iter().map(|gap| gap.why).collect::<Vec<_>>(), [Why::Still]);
    let series = whole.series(&anchors()).unwrap();
    let (from, to) = gaps(&series)[0];
    assert!((from - 0.5).abs() < 0.02 && (to - 2.5).abs() < 0.02, "{from} {to}");
    assert!((series.total().0 - 50.0).abs() < 2.0, "{:?}", series.total());
    assert!(part.gaps().is_empty());
    let rest = energy(&part, sensors[1].info(), 600 * MS, 2400 * MS);
    assert!(rest.joules.0 < 1e-9 && rest.coverage == 1.0, "{rest:?}");
    assert!((part.series(&anchors()).unwrap().total().0 - 20.0).abs() < 1.0);
}

#[test]
fn a_clock_that_is_set_is_a_gap_and_time_never_runs_backwards() {
    for (step, lost) in [(3600.0, 0.004), (-0.5, 0.5)] {
        let mut machine = machine(Layout::OneSocket, "package-0: 50W");
        let (builder, _) = record(&mut machine, 4 * MS, 3000 * MS);
        let mut anchors = anchors();
        let wall = Nanos(1_000_000_000 + (step * 1e9) as i64);
        anchors.push(Anchor { mono: Mono(1_000_000_000), wall, boot: Nanos(1_000_000_000) });
        let series = builder.series(&anchors).unwrap();
        assert_eq!(gaps(&series).len(), 1, "{step}");
        assert!((series.total().0 - 50.0 * (3.0 - lost)).abs() < 0.5, "{step}: {:?}", series.total());
    }
}
