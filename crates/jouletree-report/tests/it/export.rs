//! Exports of runs that accounting seldom gives: empty ones, devices without a meter, stages, a meter at the plug.

use jouletree_model::{
    DeviceEnergy, EnergySeries, Event, Footprint, Joules, Kind, Lane, Nanos, Op, OpEnergy, Pass, ProgramSpan,
    SpanKind, StageEnergy, Step, TimeRange, Trace,
};
use jouletree_report::export::{Content, ExportError, Format, write};
use jouletree_run::{MeteredSeries, Scope};

const FORMATS: [Format; 7] = [
    Format::Speedscope,
    Format::Collapsed,
    Format::Pprof,
    Format::Perfetto,
    Format::Firefox,
    Format::Csv,
    Format::Parquet,
];

fn written(format: Format, footprint: &Footprint, power: &[MeteredSeries]) -> Result<Vec<u8>, ExportError> {
    let content =
        Content { name: "run", program: "train.py", footprint, trace: &Trace::default(), power, is_exact: true };
    let mut output = Vec::new();
    write(format, &content, &mut output).map(|()| output)
}

fn text(format: Format, footprint: &Footprint) -> String {
    String::from_utf8(written(format, footprint, &[]).unwrap()).unwrap()
}

fn balance(device: &str, measured: Option<f64>, unattributed: f64, outside: f64) -> DeviceEnergy {
    DeviceEnergy {
        device: device.parse().unwrap(),
        total: measured.map(Joules),
        attributed: Joules(measured.unwrap_or(0.0) - unattributed),
        unattributed: Joules(unattributed),
        outside_trace: Joules(outside),
        kind: measured.map(|_| Kind::Measured),
        busy: Nanos(0),
        metered: Nanos(0),
        uncovered: Nanos(0),
    }
}

/// Two joules on a processor in two stages, time alone on a GPU, and a meter at the plug that saw both.
fn footprint() -> Footprint {
    let devices = vec![
        balance("cpu:0", Some(3.0), 1.0, 0.25),
        balance("gpu:0", None, 0.0, 0.0),
        balance("machine:0", Some(9.0), 9.0, 0.0),
    ];
    let stage = |name: &str| StageEnergy { name: name.into(), devices: devices.clone() };
    let stages = vec![stage(""), stage("fine-tuning")];
    let mut footprint = Footprint { devices, stages, ..Footprint::default() };
    let op = footprint.ops.intern(Op::new("net/mm", "MatMul", "mm", Pass::Backward));
    let charged =
        OpEnergy { device: 0, op, stage: 0, energy: Joules(1.5), busy: Nanos(10), count: 2, standard_error: None };
    footprint.energies = vec![
        charged,
        OpEnergy { stage: 1, energy: Joules(0.5), ..charged },
        OpEnergy { device: 1, energy: Joules::ZERO, ..charged },
    ];
    footprint
}

#[test]
fn of_nothing_there_is_nothing_to_show() {
    for format in FORMATS {
        let found = written(format, &Footprint::default(), &[]);
        if matches!(format, Format::Csv | Format::Parquet) {
            assert!(!found.unwrap().is_empty(), "a table without rows is a table");
        } else {
            let message = found.unwrap_err().to_string();
            assert!(message.contains("nothing to export") && message.contains("jouletree show"), "{message}");
        }
    }
}

#[test]
fn stages_are_columns_of_tables_and_summed_in_stacks() {
    let table = text(Format::Csv, &footprint());
    let rows: Vec<&str> = table.lines().skip(1).collect();
    assert_eq!(
        rows,
        [
            "host/cpu:0,net/mm,net/mm,MatMul,mm,backward,,1.5,10,150000000.0,2,measured",
            "host/cpu:0,net/mm,net/mm,MatMul,mm,backward,fine-tuning,0.5,10,50000000.0,2,measured",
            "host/gpu:0,net/mm,net/mm,MatMul,mm,backward,,,10,,2,",
        ]
    );
    // The plug's joules are those of the devices behind it, and those of the GPU are not known.
    assert_eq!(
        text(Format::Collapsed, &footprint()),
        "net;mm_(backward) 2000000\n(unattributed);(no_operation_ran) 750000\n(unattributed);(outside_the_trace) 250000\n"
    );
}

#[test]
fn speedscope_shows_each_meter_by_itself() {
    let file: serde_json::Value = serde_json::from_str(&text(Format::Speedscope, &footprint())).unwrap();
    let names: Vec<&str> =
        file["profiles"].as_array().unwrap().iter().map(|profile| profile["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "host/cpu:0: energy in joules (measured)",
            "host/cpu:0: time",
            "host/gpu:0: time",
            "host/machine:0: energy in joules (measured)",
        ]
    );
}

#[test]
fn gaps_of_power_are_zero_and_not_filled() {
    let mut series = EnergySeries::default();
    for (time, joules, gap) in [(1000, 0.0, false), (2000, 2e-6, true), (4000, 5e-6, false), (5000, 6e-6, false)] {
        series.push(Nanos(time), Joules(joules), gap).unwrap();
    }
    let power = [MeteredSeries {
        device: "cpu:0".parse().unwrap(),
        domain: None,
        scope: Scope::Device,
        kind: Kind::Measured,
        series,
    }];
    let file = written(Format::Perfetto, &Footprint::default(), &power).unwrap();
    let file: serde_json::Value = serde_json::from_slice(&file).unwrap();
    let counters = file["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "C");
    let points: Vec<(f64, f64)> = counters
        .map(|event| (event["ts"].as_f64().unwrap(), event["args"]["watts"].as_f64().unwrap().round()))
        .collect();
    assert_eq!(points, [(0.0, 2.0), (1.0, 0.0), (3.0, 1.0), (4.0, 0.0)]);
}

/// Three steps in two stages, each traced with two lanes of its own, as TensorFlow does.
fn traced_steps() -> Trace {
    let mut trace = Trace::default();
    let device = trace.device_index(&"cpu:0".parse().unwrap());
    let op = trace.ops.intern(Op::new("net/layer_0/mm", "MatMul", "mm", Pass::Forward));
    let range = |from: i64, to: i64| TimeRange { start: Nanos(from), end: Nanos(to) };
    let span = |kind, name: &str, range, step: u32| ProgramSpan {
        kind,
        name: name.into(),
        process: 0,
        range,
        step: Step(step),
        is_recorded: true,
        samples: Some(8),
        function: "".into(),
    };
    for step in 0..3_u32 {
        let start = i64::from(step) * 1000;
        for lane in 0..2 {
            let event = Event { start: Nanos(start), end: Nanos(start + 500 + lane), op, step: Step(step) };
            let label = format!("/job:localhost/replica:0/task:0/device:CPU:0 lane {lane}");
            trace.lanes.push(Lane::new(device, label, vec![event]));
        }
        trace.program.spans.push(span(SpanKind::Step, "train", range(start, start + 600), step));
    }
    for (name, at) in [("pre-training", 0), ("fine-tuning", 2000)] {
        trace.program.spans.push(span(SpanKind::Stage, name, range(at, at), 0));
    }
    trace
}

#[test]
fn a_timeline_has_a_row_for_each_lane_however_many_steps_were_traced() {
    let trace = traced_steps();
    let footprint = Footprint::default();
    let content = Content {
        name: "run",
        program: "train.py",
        footprint: &footprint,
        trace: &trace,
        power: &[],
        is_exact: false,
    };
    let document = |format| {
        let mut output = Vec::new();
        write(format, &content, &mut output).unwrap();
        serde_json::from_slice::<serde_json::Value>(&output).unwrap()
    };
    let perfetto = document(Format::Perfetto);
    let events = perfetto["traceEvents"].as_array().unwrap();
    let named = |kind: &str| {
        let named = events.iter().filter(|event| event["name"] == kind);
        let mut names: Vec<&str> = named.map(|event| event["args"]["name"].as_str().unwrap()).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(named("process_name"), ["host/cpu:0", "train.py"]);
    assert_eq!(named("thread_name"), ["CPU:0 lane 0", "CPU:0 lane 1", "layers", "stages", "steps"]);
    let slices = |category: &str| {
        let slices = events.iter().filter(|event| event["ph"] == "X" && event["cat"] == category);
        slices.map(|event| event["name"].as_str().unwrap().to_owned()).collect::<Vec<String>>()
    };
    assert_eq!(slices("stage"), ["pre-training", "fine-tuning"]);
    assert_eq!(slices("step"), ["step 0 (train)", "step 1 (train)", "step 2 (train)"]);

    let firefox = document(Format::Firefox);
    let threads = firefox["threads"].as_array().unwrap();
    let names: Vec<&str> = threads.iter().map(|thread| thread["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["train.py", "host/cpu:0", "CPU:0 lane 0", "CPU:0 lane 1"]);
    assert_eq!(threads[0]["markers"]["length"], 5, "two stages and three steps");
}
