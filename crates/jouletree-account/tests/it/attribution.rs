//! The laws that every attribution policy keeps: those that users choose from, and two that only exist here to show that the
//! seam carries more than equal shares.

use std::convert::Infallible;
use std::ops::{Add, AddAssign, Sub};

use jouletree_account::attribution::{Active, Observed, Policy, Shares};
use jouletree_account::{
    Attribution, Charge, ChargeVisitor, Metered, OpTally, Semantics, Tef, account, account_by, account_with,
    charge_events_by, charge_events_with, t2e,
};
use jouletree_model::{
    Device, DeviceClass, EnergySeries, Event, Footprint, Joules, Kind, Lane, Nanos, Op, OpId, Pass, ProgramSpan,
    SpanKind, Step, TimeRange, Trace,
};
use proptest::prelude::*;

const OPS: u32 = 6;

/// Operations share power in proportion to a whole number of their own.
struct Weighted;

struct WeightedShares {
    weights: Vec<u64>,
}

impl Policy for Weighted {
    type Fit = ();
    type Shares = WeightedShares;

    fn fit(&self, _device: &Observed<'_>) {}

    fn shares(&self, _fit: &(), part: &Observed<'_>) -> WeightedShares {
        let most = part.lanes.iter().flat_map(|lane| lane.events()).map(|event| event.op.0).max();
        let weight = |op| u64::from(part.operation(OpId(op)).0) + 1;
        WeightedShares { weights: (0..=most.unwrap_or(0)).map(weight).collect() }
    }
}

impl Shares for WeightedShares {
    type Weight = u64;
    type Load = u64;
    type Cost = f64;

    fn weight(&self, _lane: usize, op: OpId) -> u64 {
        self.weights[op.index()]
    }

    fn begin(&self, load: u64, weight: u64) -> u64 {
        load + weight
    }

    fn end(&self, load: u64, weight: u64) -> u64 {
        load - weight
    }

    fn cost(&self, _span: usize, energy: f64, active: Active<u64>) -> f64 {
        if active.lanes == 0 { 0.0 } else { energy / active.load as f64 }
    }

    fn charge(&self, cost: f64, weight: u64) -> f64 {
        cost * weight as f64
    }

    fn unattributed(&self, _span: usize, idle: f64, _busy: f64) -> f64 {
        idle
    }
}

/// A model of power, scaled to what was measured in each span: so many watts for an idle device, and so many more for each
/// active operation. This is the form of a regression: it looks at everything first, its parts of a span are scaled by one
/// factor, and its charges have standard errors.
struct Modelled;

const IDLE: f64 = 3.0;

struct ModelledShares {
    watts: Vec<f64>,
    /// The modelled power of each span, on average.
    means: Vec<f64>,
}

/// What an operation pays alike, and what it pays by its watts.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    alike: f64,
    by_watts: f64,
}

impl Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost { alike: self.alike + other.alike, by_watts: self.by_watts + other.by_watts }
    }
}

impl Sub for Cost {
    type Output = Cost;

    fn sub(self, other: Cost) -> Cost {
        Cost { alike: self.alike - other.alike, by_watts: self.by_watts - other.by_watts }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        *self = *self + other;
    }
}

impl Policy for Modelled {
    /// The watts of each operation: more for those that ran for longer, as if that had been learned.
    type Fit = Vec<f64>;
    type Shares = ModelledShares;

    fn fit(&self, device: &Observed<'_>) -> Vec<f64> {
        let mut seconds = vec![0.0; device.ops.len()];
        device.each_piece(|piece| {
            for (_, op) in piece.active {
                seconds[device.operation(*op).index()] += piece.range.duration().seconds();
            }
        });
        seconds.iter().map(|seconds| 1.0 + seconds * 1e9).collect()
    }

    fn shares(&self, fit: &Vec<f64>, part: &Observed<'_>) -> ModelledShares {
        let mut means = vec![0.0; part.spans.len()];
        part.each_piece(|piece| {
            let watts = |(_, op): &(usize, OpId)| fit[part.operation(*op).index()];
            let power = IDLE + piece.active.iter().map(watts).sum::<f64>();
            let duration = part.spans[piece.span].range.duration();
            means[piece.span] += power * piece.range.duration().0 as f64 / duration.0 as f64;
        });
        let most = part.lanes.iter().flat_map(|lane| lane.events()).map(|event| event.op.0).max();
        let watts = |op| fit[part.operation(OpId(op)).index()];
        let watts = most.map_or(Vec::new(), |most| (0..=most).map(watts).collect());
        ModelledShares { watts, means }
    }
}

impl Shares for ModelledShares {
    type Weight = f64;
    type Load = ();
    type Cost = Cost;

    fn weight(&self, _lane: usize, op: OpId) -> f64 {
        self.watts[op.index()]
    }

    fn begin(&self, _load: (), _weight: f64) {}

    fn end(&self, _load: (), _weight: f64) {}

    fn cost(&self, span: usize, energy: f64, active: Active<()>) -> Cost {
        let scaled = energy / self.means[span];
        Cost { alike: IDLE * scaled / active.lanes.max(1) as f64, by_watts: scaled }
    }

    fn charge(&self, cost: Cost, watts: f64) -> f64 {
        cost.alike + watts * cost.by_watts
    }

    fn unattributed(&self, span: usize, idle: f64, _busy: f64) -> f64 {
        idle * IDLE / self.means[span]
    }

    fn standard_error(&self, _op: OpId, charged: &OpTally) -> Option<Joules> {
        Some(Joules(0.1 * charged.energy.0))
    }
}

/// Every policy by its name, with the footprint it makes and what it charges events with.
fn all_policies(trace: &Trace, series: &EnergySeries, semantics: Semantics) -> Vec<(String, Footprint, Charged)> {
    let device = Device::new(DeviceClass::Cpu, 0);
    let power = [Metered { device: &device, kind: Kind::Measured, series }];
    let mut found = Vec::new();
    for policy in Attribution::ALL {
        let mut charged = Charged::default();
        charge_events_by(trace, &power, *policy, &mut charged).unwrap();
        if let Ok(footprint) = account_by(trace, &power, semantics, *policy) {
            found.push((policy.to_string(), footprint, charged));
        }
    }
    found.extend(by(&Weighted, "weighted", trace, &power, semantics));
    found.extend(by(&Modelled, "modelled", trace, &power, semantics));
    found
}

fn by<P: Policy>(
    policy: &P,
    name: &str,
    trace: &Trace,
    power: &[Metered<'_>],
    semantics: Semantics,
) -> Option<(String, Footprint, Charged)> {
    let mut charged = Charged::default();
    charge_events_with(trace, power, policy, &mut charged).unwrap();
    let footprint = account_with(trace, power, semantics, policy).ok()?;
    Some((name.to_owned(), footprint, charged))
}

/// What events were charged with, by operation.
#[derive(Default)]
struct Charged([f64; OPS as usize]);

impl ChargeVisitor for Charged {
    type Error = Infallible;

    fn stretch(&mut self, _: usize, _: &Event, _: TimeRange, _: Charge) -> Result<(), Infallible> {
        Ok(())
    }

    fn event(&mut self, _: usize, event: &Event, charge: Charge) -> Result<(), Infallible> {
        self.0[event.op.index()] += charge.energy.0;
        Ok(())
    }
}

fn trace_of(lanes: &[Vec<(i64, i64, u32)>], marks: &[i64]) -> Trace {
    let mut trace = Trace::default();
    let index = trace.device_index(&Device::new(DeviceClass::Cpu, 0));
    for op in 0..OPS {
        trace.ops.intern(Op::new(format!("layer_{}/{op}", op % 2), "MatMul", "", Pass::Forward));
    }
    for events in lanes {
        let events = events.iter().map(|(start, duration, op)| Event {
            start: Nanos(*start),
            end: Nanos(start + duration),
            op: OpId(*op),
            step: Step(*op % 2),
        });
        trace.lanes.push(Lane::new(index, "lane", events.collect()));
    }
    trace.program.spans = marks.iter().enumerate().map(|(number, start)| stage(*start, number)).collect();
    trace
}

fn stage(start: i64, number: usize) -> ProgramSpan {
    let range = TimeRange { start: Nanos(start), end: Nanos(start) };
    let (kind, step) = (SpanKind::Stage, Step::NONE);
    let (is_recorded, samples, function) = (false, None, "".into());
    let name = format!("stage {number}").into();
    ProgramSpan { kind, name, process: 0, range, step, is_recorded, samples, function }
}

fn series_of(points: &[(i64, f64, bool)]) -> EnergySeries {
    let mut series = EnergySeries::default();
    let (mut time, mut energy) = (-50, 0.0);
    for (elapsed, joules, gap) in points {
        (time, energy) = (time + elapsed, energy + joules);
        series.push(Nanos(time), Joules(energy), *gap).unwrap();
    }
    series
}

fn lanes(events: usize) -> impl Strategy<Value = Vec<Vec<(i64, i64, u32)>>> {
    let span = events as i64 * 12;
    let event = prop_oneof![(0..span, 0..40_i64, 0..OPS), (0..span, 0..span, 0..OPS)];
    prop::collection::vec(prop::collection::vec(event, 0..events), 1..6)
}

fn points(most: usize) -> impl Strategy<Value = Vec<(i64, f64, bool)>> {
    prop::collection::vec((1..60_i64, 0.0..9.0_f64, prop::bool::weighted(0.2)), 2..most)
}

fn close(a: f64, b: f64, scale: f64) -> bool {
    (a - b).abs() <= 1e-9 * scale
}

fn assert_conserved(name: &str, footprint: &Footprint) {
    let stages = footprint.stages.iter().flat_map(|stage| &stage.devices);
    for balance in footprint.devices.iter().chain(stages) {
        let measured = balance.total.unwrap().0;
        let booked = balance.attributed.0 + balance.unattributed.0;
        assert!(close(booked, measured, measured), "{name}: {booked} J booked, {measured} J measured");
    }
    let (attributed, measured) = (footprint.devices[0].attributed.0, footprint.devices[0].total.unwrap().0);
    let by_op: f64 = footprint.energies.iter().map(|charged| charged.energy.0).sum();
    let by_step: f64 = footprint.steps.iter().map(|step| step.energy.0).sum();
    assert!(close(by_op, attributed, measured) && close(by_step, attributed, measured), "{name}");
    assert!(footprint.energies.iter().all(|charged| charged.energy.0 >= -1e-9 * measured), "{name}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_policy_conserves_energy(
        lanes in lanes(20), power in points(20), marks in prop::collection::vec(-40..300_i64, 0..3), paper in any::<bool>()
    ) {
        let semantics = if paper { Semantics::Paper } else { Semantics::Exact };
        for (name, footprint, _) in all_policies(&trace_of(&lanes, &marks), &series_of(&power), semantics) {
            assert_conserved(&name, &footprint);
        }
    }

    #[test]
    fn events_are_charged_as_their_operations_are(lanes in lanes(20), power in points(20)) {
        for (name, footprint, events) in all_policies(&trace_of(&lanes, &[]), &series_of(&power), Semantics::Exact) {
            let measured = footprint.devices[0].total.unwrap().0;
            for charged in &footprint.energies {
                let of_events = events.0[charged.op.index()];
                prop_assert!(close(of_events, charged.energy.0, measured), "{name}: {of_events} {:?}", charged);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn long_lanes_lose_nothing_by_any_policy(lanes in lanes(4000), power in points(900)) {
        for (name, footprint, _) in all_policies(&trace_of(&lanes, &[]), &series_of(&power), Semantics::Exact) {
            assert_conserved(&name, &footprint);
        }
    }
}

fn watt(joules: f64) -> [(i64, f64, bool); 2] {
    [(50, 0.0, false), (100, joules, false)]
}

#[test]
fn weights_decide_how_power_is_shared() {
    // Operation 0 weighs 1, operation 2 weighs 3; alone for 50 ns each, together for 25, and 25 idle.
    let trace = trace_of(&[vec![(0, 50, 0)], vec![(25, 50, 2)]], &[]);
    let device = Device::new(DeviceClass::Cpu, 0);
    let series = series_of(&watt(100.0));
    let power = [Metered { device: &device, kind: Kind::Measured, series: &series }];
    let footprint = account_with(&trace, &power, Semantics::Exact, &Weighted).unwrap();
    let energies: Vec<f64> = footprint.energies.iter().map(|charged| charged.energy.0).collect();
    assert!(close(energies[0], 25.0 + 6.25, 1.0) && close(energies[1], 25.0 + 18.75, 1.0), "{energies:?}");
    assert!(close(footprint.devices[0].unattributed.0, 25.0, 1.0));
}

#[test]
fn standard_errors_of_a_policy_reach_the_tree() {
    // Two operations in one layer and one in another, in two stages: errors of an operation add up, those of several in
    // quadrature.
    let trace = trace_of(&[vec![(0, 40, 0), (40, 20, 2), (60, 30, 1)]], &[0, 20]);
    let device = Device::new(DeviceClass::Cpu, 0);
    let series = series_of(&watt(100.0));
    let power = [Metered { device: &device, kind: Kind::Measured, series: &series }];
    let footprint = account_with(&trace, &power, Semantics::Exact, &Modelled).unwrap();
    assert!(footprint.stages.len() > 1);
    let tef = Tef::from(&footprint);
    for entry in tef.entries() {
        assert!(close(entry.standard_error.unwrap().0, 0.1 * entry.energy.0, 1.0), "{entry:?}");
    }
    let tree = t2e(&tef, &[]);
    for layer in &tree.children {
        let squares: f64 = layer.children.iter().map(|op| (0.1 * op.energy.0).powi(2)).sum();
        assert!(close(layer.standard_error.unwrap().0, squares.sqrt(), 1.0), "{}", layer.path);
    }
    let text = serde_json::to_string(&tree).unwrap();
    assert!(text.contains("standard_error_j"));
    // Equal shares are no estimate: nothing is said of their errors, and no key is written.
    let footprint = account(&trace, &power, Semantics::Exact).unwrap();
    let tree = t2e(&Tef::from(&footprint), &[]);
    assert!(!tree.has_errors() && !serde_json::to_string(&tree).unwrap().contains("standard_error_j"));
}

#[test]
fn the_chosen_policy_is_the_default_one_where_it_is_equal() {
    let trace = trace_of(&[vec![(0, 50, 0)], vec![(25, 50, 2)]], &[]);
    let device = Device::new(DeviceClass::Cpu, 0);
    let series = series_of(&watt(100.0));
    let power = [Metered { device: &device, kind: Kind::Measured, series: &series }];
    let chosen = account_by(&trace, &power, Semantics::Exact, Attribution::default()).unwrap();
    assert_eq!(chosen, account(&trace, &power, Semantics::Exact).unwrap());
    assert_eq!("equal".parse(), Ok(Attribution::Equal));
    let unknown = "first".parse::<Attribution>().unwrap_err().to_string();
    assert!(unknown.contains("`first`") && unknown.contains("equal"), "{unknown}");
}
