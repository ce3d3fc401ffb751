//! Chrome traces of unknown programs, and the trace viewer's files of TensorFlow and JAX.

use test_support::development::trace_data;

use std::io::Read;

use jouletree_model::{BaseOrigin, Nanos, TimeBase, Trace};
use jouletree_trace::{Progress, ReadOptions, TraceError, read_trace, read_trace_bytes};
use proptest::prelude::*;
use serde_json::{Value, json};

fn census() -> ReadOptions {
    ReadOptions { census: true, ..ReadOptions::default() }
}

fn read_text(text: &str) -> Result<Trace, TraceError> {
    read_trace_bytes("trace.json", text.as_bytes(), &census())
}

fn read(events: &[Value]) -> Trace {
    let trace = read_text(&json!({ "traceEvents": events }).to_string()).expect("a trace");
    assert_eq!(trace.sources[0].format, "chrome-trace");
    trace
}

fn complete(name: &str, tid: u32, ts: Value, dur: Value) -> Value {
    json!({"ph": "X", "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur})
}

/// Device, lane, path and extent of every event, in order.
fn runs(trace: &Trace) -> Vec<(String, String, String, i64, i64)> {
    let mut runs = Vec::new();
    for lane in &trace.lanes {
        for event in lane.events() {
            let path = trace.ops.get(event.op).expect("an operation").path.to_string();
            let device = trace.devices[lane.device()].to_string();
            runs.push((device, lane.label().to_owned(), path, event.start.0, event.end.0));
        }
    }
    runs.sort();
    runs
}

fn run(device: &str, lane: &str, path: &str, start: i64, end: i64) -> (String, String, String, i64, i64) {
    (device.to_owned(), lane.to_owned(), path.to_owned(), start, end)
}

#[test]
fn complete_events_and_pairs_become_operations() {
    let half =
        |ph: &str, name: &str, tid: u32, ts: f64| json!({"ph": ph, "name": name, "pid": 1, "tid": tid, "ts": ts});
    let trace = read(&[
        complete("load", 1, json!(10), json!(5.5)),
        half("B", "outer", 2, 1.0),
        half("B", "inner", 2, 2.0),
        half("B", "elsewhere", 3, 2.5),
        half("E", "", 2, 3.0),
        half("E", "elsewhere", 3, 3.5),
        half("E", "outer", 2, 4.0),
        half("E", "never begun", 2, 9.0),
        half("B", "never ended", 3, 9.0),
    ]);
    let cpu =
        |tid: u32, path: &str, start, end| run("host/cpu:0", &format!("process 1 thread {tid}"), path, start, end);
    let expected = [
        cpu(1, "load", 10_000, 15_500),
        cpu(2, "inner", 2_000, 3_000),
        cpu(2, "outer", 1_000, 4_000),
        cpu(3, "elsewhere", 2_500, 3_500),
    ];
    assert_eq!(runs(&trace), expected);
    let messages: Vec<&str> = trace.warnings.iter().map(|warning| warning.message.as_str()).collect();
    for part in ["that begin and never end", "that end and never begin", "which layer or pass", "cpu:0"] {
        assert!(messages.iter().any(|message| message.contains(part)), "{part}: {messages:?}");
    }
}

#[test]
fn processes_tell_devices_and_threads_tell_lanes() {
    let meta = |name: &str, pid: Value, args: Value| json!({"ph": "M", "name": name, "pid": pid, "tid": "x", "args": args});
    let on = |pid: Value, name: &str| json!({"ph": "X", "name": name, "pid": pid, "tid": "x", "ts": 1, "dur": 1});
    let trace = read(&[
        on(json!(1), "a"),
        on(json!(2), "b"),
        on(json!("GPU 3"), "c"),
        on(json!(4), "d"),
        // Names may come after what they name.
        meta("process_name", json!(1), json!({"name": "/host:CPU"})),
        meta("thread_name", json!(1), json!({"name": "main"})),
        meta("process_name", json!(2), json!({"name": "/device:GPU:1"})),
        meta("process_labels", json!(4), json!({"labels": "GPU 2"})),
    ]);
    let expected = [
        run("host/cpu:0", "/host:CPU main", "a", 1_000, 2_000),
        run("host/gpu:1", "/device:GPU:1 thread x", "b", 1_000, 2_000),
        run("host/gpu:2", "process 4 thread x", "d", 1_000, 2_000),
        run("host/gpu:3", "process GPU 3 thread x", "c", 1_000, 2_000),
    ];
    assert_eq!(runs(&trace), expected);
    let categories: Vec<&str> = trace.sources[0].counts.iter().map(|count| count.category.as_str()).collect();
    assert_eq!(categories, ["/host:CPU", "/device:GPU:1", "process 4", "process GPU 3"]);
}

#[test]
fn operations_of_a_framework_are_told_from_what_surrounds_them() {
    let mut dot = complete("dot.46", 1, json!(2), json!(3));
    dot["args"] = json!({"hlo_op": "dot.46", "hlo_module": "jit_step"});
    let trace = read(&[complete("ThunkExecutor::Execute", 1, json!(1), json!(9)), dot]);
    assert_eq!(runs(&trace), [run("host/cpu:0", "process 1 thread 1", "jit_step/dot.46", 2_000, 5_000)]);
    let (_, category, holding) = trace.census.categories().next().expect("a category");
    assert_eq!((category, holding.events, holding.duration), ("process 1", 2, Nanos(12_000)));
    let operations = trace.census.operations();
    assert_eq!(operations.values().map(|holding| holding.events).collect::<Vec<_>>(), [1]);
    assert!(trace.warnings.iter().any(|warning| warning.message.contains(".xplane.pb")), "{:?}", trace.warnings);
}

#[test]
fn strange_durations_are_survived() {
    let trace = read(&[
        json!({"ph": "X", "name": "no duration", "pid": 1, "tid": 1, "ts": 5}),
        complete("instant", 1, json!(6), json!(0)),
        complete("huge", 1, json!(7), json!(9_223_372_036_854_775_u64)),
        complete("beyond", 1, json!(8), json!(1e30)),
        complete("backwards", 1, json!(9), json!(-1)),
        complete("text", 1, json!("10.25"), json!("1.125")),
        complete("nested", 1, json!([1]), json!({})),
    ]);
    let starts: Vec<i64> = runs(&trace).iter().map(|run| run.3).collect();
    assert_eq!(starts.len(), 4, "{:?}", runs(&trace));
    assert!(runs(&trace).contains(&run("host/cpu:0", "process 1 thread 1", "text", 10_250, 11_375)));
    assert_eq!(trace.sources[0].counts[0].events, 7);
}

#[test]
fn a_hundred_thousand_lanes_are_lanes() {
    let mut events: Vec<Value> = (0..100_000)
        .map(|tid| json!({"ph": "M", "name": "thread_name", "pid": 1, "tid": tid, "args": {"name": format!("t{tid}")}}))
        .collect();
    events.extend((0..100_000).map(|tid| complete("work", tid, json!(tid), json!(1))));
    let trace = read(&events);
    assert_eq!((trace.lanes.len(), trace.event_count()), (100_000, 100_000));
}

#[test]
fn only_events_with_times_make_a_trace() {
    for text in [
        "",
        "hello",
        "{}",
        "[1, 2, 3]",
        "{\"traceEvents\": []}",
        "{\"traceEvents\": [{\"name\": \"a\"}]}",
        "[{\"ph\": \"X\", \"name\": \"no time\"}]",
        "[{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1, \"args\": {\"name\": \"x\"}}]",
        "\u{0}\u{1}\u{2}binary",
    ] {
        match read_text(text) {
            Err(TraceError::Unrecognised { .. }) => {}
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn a_marker_tells_the_time_of_day() {
    let mut marker = complete("MARK", 1, json!(100), json!(1));
    marker["args"] = json!({"wall": "1794771668118018849"});
    let trace = read(&[marker, complete("work", 1, json!(200.5), json!(1))]);
    let TimeBase::Epoch { base, origin, .. } = trace.sources[0].time_base else { panic!("no base") };
    assert_eq!((base, origin), (Nanos(1_794_771_668_118_018_849 - 100_000), BaseOrigin::Marker));
    assert_eq!(trace.lanes[0].events()[1].start, base + Nanos(200_500));
}

proptest! {
    #[test]
    fn cut_and_damaged_files_do_no_harm(cut in 0..600_usize, place in 0..600_usize, byte: u8) {
        let events = [
            complete("a", 1, json!(1.5), json!(2)),
            json!({"ph": "B", "name": "b", "pid": "p", "tid": 2, "ts": 3, "args": {"hlo_op": "x", "deep": [[{}]]}}),
            json!({"ph": "E", "pid": "p", "tid": 2, "ts": 4}),
            json!({"ph": "M", "name": "process_name", "pid": "p", "args": {"name": "/device:GPU:0"}}),
            complete("c", 1, json!(1.5), json!(2)),
        ];
        let mut text = json!({ "traceEvents": events }).to_string().into_bytes();
        let whole = read_trace_bytes("trace.json", &text, &census()).expect("a trace").event_count();
        let cut = cut.min(text.len());
        if let Ok(trace) = read_trace_bytes("trace.json", &text[..cut], &census()) {
            prop_assert!(trace.event_count() <= whole);
            prop_assert_eq!(
                cut == text.len(),
                !trace.warnings.iter().any(|warning| warning.message.contains("cut short"))
            );
        }
        let place = place.min(text.len() - 1);
        text[place] = byte;
        let _ = read_trace_bytes("trace.json", &text, &census());
    }
}

#[test]
fn jaxs_trace_viewer_file_is_read_as_expected() {
    const NAME: &str = "jax0102_minibert_trace.json.gz";
    let (Some(file), Some(expected)) = (trace_data(NAME), trace_data("EXPECTED.json")) else { return };
    let expected: Value = serde_json::from_slice(&std::fs::read(expected).expect("a file")).expect("JSON");
    let expected = &expected[NAME];
    let trace = read_trace(&file, &census(), &Progress::default()).expect("a trace");
    assert_eq!(trace.sources[0].format, "chrome-trace");
    let categories: Vec<_> = trace.census.categories().collect();
    let [(device, category, holding)] = categories.as_slice() else { panic!("{categories:?}") };
    let row = &expected["devices"][category];
    assert_eq!((device.to_string().as_str(), *category), ("host/cpu:0", "/host:CPU"));
    assert_eq!(Some(holding.events), row["x_events"].as_u64());
    let micros = |key: &str| row[key].as_f64().expect("a number");
    assert_eq!(holding.busy.0, (micros("busy_union_us") * 1e3).round() as i64);
    // Instants are written as one picosecond, which is no nanosecond.
    const INSTANTS: f64 = 5829.0;
    let exact = holding.duration.0 as f64 * 1e-3 + INSTANTS * 1e-6;
    assert_eq!((exact * 1e3).round(), (micros("sum_dur_us") * 1e3).round());
    let TimeBase::Epoch { base, origin, .. } = trace.sources[0].time_base else { panic!("no base") };
    assert_eq!((Some(base.0), origin), (expected["base_time_ns"].as_i64(), BaseOrigin::Sidecar));
    assert_eq!(trace.event_count(), 2220, "events with an argument hlo_op");
    let quick = read_trace(&file, &ReadOptions::default(), &Progress::default()).expect("a trace");
    assert_eq!(quick.sources[0].counts[0].events, holding.events);
    assert_eq!(runs(&quick), runs(&trace));
}

/// Without the names of XLA's operations every event counts as one, so that the whole extent can be seen.
#[test]
fn jaxs_trace_viewer_file_begins_and_ends_when_expected() {
    const NAME: &str = "jax0102_minibert_trace.json.gz";
    let (Some(file), Some(expected)) = (trace_data(NAME), trace_data("EXPECTED.json")) else { return };
    let expected: Value = serde_json::from_slice(&std::fs::read(expected).expect("a file")).expect("JSON");
    let mut text = String::new();
    let packed = std::fs::File::open(&file).expect("a file");
    flate2::read::GzDecoder::new(packed).read_to_string(&mut text).expect("text");
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("t.json"), text.replace("hlo_op", "no_op")).expect("written");
    let sidecar = file.with_file_name("jax0102_minibert_trace.meta.json");
    std::fs::copy(sidecar, folder.path().join("t.meta.json")).expect("written");
    let trace = read_trace(&folder.path().join("t.json"), &census(), &Progress::default()).expect("a trace");
    let extent = trace.extent().expect("events");
    let expected = &expected[NAME];
    assert_eq!(Some(extent.start.0), expected["first_start_ns"].as_i64());
    assert_eq!(Some(extent.end.0), expected["last_end_ns"].as_i64());
    assert_eq!(trace.event_count(), 11263);
}
