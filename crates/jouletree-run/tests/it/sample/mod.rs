//! A small run that has something in every file.

use jouletree_model::{
    BaseOrigin, Device, DeviceClass, DeviceEnergy, EnergySeries, Event, Facts, Footprint, Joules, Kind, Lane,
    Marker, Nanos, Op, OpEnergy, OpId, Part, PartBalance, PartCharge, PartEnergy, PartKind, Pass, Process,
    ProgramSpan, ReadCount, SpanKind, StageEnergy, Step, StepEnergy, TensorShape, TimeBase, TimeRange, Trace,
    TraceSource, Warning,
};
use jouletree_model::{Interval, Origin, PolicyName, PredictedInterval, Rule, Scope, Semantics};
use jouletree_run::{Accounting, MeteredSeries, RunContents};

pub struct Run {
    pub trace: Trace,
    pub power: Vec<MeteredSeries>,
    pub footprint: Footprint,
}

impl Run {
    pub fn contents(&self) -> RunContents<'_> {
        RunContents {
            accounting: Accounting {
                command: vec!["jouletree".into(), "account".into()],
                power: vec!["power.csv".into()],
                origin: Origin::Accounted,
                rule: Some(Rule::Recency),
                semantics: Semantics::Exact,
                energy: Scope::Tree,
                attribution: PolicyName::default(),
                attributed: Vec::new(),
                hold_ms: Some(0.1),
            },
            trace: &self.trace,
            power: &self.power,
            footprint: &self.footprint,
        }
    }
}

pub fn run() -> Run {
    let mut trace = Trace::default();
    let gpu = trace.device_index(&Device::new(DeviceClass::Gpu, 1).on("node7"));
    trace.device_index(&Device::new(DeviceClass::Dram, 0));
    let cpu = trace.device_index(&Device::new(DeviceClass::Cpu, 0));
    let mut nodes = Vec::new();
    for (number, pass) in [(0, Pass::Forward), (1, Pass::Backward), (2, Pass::Optimizer)] {
        let path = format!("bert/layer_{number}/MatMul ∇");
        let op = Op { approximate: number == 1, ..Op::new(path.as_str(), "MatMul", path.as_str(), pass) };
        trace.ops.intern(op.clone());
        let outputs = vec![TensorShape::new("float", [8, number]), TensorShape::new("", [-1])];
        let known = Facts { flops: Some(u64::MAX), outputs, ..Facts::default() };
        nodes.push(trace.model.insert(op, if number == 0 { Facts::default() } else { known }));
    }
    trace.model.connect(nodes[0], nodes[2]);
    trace.model.connect(nodes[2], nodes[1]);
    let event = |start, end, op, step| Event { start: Nanos(start), end: Nanos(end), op: OpId(op), step };
    let near = 1_794_770_717_476_000_125;
    trace.lanes = vec![
        Lane::new(
            cpu,
            "thread 1",
            (0..500)
                .map(|i| event(near + i * 7, near + i * 7 + 5, (i % 3) as u32, Step((i / 10) as u32)))
                .collect(),
        ),
        Lane::new(gpu, "", Vec::new()),
        Lane::new(gpu, "stream 7", vec![event(i64::MIN, i64::MAX, 2, Step::NONE), event(0, 0, 0, Step(0))]),
        Lane::new(cpu, "thread 2", vec![event(near, near + 1, 1, Step::NONE)]),
    ];
    trace.warnings = vec![Warning::new("timeline.json", "12 events have no end").at("byte 9")];
    let counts = vec![ReadCount { device: trace.devices[gpu].clone(), category: "Op".into(), events: 7 }];
    trace.sources = vec![TraceSource {
        file: "timeline.json".into(),
        format: "tensorflow-timeline".into(),
        host: Some("node7".into()),
        time_base: TimeBase::Epoch { base: Nanos(7), origin: BaseOrigin::Marker, within: Nanos(200) },
        markers: vec![Marker { wall: Nanos(5), at: Nanos(6) }],
        counts,
    }];

    let process = Process { pid: 7, command: vec!["python".into()], rank: Some("0".into()), ..Process::default() };
    trace.program.processes = vec![Process::default(), process];
    let span = |kind, name: &str, step, samples| ProgramSpan {
        kind,
        name: name.into(),
        process: 1,
        range: TimeRange { start: Nanos(near), end: Nanos(near + 9) },
        step,
        is_recorded: samples == Some(3),
        samples,
        function: if kind == SpanKind::Step { "f ∘ g, \"h\"".into() } else { "".into() },
    };
    trace.program.spans = vec![
        span(SpanKind::Step, "train", Step(0), Some(3)),
        span(SpanKind::Window, "eval ∑", Step::NONE, None),
        span(SpanKind::Stage, "", Step::NONE, Some(0)),
        span(SpanKind::Compilation, "f", Step::NONE, None),
        span(SpanKind::Overhead, "recording", Step::NONE, None),
    ];

    let device = |device: &Device, measured: Option<f64>| DeviceEnergy {
        device: device.clone(),
        total: measured.map(Joules),
        attributed: Joules(0.1 + 0.2),
        unattributed: Joules(-0.0),
        outside_trace: Joules(f64::MIN_POSITIVE),
        kind: measured.map(|_| Kind::Derived),
        busy: Nanos(9_007_199_254_740_993),
        metered: Nanos(i64::MAX),
        uncovered: Nanos(-1),
    };
    let entry = |device, op, energy| OpEnergy {
        device,
        op: OpId(op),
        stage: device,
        energy: Joules(energy),
        busy: Nanos(3),
        count: u64::MAX,
        standard_error: (op == 1).then_some(Joules(energy / 8.0)),
    };
    let step = |device, step, energy| StepEnergy { device, step, energy: Joules(energy), busy: Nanos(4) };
    let stage = |name: &str| StageEnergy {
        name: name.into(),
        devices: vec![device(&trace.devices[cpu], Some(1e-300)), device(&trace.devices[gpu], None)],
    };
    let balance = |energy| PartBalance { energy: Joules(energy), operations: Joules(1.0 / 3.0) };
    let part = |kind, phase: &str, function: &str| PartEnergy {
        part: Part { kind, phase: phase.into(), function: function.into() },
        time: Nanos(9_007_199_254_740_993),
        devices: vec![balance(0.1), balance(1e-300)],
    };
    let end = |joules| Joules(joules);
    let intervals = [Pass::Forward, Pass::Backward].map(|pass| PredictedInterval {
        path: "bert/layer_0".into(),
        pass,
        energy: end(0.3),
        interval: Interval { low: end(0.1), high: end(0.7) },
    });
    let footprint = Footprint {
        intervals: intervals.into(),
        sources: trace.sources.clone(),
        devices: vec![device(&trace.devices[cpu], Some(1e-300)), device(&trace.devices[gpu], None)],
        ops: trace.ops.clone(),
        energies: vec![entry(0, 2, 0.1), entry(0, 0, 1.0 / 3.0), entry(1, 1, 1e300)],
        stages: ["", "pre-training"].map(stage).to_vec(),
        steps: vec![step(1, Step(3), 0.7), step(0, Step::NONE, 0.0)],
        parts: vec![
            part(PartKind::RecordedSteps, "train", ""),
            part(PartKind::RecordedSteps, "train", "f ∘ g, \"h\""),
            part(PartKind::AfterSteps, "", ""),
        ],
        charges: vec![
            PartCharge { part: 2, charged: entry(1, 1, 1e300) },
            PartCharge { part: 1, charged: entry(0, 2, 0.1) },
            PartCharge { part: 0, charged: entry(0, 2, 0.2) },
        ],
        model: trace.model.clone(),
        warnings: vec![Warning::new("host/gpu:0", "nothing metered it")],
        errors: Vec::new(),
    };
    let mut series = EnergySeries::default();
    for (time, joules, gap) in [(near, 0.1, false), (near + 4, 0.30000000000000004, true), (near + 9, 0.0, false)]
    {
        assert_eq!(series.push(Nanos(time), Joules(joules), gap), Ok(()));
    }
    let metered = |domain: Option<&str>, kind| MeteredSeries {
        device: trace.devices[cpu].clone(),
        domain: domain.map(str::to_owned),
        scope: Scope::Device,
        kind,
        series: series.clone(),
    };
    let power = vec![metered(None, Kind::Measured), metered(Some("core"), Kind::Estimated)];
    Run { trace, power, footprint }
}
