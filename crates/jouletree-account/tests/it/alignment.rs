//! The alignment against a slow reference that looks at every nanosecond, and the laws it must keep.

use std::collections::{BTreeMap, BTreeSet};

use jouletree_account::{Metered, Semantics, Tef, TefEntry, account, energy_series, rule_for_unit};
use jouletree_model::{
    Device, DeviceClass, DeviceEnergy, EnergySeries, Event, Footprint, Kind, Lane, Nanos, Op, OpId, Pass,
    PowerRecord, PowerSample, PowerUnit, ProgramSpan, SpanKind, Step, TimeRange, Trace,
};
use proptest::prelude::*;

const OPS: u32 = 6;

#[derive(Debug, Clone)]
struct Case {
    lanes: Vec<Vec<(i64, i64, u32)>>,
    power: Vec<(i64, f64)>,
    /// Nanoseconds in a unit of time of `lanes` and `power`.
    scale: i64,
    counter: bool,
    hold: i64,
}

fn device() -> Device {
    Device::new(DeviceClass::Cpu, 0)
}

fn trace_of(lanes: &[Vec<(i64, i64, u32)>], scale: i64) -> Trace {
    let mut trace = Trace::default();
    let index = trace.device_index(&device());
    for op in 0..OPS {
        let path = format!("layer_{op}/MatMul");
        trace.ops.intern(Op::new(path.as_str(), "MatMul", path.as_str(), Pass::Forward));
    }
    for (number, events) in lanes.iter().enumerate() {
        let events = events.iter().map(|(start, duration, op)| Event {
            start: Nanos(start * scale),
            end: Nanos((start + duration) * scale),
            op: OpId(*op),
            step: Step(*op % 2),
        });
        trace.lanes.push(Lane::new(index, format!("lane {number}"), events.collect()));
    }
    trace
}

fn series_of(case: &Case) -> EnergySeries {
    let mut cumulative = 0.0;
    let samples = case.power.iter().map(|(time, value)| {
        cumulative += value;
        PowerSample { time: Nanos(time * case.scale), value: if case.counter { cumulative } else { *value } }
    });
    let record = PowerRecord {
        device: device(),
        domain: None,
        kind: Kind::Measured,
        unit: if case.counter { PowerUnit::Joules } else { PowerUnit::Watts },
        samples: samples.collect(),
    };
    let rule = rule_for_unit(record.unit);
    energy_series(&record, rule, Nanos(case.hold * case.scale), "test", &mut Vec::new()).unwrap()
}

fn footprint_of(trace: &Trace, series: &EnergySeries, semantics: Semantics) -> Option<Footprint> {
    let device = device();
    account(trace, &[Metered { device: &device, kind: Kind::Measured, series }], semantics).ok()
}

fn stage(start: i64, name: &str) -> ProgramSpan {
    let range = TimeRange { start: Nanos(start), end: Nanos(start) };
    let (kind, step) = (SpanKind::Stage, Step::NONE);
    let (is_recorded, samples, function) = (false, None, "".into());
    ProgramSpan { kind, name: name.into(), process: 0, range, step, is_recorded, samples, function }
}

fn energies(footprint: &Footprint) -> BTreeMap<u32, f64> {
    footprint
        .energies
        .iter()
        .filter(|entry| entry.energy.0 > 0.0)
        .map(|entry| (entry.op.0, entry.energy.0))
        .collect()
}

fn power_at(series: &EnergySeries, instant: i64) -> Option<f64> {
    series
        .spans()
        .find(|span| span.range.start.0 <= instant && instant < span.range.end.0)
        .map(|span| span.power.0)
}

/// Flattens events into instants, as the paper explains its algorithm. Returns energies and what was not charged.
fn slow_reference(trace: &Trace, series: &EnergySeries, semantics: Semantics) -> (BTreeMap<u32, f64>, f64) {
    let mut charged = BTreeMap::new();
    let mut unattributed = 0.0;
    let Some(extent) = series.extent() else { return (charged, 0.0) };
    let (grid, end) = match semantics {
        Semantics::Exact => (1, extent.end.0),
        Semantics::Paper => (1000, extent.end.0 + 999),
    };
    let first = (extent.start.0 + grid - 1).div_euclid(grid) * grid;
    for instant in (first..end).step_by(grid as usize) {
        // On the paper's grid the last instant may lie beyond the last reading.
        let Some(power) = power_at(series, instant) else { continue };
        let energy = power * 1e-9 * grid as f64;
        let active: Vec<u32> = match semantics {
            Semantics::Exact => trace
                .lanes
                .iter()
                .filter_map(|lane| {
                    let active = |event: &&Event| event.start.0 <= instant && instant < event.end.0;
                    lane.events().iter().rfind(active).map(|event| event.op.0)
                })
                .collect(),
            Semantics::Paper => {
                let active = |event: &&Event| {
                    let start = event.start.0.div_euclid(1000);
                    let last = start + event.duration().0 / 1000;
                    (start..=last).contains(&instant.div_euclid(1000))
                };
                let set: BTreeSet<u32> =
                    trace.lanes.iter().flat_map(Lane::events).filter(active).map(|event| event.op.0).collect();
                set.into_iter().collect()
            }
        };
        if active.is_empty() {
            unattributed += energy;
        }
        for op in &active {
            *charged.entry(*op).or_insert(0.0) += energy / active.len() as f64;
        }
    }
    charged.retain(|_, energy| *energy > 0.0);
    (charged, unattributed)
}

/// The same for lanes too long to look at every instant: goes from boundary to boundary and keeps, for each lane, the
/// list of what is open.
fn boundary_reference(trace: &Trace, series: &EnergySeries) -> (BTreeMap<u32, f64>, f64) {
    let mut charged = BTreeMap::new();
    let mut unattributed = 0.0;
    let mut times: BTreeSet<i64> =
        trace.lanes.iter().flat_map(Lane::events).flat_map(|e| [e.start.0, e.end.0]).collect();
    times.extend(series.points().map(|(time, _, _)| time.0));
    let times: Vec<i64> = times.into_iter().collect();
    let mut next = vec![0; trace.lanes.len()];
    let mut open: Vec<Vec<Event>> = vec![Vec::new(); trace.lanes.len()];
    let spans: Vec<_> = series.spans().collect();
    for pair in times.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let mut active = Vec::new();
        for (index, lane) in trace.lanes.iter().enumerate() {
            while let Some(event) = lane.events().get(next[index]).filter(|event| event.start.0 <= from) {
                open[index].push(*event);
                next[index] += 1;
            }
            open[index].retain(|event| event.end.0 > from);
            active.extend(open[index].last().map(|event| event.op.0));
        }
        let at = spans.partition_point(|span| span.range.end.0 <= from);
        let Some(span) = spans.get(at).filter(|span| span.range.start.0 <= from) else { continue };
        let energy = span.power.0 * 1e-9 * (to - from) as f64;
        if active.is_empty() {
            unattributed += energy;
        }
        for op in &active {
            *charged.entry(*op).or_insert(0.0) += energy / active.len() as f64;
        }
    }
    (charged, unattributed)
}

fn close(a: f64, b: f64, scale: f64) -> bool {
    (a - b).abs() <= 1e-9 * scale.max(a.abs()).max(b.abs()).max(1e-12)
}

fn assert_same(got: &BTreeMap<u32, f64>, wanted: &BTreeMap<u32, f64>, total: f64) {
    for op in 0..OPS {
        let (got, wanted) = (got.get(&op).copied().unwrap_or(0.0), wanted.get(&op).copied().unwrap_or(0.0));
        assert!(close(got, wanted, total), "operation {op}: {got} J, wanted {wanted} J");
    }
}

fn events() -> impl Strategy<Value = Vec<(i64, i64, u32)>> {
    prop::collection::vec((0..200_i64, 0..60_i64, 0..OPS), 0..14)
}

/// Lanes whose events follow each other as in a TensorFlow timeline.
fn flat_events() -> impl Strategy<Value = Vec<(i64, i64, u32)>> {
    prop::collection::vec((0..4_i64, 0..20_i64, 0..OPS), 0..30).prop_map(|steps| {
        let mut at = 0;
        let place = |(pause, duration, op)| {
            let start = at + pause;
            at = start + duration;
            (start, duration, op)
        };
        steps.into_iter().map(place).collect()
    })
}

/// A long lane: flat stretches and nested bursts of every length in turn.
fn long_lane() -> impl Strategy<Value = Vec<(i64, i64, u32)>> {
    let stretch = (1..900_usize, 1..5_i64, any::<bool>(), any::<u64>());
    prop::collection::vec(stretch, 0..6).prop_map(|stretches| {
        let mut at = 0;
        let mut events = Vec::new();
        for (count, pause, nested, seed) in stretches {
            let mut state = seed;
            for _ in 0..count {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let (duration, op) = ((state >> 40) as i64 % 30, (state >> 33) as u32 % OPS);
                let start = at + (state >> 50) as i64 % pause;
                events.push((start, duration, op));
                if nested && duration > 4 {
                    events.push((start + 1, duration - 2, (op + 1) % OPS));
                    events.push((start + 2, 1, (op + 2) % OPS));
                }
                at = start + duration;
            }
            at += 3000;
        }
        events
    })
}

fn cases(scale: i64) -> impl Strategy<Value = Case> {
    let lanes = prop::collection::vec(prop_oneof![events(), flat_events()], 1..6);
    let power = prop::collection::btree_map(-40..300_i64, 0.0..100.0_f64, 1..40);
    (lanes, power, any::<bool>(), 0..20_i64).prop_map(move |(lanes, power, counter, hold)| Case {
        lanes,
        power: power.into_iter().collect(),
        scale,
        counter,
        hold,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn energy_is_conserved(case in cases(7), paper in any::<bool>()) {
        let semantics = if paper { Semantics::Paper } else { Semantics::Exact };
        if let Some(footprint) = footprint_of(&trace_of(&case.lanes, case.scale), &series_of(&case), semantics) {
            let balance = &footprint.devices[0];
            let booked: f64 = footprint.energies.iter().map(|entry| entry.energy.0).sum();
            let measured = balance.total.unwrap().0;
            prop_assert!(close(balance.attributed.0 + balance.unattributed.0, measured, measured));
            prop_assert!(close(booked, balance.attributed.0, measured));
            let by_step: f64 = footprint.steps.iter().map(|entry| entry.energy.0).sum();
            prop_assert!(close(by_step, balance.attributed.0, measured));
            prop_assert!(balance.outside_trace.0 <= balance.unattributed.0 + 1e-9 * measured);
        }
    }

    #[test]
    fn equals_the_flattening_reference(case in cases(1)) {
        let (trace, series) = (trace_of(&case.lanes, 1), series_of(&case));
        if let Some(footprint) = footprint_of(&trace, &series, Semantics::Exact) {
            let (wanted, unattributed) = slow_reference(&trace, &series, Semantics::Exact);
            let total = series.total().0;
            assert_same(&energies(&footprint), &wanted, total);
            prop_assert!(close(footprint.devices[0].unattributed.0, unattributed, total));
        }
    }

    #[test]
    fn paper_semantics_equal_the_flattening_reference(case in cases(300)) {
        let (trace, series) = (trace_of(&case.lanes, 300), series_of(&case));
        if let Some(footprint) = footprint_of(&trace, &series, Semantics::Paper) {
            let (wanted, _) = slow_reference(&trace, &series, Semantics::Paper);
            let total = series.total().0;
            assert_same(&energies(&footprint), &wanted, total);
        }
    }

    #[test]
    fn time_can_be_split_anywhere(case in cases(1), cut in -40..300_i64) {
        let (trace, series) = (trace_of(&case.lanes, 1), series_of(&case));
        let total = series.total().0;
        let mut halves: BTreeMap<u32, f64> = BTreeMap::new();
        let (mut unattributed, mut busy) = (0.0, Nanos(0));
        for (from, to) in [(i64::MIN / 2, cut), (cut, i64::MAX / 2)] {
            let half = restricted(&series, from, to);
            let lanes: Vec<&Lane> = trace.lanes.iter().collect();
            let tally = jouletree_account::tally_device(&lanes, &half, &[TimeRange::ALL], OPS as usize, 1);
            for (op, entry) in tally.ops.iter().enumerate() {
                *halves.entry(op as u32).or_default() += entry.energy.0;
            }
            unattributed += tally.unattributed.0;
            busy += tally.busy;
        }
        let lanes: Vec<&Lane> = trace.lanes.iter().collect();
        let whole = jouletree_account::tally_device(&lanes, &series, &[TimeRange::ALL], OPS as usize, 1);
        let wanted = whole.ops.iter().enumerate().map(|(op, entry)| (op as u32, entry.energy.0)).collect();
        assert_same(&halves, &wanted, total);
        prop_assert!(close(unattributed, whole.unattributed.0, total));
        prop_assert_eq!(busy, whole.busy);
    }

    #[test]
    fn stages_make_the_whole(case in cases(1), marks in prop::collection::vec((-40..300_i64, 0..3_u32), 1..5)) {
        let (trace, series) = (trace_of(&case.lanes, 1), series_of(&case));
        let Some(whole) = footprint_of(&trace, &series, Semantics::Exact) else { return Ok(()) };
        let mut staged = trace;
        staged.program.spans = marks.iter().map(|(start, name)| stage(*start, &format!("stage {name}"))).collect();
        let footprint = footprint_of(&staged, &series, Semantics::Exact).unwrap();
        let total = series.total().0;
        prop_assert!(footprint.stages.len() > 1);
        for balance in footprint.stages.iter().flat_map(|stage| &stage.devices) {
            prop_assert!(close((balance.attributed + balance.unattributed).0, balance.total.unwrap().0, total));
        }
        let (mine, wanted) = (&footprint.devices[0], &whole.devices[0]);
        let energies = |device: &DeviceEnergy| [device.attributed, device.unattributed, device.outside_trace];
        for (mine, wanted) in energies(mine).into_iter().zip(energies(wanted)) {
            prop_assert!(close(mine.0, wanted.0, total), "{mine} for {wanted}");
        }
        let times = |device: &DeviceEnergy| (device.busy, device.metered, device.uncovered);
        prop_assert_eq!(times(mine), times(wanted));
        let entries = |footprint: &Footprint| {
            let tef = Tef::from(footprint);
            let entry = |entry: &TefEntry| (entry.path.clone(), (entry.energy.0, entry.busy, entry.count));
            tef.entries().iter().map(entry).collect::<BTreeMap<_, _>>()
        };
        let (mine, wanted) = (entries(&footprint), entries(&whole));
        prop_assert_eq!(mine.len(), wanted.len());
        for ((path, mine), wanted) in mine.iter().zip(wanted.values()) {
            prop_assert!(close(mine.0, wanted.0, total), "{path}");
            prop_assert_eq!((mine.1, mine.2), (wanted.1, wanted.2), "{}", path);
        }
        let of_stages = (0..footprint.stages.len()).map(|stage| footprint.of_stage(stage).unwrap());
        let attributed: f64 = of_stages.map(|part| Tef::from(&part).total().0).sum();
        prop_assert!(close(attributed, whole.devices[0].attributed.0, total));
    }

    #[test]
    fn the_order_of_input_does_not_matter(case in cases(3), seed in any::<u64>()) {
        let series = series_of(&case);
        let mut shuffled = case.lanes.clone();
        let mut state = seed;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        // Events with one extent are distinguished by their order, so such ties are made unambiguous first.
        for lane in &mut shuffled {
            let mut seen = BTreeSet::new();
            lane.retain(|(start, duration, _)| seen.insert((*start, *duration)));
        }
        let original = footprint_of(&trace_of(&shuffled, case.scale), &series, Semantics::Exact);
        for lane in &mut shuffled {
            for i in (1..lane.len()).rev() {
                lane.swap(i, random(i + 1));
            }
        }
        for i in (1..shuffled.len()).rev() {
            shuffled.swap(i, random(i + 1));
        }
        let reordered = footprint_of(&trace_of(&shuffled, case.scale), &series, Semantics::Exact);
        prop_assert_eq!(original.is_some(), reordered.is_some());
        if let (Some(original), Some(reordered)) = (original, reordered) {
            assert_same(&energies(&reordered), &energies(&original), series.total().0);
        }
    }

    #[test]
    fn hostile_times_never_panic(
        lanes in prop::collection::vec(prop::collection::vec((edgy(i64::MIN, i64::MAX), edgy(i64::MIN, i64::MAX), 0..OPS), 0..20), 0..6),
        power in prop::collection::btree_map(edgy(-EnergySeries::HORIZON.0, EnergySeries::HORIZON.0), 0.0..1e12_f64, 0..10),
        paper in any::<bool>(),
    ) {
        let mut trace = trace_of(&[], 1);
        for lane in lanes {
            let events = lane.into_iter().map(|(start, end, op)| Event {
                start: Nanos(start), end: Nanos(end), op: OpId(op), step: Step::NONE,
            });
            trace.lanes.push(Lane::new(0, "hostile", events.collect()));
        }
        let mut series = EnergySeries::default();
        let mut total = 0.0;
        for (time, joules) in power {
            total += joules;
            series.push(Nanos(time), jouletree_model::Joules(total), false).unwrap();
        }
        let semantics = if paper { Semantics::Paper } else { Semantics::Exact };
        if let Some(footprint) = footprint_of(&trace, &series, semantics) {
            let balance = &footprint.devices[0];
            let measured = balance.total.unwrap().0;
            prop_assert!(close(balance.attributed.0 + balance.unattributed.0, measured, measured));
            prop_assert!(footprint.energies.iter().all(|entry| entry.busy >= Nanos(0) && entry.energy.0 >= 0.0));
        }
    }
}

/// Any number of a range, its very ends more often than chance would have it.
fn edgy(least: i64, most: i64) -> impl Strategy<Value = i64> {
    prop_oneof![4 => least..=most, 1 => least..=least.saturating_add(2000), 1 => most.saturating_sub(2000)..=most]
}

fn restricted(series: &EnergySeries, from: i64, to: i64) -> EnergySeries {
    let mut half = EnergySeries::default();
    let mut energy = jouletree_model::Joules::ZERO;
    let mut end = None;
    for span in series.spans() {
        let range = span.range.intersection(jouletree_model::TimeRange { start: Nanos(from), end: Nanos(to) });
        if range.is_empty() {
            continue;
        }
        if let Some(end) = end.filter(|end| *end != range.start) {
            half.push(end, energy, true).unwrap();
        }
        half.push(range.start, energy, false).unwrap();
        energy += span.power * range.duration();
        end = Some(range.end);
    }
    if let Some(end) = end {
        half.push(end, energy, false).unwrap();
    }
    half
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn long_lanes_equal_the_boundary_reference(
        lanes in prop::collection::vec(long_lane(), 1..6),
        period in 50..5000_i64,
        gap in prop::option::of(0..20_usize),
    ) {
        let trace = trace_of(&lanes, 1);
        let end = trace.extent().map_or(0, |extent| extent.end.0);
        let mut series = EnergySeries::default();
        let mut energy = 0.0;
        for (index, time) in (-100..end + 2 * period).step_by(period as usize).enumerate() {
            series.push(Nanos(time), jouletree_model::Joules(energy), Some(index) == gap).unwrap();
            energy += 1.0 + (index % 7) as f64;
        }
        if let Some(footprint) = footprint_of(&trace, &series, Semantics::Exact) {
            let (wanted, unattributed) = boundary_reference(&trace, &series);
            let total = series.total().0;
            assert_same(&energies(&footprint), &wanted, total);
            prop_assert!(close(footprint.devices[0].unattributed.0, unattributed, total));
            let counted: u64 = footprint.energies.iter().map(|entry| entry.count).sum();
            prop_assert_eq!(counted as usize, trace.event_count());
        }
    }
}

#[test]
fn two_lanes_share_equally_and_idle_time_is_nobodys() {
    let lanes = vec![vec![(0, 100, 0)], vec![(50, 100, 1)]];
    let case = Case { lanes, power: vec![(0, 1e9), (200, 0.0)], scale: 1, counter: false, hold: 0 };
    let footprint = footprint_of(&trace_of(&case.lanes, 1), &series_of(&case), Semantics::Exact).unwrap();
    // 1 J per nanosecond: 50 alone + 50 shared each, 50 idle.
    assert_eq!(energies(&footprint), BTreeMap::from([(0, 75.0), (1, 75.0)]));
    let balance = &footprint.devices[0];
    assert_eq!((balance.unattributed.0, balance.outside_trace.0, balance.busy), (50.0, 50.0, Nanos(150)));
}

#[test]
fn what_lies_outside_the_readings_is_reported_and_not_extrapolated() {
    let case = Case {
        lanes: vec![vec![(0, 100, 0), (120, 10, 1)]],
        power: vec![(50, 1e9), (100, 1e9)],
        scale: 1,
        counter: false,
        hold: 0,
    };
    let footprint = footprint_of(&trace_of(&case.lanes, 1), &series_of(&case), Semantics::Exact).unwrap();
    assert_eq!(energies(&footprint), BTreeMap::from([(0, 50.0)]));
    assert_eq!(footprint.devices[0].uncovered, Nanos(60));
    assert!(footprint.warnings.iter().any(|warning| warning.message.contains("while no power is known")));
    let counts: Vec<u64> = footprint.energies.iter().map(|entry| entry.count).collect();
    assert_eq!(counts, [1, 1]);
}

#[test]
fn parts_of_the_work_add_up_to_the_whole() {
    let lane = |shift: i64| (0..350_000_i64).map(move |i| (i * 20 + shift, 15 + i % 9, (i % 6) as u32)).collect();
    let trace = trace_of(&[lane(0), lane(7)], 1);
    let mut series = EnergySeries::default();
    for i in 0..7002 {
        series.push(Nanos(i * 1000 - 500), jouletree_model::Joules((i + i % 2) as f64), false).unwrap();
    }
    let lanes: Vec<&Lane> = trace.lanes.iter().collect();
    let tally = |parts| jouletree_account::tally_device(&lanes, &series, &[TimeRange::ALL], OPS as usize, parts);
    let (alone, together) = (tally(1), tally(7));
    for (a, b) in alone.ops.iter().zip(&together.ops) {
        assert_eq!((a.count, a.busy), (b.count, b.busy));
        assert!(close(a.energy.0, b.energy.0, 0.0));
    }
    assert!(close(alone.unattributed.0, together.unattributed.0, 0.0));
    assert_eq!(alone.ops.iter().map(|op| op.count).sum::<u64>(), 700_000);
}
