use std::collections::BTreeMap;

use jouletree_model::{
    Device, EnergySeries, Footprint, Kind, Op, Part, PartKind, Pass, Program, ProgramSpan, SpanKind, StepGroup,
};
use proptest::prelude::*;

use super::*;
use crate::{Semantics, account};

const OPS: u32 = 4;
/// Everything happens in so many nanoseconds.
const SPAN: i64 = 120;

/// Kind, process, start, duration, phase, function.
type Span = (u8, usize, i64, i64, bool, bool);

#[derive(Debug, Clone)]
struct Case {
    spans: Vec<Span>,
    lanes: Vec<Vec<(i64, i64, u32)>>,
    /// Energy and whether a gap follows, of each of two devices every seven nanoseconds.
    power: Vec<(f64, f64, bool)>,
    stage: Option<i64>,
}

fn device(name: &str) -> Device {
    name.parse().unwrap()
}

fn program_of(case: &Case) -> Program {
    let span = |(number, (kind, process, start, duration, phase, function)): (usize, &Span)| ProgramSpan {
        kind: match kind {
            0 => SpanKind::Compilation,
            1 => SpanKind::Overhead,
            _ => SpanKind::Step,
        },
        name: if *phase { "train" } else { "evaluate" }.into(),
        process: *process,
        range: TimeRange { start: Nanos(*start), end: Nanos(start + duration) },
        step: Step(number as u32),
        is_recorded: *kind > 3,
        samples: None,
        function: if *function { "f" } else { "" }.into(),
    };
    let mut spans: Vec<ProgramSpan> = case.spans.iter().enumerate().map(span).collect();
    if let (Some(start), Some(first)) = (case.stage, spans.first().cloned()) {
        let range = TimeRange { start: Nanos(start), end: Nanos(start) };
        spans.push(ProgramSpan { kind: SpanKind::Stage, name: "later".into(), range, ..first });
    }
    Program { spans, ..Program::default() }
}

fn trace_of(case: &Case) -> Trace {
    let mut trace = Trace { program: program_of(case), ..Trace::default() };
    let cpu = trace.device_index(&device("cpu:0"));
    for op in 0..OPS {
        trace.ops.intern(Op::new(format!("layer/{op}"), "MatMul", "", Pass::Forward));
    }
    for events in &case.lanes {
        let event = |(start, duration, op): &(i64, i64, u32)| {
            let (start, end) = (Nanos(*start), Nanos(start + duration));
            Event { start, end, op: OpId(*op), step: Step::NONE }
        };
        trace.lanes.push(Lane::new(cpu, "lane", events.iter().map(event).collect()));
    }
    trace
}

fn series_of(case: &Case, of: impl Fn(&(f64, f64, bool)) -> f64) -> EnergySeries {
    let (mut series, mut energy) = (EnergySeries::default(), 0.0);
    for (time, point) in (-20..).step_by(7).zip(&case.power) {
        energy += of(point);
        series.push(Nanos(time), Joules(energy), point.2).unwrap();
    }
    series
}

fn footprint_of(trace: &Trace, case: &Case) -> Option<Footprint> {
    let (cpu, dram) = (device("cpu:0"), device("dram:0"));
    let series = [series_of(case, |point| point.0), series_of(case, |point| point.1)];
    let metered = |device, series| Metered { device, kind: Kind::Measured, series };
    account(trace, &[metered(&cpu, &series[0]), metered(&dram, &series[1])], Semantics::Exact).ok()
}

/// The part that an instant belongs to, by the definition.
fn part_at(program: &Program, operations: Option<TimeRange>, instant: Nanos) -> Part {
    let runs = |span: &&ProgramSpan| span.range.start <= instant && instant < span.range.end;
    let is_busy = |process: usize, kind: SpanKind| {
        program.spans.iter().filter(runs).any(|span| span.process == process && span.kind == kind)
    };
    let steps = || program.steps().filter(|step| !step.range.is_empty());
    let is_counted = |step: &&ProgramSpan| {
        !is_busy(step.process, SpanKind::Compilation) && !is_busy(step.process, SpanKind::Overhead)
    };
    let running = || steps().filter(runs).filter(is_counted);
    let latest = |recorded| running().rfind_latest(recorded);
    let any_recorded = steps().any(|step| step.is_recorded);
    let is_within = operations.is_some_and(|range| range.start <= instant && instant < range.end);
    if let Some(step) = latest(true) {
        return Part { kind: PartKind::RecordedSteps, phase: step.name.clone(), function: step.function.clone() };
    }
    if !any_recorded && is_within {
        return Part::new(PartKind::Operations);
    }
    if let Some(step) = latest(false) {
        return Part {
            kind: PartKind::UnrecordedSteps,
            phase: step.name.clone(),
            function: step.function.clone(),
        };
    }
    let only_compiles =
        |process: usize| is_busy(process, SpanKind::Compilation) && !is_busy(process, SpanKind::Overhead);
    let kind = if (0..3).any(only_compiles) {
        PartKind::Compilation
    } else if (0..3).any(|process| is_busy(process, SpanKind::Overhead)) {
        PartKind::Recording
    } else if steps().next().is_none() {
        PartKind::NoSteps
    } else {
        let borders = || operations.filter(|_| !any_recorded).into_iter().chain(steps().map(|step| step.range));
        if borders().all(|range| instant < range.start) {
            PartKind::BeforeSteps
        } else if borders().all(|range| instant >= range.end) {
            PartKind::AfterSteps
        } else {
            PartKind::BetweenSteps
        }
    };
    Part::new(kind)
}

trait Latest<'a> {
    /// The step that began last of those that were recorded, or were not.
    fn rfind_latest(self, is_recorded: bool) -> Option<&'a ProgramSpan>;
}

impl<'a, I: Iterator<Item = &'a ProgramSpan>> Latest<'a> for I {
    fn rfind_latest(self, is_recorded: bool) -> Option<&'a ProgramSpan> {
        self.filter(|step| step.is_recorded == is_recorded).max_by_key(|step| (step.range.start, step.step))
    }
}

/// What each part used on a device, instant by instant.
fn reference(trace: &Trace, series: &EnergySeries) -> BTreeMap<Part, f64> {
    let mut sums = BTreeMap::new();
    for span in series.spans() {
        for instant in span.range.start.0..span.range.end.0 {
            let part = part_at(&trace.program, trace.extent(), Nanos(instant));
            *sums.entry(part).or_default() += (span.power * Nanos(1)).0;
        }
    }
    sums
}

fn close(a: f64, b: f64, whole: f64) -> bool {
    (a - b).abs() <= 1e-9 * whole.abs().max(1e-300)
}

fn sums(footprint: &Footprint) -> BTreeMap<(usize, u32, usize), (f64, i64, u64)> {
    let mut sums: BTreeMap<(usize, u32, usize), (f64, i64, u64)> = BTreeMap::new();
    let all = footprint.charges.iter().map(|charge| charge.charged);
    let all: Vec<_> = if footprint.parts.is_empty() { footprint.energies.clone() } else { all.collect() };
    for charged in all {
        let sum = sums.entry((charged.device, charged.op.0, charged.stage)).or_default();
        (sum.0, sum.1, sum.2) = (sum.0 + charged.energy.0, sum.1 + charged.busy.0, sum.2 + charged.count);
    }
    sums
}

fn check(case: &Case) {
    let trace = trace_of(case);
    let Some(footprint) = footprint_of(&trace, case) else { return };
    let stages = trace.program.spans.iter().filter(|span| span.kind == SpanKind::Stage).cloned().collect();
    let plain = Trace { program: Program { spans: stages, ..Program::default() }, ..trace.clone() };
    let plain = footprint_of(&plain, case).unwrap();
    let whole: f64 = footprint.devices.iter().filter_map(|device| device.total).sum::<Joules>().0;

    // Each part has what it used, and all of them the whole.
    for (number, balance) in footprint.devices.iter().enumerate() {
        let of = |point: &(f64, f64, bool)| if number == 0 { point.0 } else { point.1 };
        let wanted = reference(&trace, &series_of(case, of));
        let measured = balance.total.unwrap().0;
        if footprint.parts.is_empty() {
            continue;
        }
        let sum: f64 = footprint.parts.iter().map(|part| part.devices[number].energy.0).sum();
        assert!(close(sum, measured, measured), "{sum} of {measured}");
        for part in &footprint.parts {
            let PartBalance { energy, operations } = part.devices[number];
            let wanted = wanted.get(&part.part).copied().unwrap_or_default();
            assert!(close(energy.0, wanted, measured), "{:?}: {energy:?}, {wanted}", part.part);
            assert!(operations.0 >= 0.0 && operations.0 <= energy.0 + 1e-9 * measured, "{:?}", part.part);
        }
        assert!(close(balance.attributed.0 + balance.unattributed.0, measured, measured));
        let inside = footprint.parts.iter().filter(|part| part.part.is_recorded());
        let inside: f64 = inside.map(|part| part.devices[number].energy.0).sum();
        assert!(close(measured - balance.outside_trace.0, inside, measured));
        assert!(balance.attributed.0 <= inside + 1e-9 * measured);
    }

    // Cutting changes nothing but where things are booked.
    let (cut, uncut) = (sums(&footprint), sums(&plain));
    assert_eq!(cut.len(), uncut.len());
    for ((key, found), (_, wanted)) in cut.iter().zip(&uncut) {
        assert!(close(found.0, wanted.0, whole), "{key:?}: {found:?}, {wanted:?}");
        assert_eq!((found.1, found.2), (wanted.1, wanted.2), "{key:?}");
    }
    if footprint.parts.is_empty() {
        return;
    }

    // One base for operations, devices and steps.
    let charged: f64 = footprint.energies.iter().map(|charged| charged.energy.0).sum();
    let attributed: Joules = footprint.devices.iter().map(|device| device.attributed).sum();
    assert!(close(charged, attributed.0, whole));
    if trace.program.steps().any(|step| step.is_recorded && !step.range.is_empty()) {
        let steps: Joules = footprint.steps.iter().map(|step| step.energy).sum();
        assert!(close(charged, steps.0, whole));
    }

    // Scaled operations, what no operation was charged with, and steps that were never recorded make all steps.
    let groups = footprint.step_groups();
    let of_steps = footprint.parts.iter().filter(|part| part.part.is_steps());
    let all_steps: f64 = of_steps.map(|part| footprint.of_part(part).energy.0).sum();
    let scaled: f64 = footprint.of_all_steps().energies.iter().map(|charged| charged.energy.0).sum();
    let in_steps = footprint.parts.iter().filter(|part| part.part.kind == PartKind::RecordedSteps);
    let between: f64 = in_steps
        .map(|part| {
            let is_of =
                |group: &&StepGroup| (&group.phase, &group.function) == (&part.part.phase, &part.part.function);
            let factor = groups.iter().find(is_of).and_then(StepGroup::factor).unwrap_or(1.0);
            let PartBalance { energy, operations } = footprint.of_part(part);
            factor * (energy - operations).0
        })
        .sum();
    let missing: f64 = groups.iter().filter(|group| group.factor().is_none()).map(|group| group.energy.0).sum();
    let throughout = footprint.parts.iter().filter(|part| part.part.kind == PartKind::Operations);
    let throughout: f64 = throughout.map(|part| footprint.of_part(part).operations.0).sum();
    let most = scaled.max(all_steps).max(whole);
    assert!(
        close(scaled - throughout + between + missing, all_steps, most),
        "{scaled} + {between} + {missing} of {all_steps}"
    );
}

fn cases() -> impl Strategy<Value = Case> {
    let span = (0..7_u8, 0..3_usize, -5..SPAN, 0..40_i64, any::<bool>(), any::<bool>());
    let event = prop_oneof![(0..SPAN, 0..10_i64, 0..OPS), (0..SPAN, 0..SPAN, 0..OPS)];
    let lanes = prop::collection::vec(prop::collection::vec(event, 0..12), 1..4);
    let power = prop::collection::vec((0.0..9.0_f64, 0.0..2.0_f64, prop::bool::weighted(0.1)), 2..30);
    let stage = prop::option::of(0..SPAN);
    (prop::collection::vec(span, 0..10), lanes, power, stage).prop_map(|(spans, lanes, power, stage)| Case {
        spans,
        lanes,
        power,
        stage,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn parts_make_the_whole_and_operations_their_parts(case in cases()) {
        check(&case);
    }
}

/// Two phases, of which each has one step of three recorded, and a third that was never recorded.
#[test]
fn each_phase_has_its_own_factor() {
    let (train, evaluate) = (true, false);
    let spans = vec![
        (4, 0, 0, 10, train, false),
        (4, 0, 10, 10, evaluate, false),
        (2, 0, 20, 30, train, false),
        (2, 0, 50, 10, evaluate, false),
        (2, 0, 60, 20, evaluate, true),
    ];
    let lanes = vec![vec![(2, 4, 0), (10, 10, 1), (18, 6, 1), (90, 5, 2)]];
    let case = Case { spans, lanes, power: vec![(7.0, 0.0, false); 25], stage: None };
    let footprint = footprint_of(&trace_of(&case), &case).unwrap();
    let factors: Vec<(&str, Option<f64>)> = [("train", ""), ("evaluate", ""), ("evaluate", "f")]
        .map(|(phase, function)| {
            let groups = footprint.step_groups();
            let group = groups.into_iter().find(|group| (&*group.phase, &*group.function) == (phase, function));
            (phase, group.unwrap().factor().map(|factor| (factor * 1e6).round() / 1e6))
        })
        .to_vec();
    assert_eq!(factors, [("train", Some(4.0)), ("evaluate", Some(2.0)), ("evaluate", None)]);
    let energies = |footprint: &Footprint| -> Vec<(u32, f64)> {
        let rounded = |joules: f64| (joules * 1e6).round() / 1e6;
        let cpu = footprint.energies.iter().filter(|charged| charged.device == 0);
        cpu.map(|charged| (charged.op.0, rounded(charged.energy.0))).collect()
    };
    // One joule a nanosecond. What runs after the end of a recorded step is no part of it.
    assert_eq!(energies(&footprint), [(0, 4.0), (1, 10.0)]);
    assert_eq!(energies(&footprint.of_all_steps()), [(0, 16.0), (1, 20.0)]);
    assert_eq!(energies(&footprint.outside_steps()), [(1, 4.0), (2, 5.0)]);
}
