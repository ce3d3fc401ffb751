//! XPlane files on the development data: everything in them is found, and operations land in their layers.

use test_support::development::trace_data;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jouletree_model::{BaseOrigin, Lane, Nanos, Op, OpId, Pass, TimeBase, Trace};
use jouletree_trace::{Progress, ReadOptions, read_trace};
use serde_json::Value;

const FILES: [&str; 3] = ["tf215_keras_minibert", "tf221_keras_minibert", "jax0102_minibert"];

/// The folder of the development traces; `None` with a message where there is none.
fn traces() -> Option<PathBuf> {
    trace_data("EXPECTED.json")?.parent().map(Path::to_owned)
}

fn read(folder: &Path, name: &str) -> Trace {
    let options = ReadOptions { census: true, ..ReadOptions::default() };
    let path = folder.join(format!("{name}.xplane.pb.gz"));
    read_trace(&path, &options, &Progress::default()).expect("a trace")
}

fn expected(folder: &Path, name: &str) -> Value {
    let all = std::fs::read(folder.join("EXPECTED.json")).expect("a file");
    let all: Value = serde_json::from_slice(&all).expect("JSON");
    all[format!("{name}.xplane.pb.gz")].clone()
}

/// A number of microseconds with three digits after the point, as nanoseconds.
fn nanos(value: &Value) -> i64 {
    (value.as_f64().expect("a number") * 1000.0).round() as i64
}

/// How long each operation was the innermost of its lane.
fn self_times(trace: &Trace) -> BTreeMap<OpId, i64> {
    let mut times = BTreeMap::new();
    for lane in &trace.lanes {
        for (op, time) in lane_self_times(lane) {
            *times.entry(op).or_default() += time;
        }
    }
    times
}

fn lane_self_times(lane: &Lane) -> Vec<(OpId, i64)> {
    let mut found = Vec::new();
    let mut open: Vec<(OpId, Nanos, i64)> = Vec::new();
    for event in lane.events() {
        while let Some((op, _, own)) = open.pop_if(|(_, end, _)| *end <= event.start) {
            found.push((op, own));
        }
        if let Some((_, _, own)) = open.last_mut() {
            *own -= event.duration().0;
        }
        open.push((event.op, event.end, event.duration().0));
    }
    found.extend(open.into_iter().map(|(op, _, own)| (op, own)));
    found
}

/// Whether a path has a layer in it. `Add_1/ReadVariableOp` is an operand of an operation without one.
fn has_layer(op: &Op) -> bool {
    let operation = match op.path.rsplit_once('/') {
        Some((operation, last)) if last.starts_with("ReadVariableOp") => operation,
        _ => &op.path,
    };
    operation.contains('/')
}

#[test]
fn everything_in_the_files_is_counted() {
    let Some(folder) = traces() else { return };
    for name in FILES {
        let (trace, expected) = (read(&folder, name), expected(&folder, name));
        let total: u64 = trace.sources[0].counts.iter().map(|count| count.events).sum();
        assert_eq!(Some(total), expected["events"].as_u64(), "{name}");
        let rows = expected["devices"].as_object().expect("devices");
        let mut found = 0;
        for (device, category, holding) in trace.census.categories() {
            let Some(row) = rows.get(&format!("/host:CPU {category}")) else {
                assert_eq!(category, "ThreadpoolListener", "{name}");
                continue;
            };
            found += 1;
            let counted =
                trace.sources[0].counts.iter().find(|row| row.device == *device && row.category == category);
            assert_eq!(counted.map(|row| row.events), row["x_events"].as_u64(), "{name} {category}");
            assert_eq!(Some(holding.events), row["x_events"].as_u64(), "{name} {category}");
            assert_eq!(holding.duration.0, nanos(&row["sum_dur_us"]), "{name} {category}");
            assert_eq!(holding.busy.0, nanos(&row["busy_union_us"]), "{name} {category}");
        }
        assert_eq!(found, rows.len(), "{name}");
        for (_, category, spans) in trace.census.spans() {
            if let Some(row) = rows.get(&format!("/host:CPU {category}")) {
                let instants = spans.iter().filter(|span| span.start == span.end).count() as u64;
                assert_eq!(Some(instants), row["zero_dur"].as_u64(), "{name} {category}");
            }
        }
        let base = trace.sources[0].time_base.base();
        let spans = || trace.census.spans().flat_map(|(_, _, spans)| spans);
        let first = spans().map(|span| span.start - base).min().expect("events");
        let last = spans().map(|span| span.end - base).max().expect("events");
        assert_eq!(Some(first.0 * 1000), expected["first_start_ps"].as_i64(), "{name}");
        assert_eq!(Some(last.0 * 1000), expected["last_end_ps"].as_i64(), "{name}");
        let host = trace.sources[0].host.as_deref();
        assert!(host.is_some_and(|host| !host.is_empty()), "{name}");
        assert_eq!(trace.sources[0].format, "xplane");
    }
}

#[test]
fn times_are_times_of_day() {
    let Some(folder) = traces() else { return };
    for name in ["tf221_keras_minibert", "jax0102_minibert"] {
        let trace = read(&folder, name);
        let base = expected(&folder, name)["profile_start_time_ns"].as_i64().map(Nanos).expect("a base");
        let wanted = TimeBase::Epoch { base, origin: BaseOrigin::File, within: Nanos(0) };
        assert_eq!(trace.sources[0].time_base, wanted, "{name}");
    }
    // The file does not say it; the one beside it brackets the start.
    let trace = read(&folder, "tf215_keras_minibert");
    let TimeBase::Epoch { base, origin: BaseOrigin::Sidecar, within } = trace.sources[0].time_base else {
        panic!("{:?}", trace.sources[0].time_base);
    };
    let sidecar = std::fs::read(folder.join("tf215_keras_minibert.meta.json")).expect("a file");
    let sidecar: Value = serde_json::from_slice(&sidecar).expect("JSON");
    let bracket = |key: &str| Nanos(sidecar[key].as_i64().expect("a time"));
    assert!(base - within >= bracket("before_start_ns") && base + within <= bracket("after_start_ns"));
    let markers = &read(&folder, "jax0102_minibert").sources[0].markers;
    assert_eq!(markers.len(), 1);
    for marker in markers {
        let late = marker.at - marker.wall;
        println!("the marker is {late} after its time");
        assert!(late >= Nanos(0) && late < Nanos(200_000), "{late}");
    }
}

#[test]
fn operations_land_in_their_layers() {
    let Some(folder) = traces() else { return };
    for name in ["tf215_keras_minibert", "tf221_keras_minibert"] {
        let trace = read(&folder, name);
        let times = self_times(&trace);
        let total: i64 = times.values().sum();
        let share = |wanted: &dyn Fn(&Op) -> bool| {
            let of = |(id, time): (&OpId, &i64)| trace.ops.get(*id).filter(|op| wanted(op)).map_or(0, |_| *time);
            times.iter().map(of).sum::<i64>() as f64 / total as f64
        };
        let below = |layer: &'static str| move |op: &Op| op.path.starts_with(layer);
        let layered = share(&has_layer);
        println!(
            "{name}: {:.3} % of self time below a named layer: {:.2} % minibert, {:.2} % optimizer, {:.2} % data; \
             by pass {:.2} / {:.2} / {:.2} %",
            layered * 100.0,
            share(&below("minibert/")) * 100.0,
            share(&below("optimizer/")) * 100.0,
            share(&below("data/")) * 100.0,
            share(&|op: &Op| op.pass == Pass::Forward) * 100.0,
            share(&|op: &Op| op.pass == Pass::Backward) * 100.0,
            share(&|op: &Op| op.pass == Pass::Optimizer) * 100.0,
        );
        for (id, time) in &times {
            let op = trace.ops.get(*id).expect("an operation");
            if !has_layer(op) {
                println!("  {:.4} % {}", *time as f64 / total as f64 * 100.0, op.name);
            }
        }
        assert!(layered >= 0.99, "{name}: {layered}");
    }
}

/// The layers of both models are the same, whatever Keras makes of their names.
#[test]
fn both_versions_of_keras_name_the_same_layers() {
    let Some(folder) = traces() else { return };
    let layers = |name: &str, pass: Pass| {
        let trace = read(&folder, name);
        let of_pass = trace.ops.iter().filter(|(_, op)| op.pass == pass && op.path.starts_with("minibert/"));
        let mut layers: Vec<String> = of_pass
            .filter_map(|(_, op)| {
                const LAYERS: [&str; 9] = [
                    "query",
                    "key",
                    "value",
                    "output",
                    "intermediate",
                    "output_dense",
                    "ln1",
                    "ln2",
                    "classifier",
                ];
                let parts: Vec<&str> = op.path.split('/').collect();
                let depth = parts.iter().rposition(|part| LAYERS.contains(part))?;
                Some(parts[..=depth].join("/"))
            })
            .collect();
        layers.sort();
        layers.dedup();
        layers
    };
    for pass in [Pass::Forward, Pass::Backward] {
        let old = layers("tf215_keras_minibert", pass);
        assert_eq!(old.len(), 17, "{old:?}");
        assert_eq!(old, layers("tf221_keras_minibert", pass));
    }
    for name in ["tf215_keras_minibert", "tf221_keras_minibert"] {
        let trace = read(&folder, name);
        for (_, op) in trace.ops.iter().filter(|(_, op)| op.pass == Pass::Backward) {
            let top = op.path.split('/').next().expect("a part");
            assert!(["minibert", "sparse_categorical_crossentropy", "compile_loss"].contains(&top), "{op:?}");
        }
    }
}

/// A fusion's time is cut into the parts of the layers that it works for; nothing is lost and nothing added.
#[test]
fn accounted_time_is_that_of_the_operations_in_the_file() {
    let Some(folder) = traces() else { return };
    for name in FILES {
        let trace = read(&folder, name);
        let lanes: i64 = trace.lanes.iter().flat_map(|lane| lane.events()).map(|event| event.duration().0).sum();
        let operations: i64 = trace.census.operations().values().map(|holding| holding.duration.0).sum();
        // By JAX's own reader 116 of the 2,220 operations went on after their call, for as long as this.
        let after_calls = if name == "jax0102_minibert" { 316_074_144 } else { 0 };
        assert_eq!(lanes, operations + after_calls, "{name}");
        assert_eq!(trace.warnings, [], "{name}");
    }
}

#[test]
fn compiled_operations_land_in_their_layers() {
    let Some(folder) = traces() else { return };
    let trace = read(&folder, "jax0102_minibert");
    let times = self_times(&trace);
    let total: i64 = times.values().sum();
    let share = |wanted: &dyn Fn(&Op) -> bool| {
        let of = |(id, time): (&OpId, &i64)| trace.ops.get(*id).filter(|op| wanted(op)).map_or(0, |_| *time);
        times.iter().map(of).sum::<i64>() as f64 / total as f64
    };
    let layered = share(&has_layer);
    println!(
        "jax: {:.3} % of self time below a named layer, {:.2} % in bert, {:.2} % in shares of fusions",
        layered * 100.0,
        share(&|op: &Op| op.path.starts_with("bert/")) * 100.0,
        share(&|op: &Op| op.approximate) * 100.0
    );
    for (id, time) in &times {
        let op = trace.ops.get(*id).expect("an operation");
        if !has_layer(op) {
            println!("  {:.4} % {} {}", *time as f64 / total as f64 * 100.0, op.path, op.name);
        }
    }
    assert!(layered >= 0.99, "{layered}");
    assert!(trace.model.nodes().len() > 0 && trace.model.edges().len() > 0);
}

#[test]
fn steps_are_told_apart() {
    let Some(folder) = traces() else { return };
    for name in FILES {
        let trace = read(&folder, name);
        let mut steps: BTreeMap<Option<u32>, usize> = BTreeMap::new();
        for event in trace.lanes.iter().flat_map(|lane| lane.events()) {
            *steps.entry(event.step.number()).or_default() += 1;
        }
        println!("{name}: {steps:?}");
        let numbers: Vec<u32> = steps.keys().flatten().copied().collect();
        assert_eq!(numbers, (0..10).collect::<Vec<u32>>(), "{name}");
        let outside = steps.get(&None).copied().unwrap_or_default();
        assert!(outside * 100 < trace.event_count(), "{name}: {outside} outside of steps");
    }
}
