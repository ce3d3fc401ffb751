//! Attribution on simulated programs, whose every operation has a known energy, and on data that supports no estimate. The whole
//! sweep over scenarios is a benchmark (`make bench BENCH=attribution`): these are small programs, for speed.

use jouletree_account::{Attribution, Explained, Metered, Semantics, Tef, account_explained, t2e};
use jouletree_model::{EnergySeries, Event, Footprint, Joules, Kind, Lane, Nanos, Op, OpId, Pass, Step, Trace};
use proptest::prelude::*;
use test_support::simulator::power::Surroundings;
use test_support::simulator::program::Schedule;
use test_support::simulator::scenarios::{Scenario, device};
use test_support::simulator::score::Score;
use test_support::simulator::sensor::{Sensor, Ticks};

fn explained(trace: &Trace, series: &EnergySeries, kind: Kind, attribution: Attribution) -> Explained {
    let device = device();
    let power = [Metered { device: &device, kind, series }];
    account_explained(trace, &power, Semantics::Exact, attribution).unwrap()
}

#[track_caller]
fn assert_conserved(footprint: &Footprint, series: &EnergySeries) {
    let balance = &footprint.devices[0];
    let (booked, measured) = (balance.attributed + balance.unattributed, balance.total.unwrap());
    assert!((booked - measured).0.abs() <= 1e-9 * measured.0.max(1e-9), "{booked:?} {measured:?}");
    assert!((measured - series.total()).0.abs() <= 1e-9 * measured.0.max(1e-9), "{measured:?}");
    for charged in &footprint.energies {
        assert!(charged.energy.0 >= 0.0 && charged.energy.0.is_finite(), "{charged:?}");
        assert!(charged.standard_error.is_none_or(|error| error.0 >= 0.0 && error.0.is_finite()), "{charged:?}");
    }
}

/// A program of one layer whose operations are somewhat longer, so that little of it is enough.
fn small(sensor: Sensor, seconds: f64) -> Scenario {
    let schedule = Schedule { seconds, layers: 1, scale: 3.0, ..Schedule::default() };
    let surroundings = Surroundings { execution_spread: 0.02, ..Surroundings::default() };
    Scenario { name: "small", schedule, surroundings, sensor, reference: (0.0, 0.0) }
}

/// The score of a scenario by equal shares and by estimated powers, which must be used.
fn scores(scenario: &Scenario, seed: u64) -> (Score, Score, Explained) {
    let run = scenario.run(seed);
    let of = |attribution| explained(&run.trace, &run.series, Kind::Measured, attribution);
    let (equal, found) = (of(Attribution::Equal), of(Attribution::Auto));
    assert_conserved(&found.footprint, &run.series);
    assert!(found.explanations[0].is_regressed(), "{}", found.explanations[0]);
    (Score::of(&run, &equal.footprint), Score::of(&run, &found.footprint), found)
}

#[test]
fn powers_of_operations_far_shorter_than_a_reading_are_found() {
    let (equal, found, explained) = scores(&small(Sensor::default(), 6.0), 1);
    assert!(found.by_op * 4.0 < equal.by_op && found.by_type * 4.0 < equal.by_type, "{equal:?} {found:?}");
    assert!(found.held > 0.8, "{found:?}");
    // Operations of a layer are confused with each other, the layer is not: its error is smaller than theirs in quadrature.
    let tree = t2e(&Tef::from(&explained.footprint), &[]);
    let layer = tree.children.iter().find(|node| node.name == "layer_0").unwrap();
    let squares: f64 = layer.children.iter().map(|op| op.standard_error.unwrap().0.powi(2)).sum();
    assert!(layer.standard_error.unwrap().0 < 0.7 * squares.sqrt(), "{layer:?}");
    let text = explained.explanations[0].to_string();
    assert!(text.contains("ideal") && text.contains("left out") && text.contains("residuals"), "{text}");
}

#[test]
fn a_part_time_sensor_and_its_lag_are_found() {
    let sensor = Sensor { period: 0.02, duty: 0.25, lag: 3e-3, ..Sensor::default() };
    let (equal, found, explained) = scores(&small(sensor, 12.0), 2);
    assert!(found.by_op * 3.0 < equal.by_op, "{equal:?} {found:?}");
    let sensor = &explained.explanations[0].learned.as_ref().unwrap().sensor;
    assert!(
        sensor.shape == "part-time" && sensor.duty == 0.25 && (sensor.lag_s - 3e-3).abs() < 3e-4,
        "{sensor:?}"
    );
}

#[test]
fn a_low_pass_is_found() {
    let (equal, found, explained) = scores(&small(Sensor { low_pass: 6e-3, ..Sensor::default() }, 8.0), 3);
    assert!(found.by_op * 2.0 < equal.by_op, "{equal:?} {found:?}");
    let sensor = &explained.explanations[0].learned.as_ref().unwrap().sensor;
    assert!(sensor.shape == "low-pass" && (sensor.time_s.unwrap() - 6e-3).abs() < 1e-3, "{sensor:?}");
}

#[test]
fn a_counter_that_ticks_is_found_on_several_lanes() {
    let ticking = Sensor { ticks: Some(Ticks::Polled), noise: 0.0, ..Sensor::default() };
    let scenario = small(ticking, 8.0);
    let scenario = Scenario { schedule: Schedule { lanes: 3, ..scenario.schedule.clone() }, ..scenario };
    let (equal, found, explained) = scores(&scenario, 4);
    assert!(found.by_op * 2.0 < equal.by_op, "{equal:?} {found:?}");
    assert_eq!(explained.explanations[0].learned.as_ref().unwrap().sensor.shape, "ticks");
}

#[test]
fn readings_that_are_too_slow_or_noisy_leave_shares_equal() {
    let hopeless = [
        Sensor { period: 1.0, noise: 0.05, ..Sensor::default() },
        Sensor { period: 0.1, noise: 0.5, ..Sensor::default() },
    ];
    for sensor in hopeless {
        let run = small(sensor, 100.0 * sensor.period.max(0.1)).run(5);
        let of = |attribution| explained(&run.trace, &run.series, Kind::Measured, attribution);
        let (equal, auto, asked) = (of(Attribution::Equal), of(Attribution::Auto), of(Attribution::Regressed));
        let (equally, found) = (Score::of(&run, &equal.footprint), Score::of(&run, &auto.footprint));
        assert!(found.by_op <= 1.02 * equally.by_op, "{equally:?} {found:?} {}", auto.explanations[0]);
        if !auto.explanations[0].is_regressed() {
            // To the last bit; who asked by name is warned.
            assert_eq!(auto.footprint, equal.footprint);
            assert_eq!(asked.footprint.warnings.len(), equal.footprint.warnings.len() + 1);
            assert!(auto.explanations[0].reason.as_deref().unwrap().contains("readings"));
        }
    }
}

fn event(start: i64, end: i64, op: u32) -> Event {
    Event { start: Nanos(start), end: Nanos(end), op: OpId(op), step: Step::NONE }
}

fn trace(lanes: Vec<Vec<Event>>, ops: u32) -> Trace {
    let mut trace = Trace::default();
    trace.device_index(&device());
    for op in 0..ops {
        let path = format!("layer_{}/op_{}", op % 3, op / 3);
        trace.ops.intern(Op::new(path.as_str(), ["MatMul", "Add"][op as usize % 2], path.as_str(), Pass::Forward));
    }
    trace.lanes = lanes.into_iter().map(|events| Lane::new(0, "lane", events)).collect();
    trace
}

/// `count` readings, each a millisecond after the one before it.
fn readings(count: i64, joules: impl Fn(i64) -> f64) -> EnergySeries {
    let mut series = EnergySeries::default();
    let mut total = 0.0;
    for index in 0..=count {
        total += if index == 0 { 0.0 } else { joules(index) };
        series.push(Nanos(index * 1_000_000), Joules(total), false).unwrap();
    }
    series
}

#[test]
fn data_that_supports_no_estimate_leaves_shares_equal_and_says_why() {
    let busy = |ops: i64, count: i64| -> Vec<Event> {
        (0..count).map(|index| event(index * 100_000, index * 100_000 + 90_000, (index % ops) as u32)).collect()
    };
    let alike = trace(vec![busy(10, 2000)], 10);
    let cases: Vec<(&str, Trace, EnergySeries, Kind, &str)> = vec![
        ("all readings are alike", alike.clone(), readings(200, |_| 0.1), Kind::Measured, "predict"),
        ("one operation", trace(vec![busy(1, 2000)], 1), readings(200, |_| 0.1), Kind::Measured, "one operation"),
        ("no energy", alike.clone(), readings(200, |_| 0.0), Kind::Measured, "no energy"),
        ("one reading", alike.clone(), readings(1, |_| 0.1), Kind::Measured, "readings"),
        ("a model", alike.clone(), readings(200, |index| index as f64), Kind::Estimated, "model of power"),
        ("tiny", alike.clone(), readings(200, |index| 1e-300 * index as f64), Kind::Measured, ""),
        ("huge", alike.clone(), readings(200, |index| 1e290 * (index % 3) as f64), Kind::Measured, ""),
    ];
    for (what, trace, series, kind, wanted) in cases {
        let equal = explained(&trace, &series, kind, Attribution::Equal);
        let auto = explained(&trace, &series, kind, Attribution::Auto);
        let explanation = &auto.explanations[0];
        let reason = explanation.reason.as_deref().unwrap_or_else(|| panic!("{what}: {explanation}"));
        assert!(reason.contains(wanted), "{what}: {reason}");
        assert_eq!(auto.footprint, equal.footprint, "{what}");
        assert!(!explanation.to_string().contains("NaN"), "{what}: {explanation}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Readings of any length with gaps, and events that may nest, overlap, be empty or lie outside: no panic, no number that is
    /// none, all energy booked.
    #[test]
    fn nothing_breaks_the_estimate(
        events in prop::collection::vec((0..400_i64, 0..30_i64, 0..12_u32, 0..3_usize), 2..600),
        power in prop::collection::vec((1..9_i64, 0..5_u8, prop::bool::weighted(0.05)), 60..300),
    ) {
        let mut lanes = vec![Vec::new(); 3];
        for (start, duration, op, lane) in events {
            lanes[lane].push(event(start * 1_000_000, (start + duration) * 1_000_000, op));
        }
        let trace = trace(lanes, 12);
        let mut series = EnergySeries::default();
        let (mut time, mut energy) = (0, 0.0);
        for (elapsed, joules, gap) in power {
            (time, energy) = (time + elapsed * 500_000, energy + f64::from(joules));
            series.push(Nanos(time), Joules(energy), gap).unwrap();
        }
        let device = device();
        let power = [Metered { device: &device, kind: Kind::Measured, series: &series }];
        if let Ok(found) = account_explained(&trace, &power, Semantics::Exact, Attribution::Auto) {
            assert_conserved(&found.footprint, &series);
        }
    }
}
