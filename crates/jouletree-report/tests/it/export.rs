//! Exports of runs that accounting seldom gives: empty ones, devices without a meter, stages, a meter at the plug.

use jouletree_model::{
    DeviceEnergy, EnergySeries, Footprint, Joules, Kind, Nanos, Op, OpEnergy, Pass, StageEnergy, Trace,
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
    let content = Content { name: "run", footprint, trace: &Trace::default(), power, is_exact: true };
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
            "host/cpu:0,net/mm,MatMul,mm,backward,,1.5,10,150000000.0,2,measured",
            "host/cpu:0,net/mm,MatMul,mm,backward,fine-tuning,0.5,10,50000000.0,2,measured",
            "host/gpu:0,net/mm,MatMul,mm,backward,,,10,,2,",
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
