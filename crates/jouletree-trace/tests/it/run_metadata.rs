//! Run metadata and event files: they hold what the timelines of the same steps hold, and more.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::PathBuf;

use flate2::read::GzDecoder;
use jouletree_model::{Op, Pass, Trace};
use jouletree_trace::{Progress, ReadOptions, TraceError, merge_traces, read_trace, read_trace_bytes};
use test_support::proto::Message;

const CPU: &str = "/job:localhost/replica:0/task:0/device:CPU:0";
const START: i64 = 1_700_000_000_000_000;

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/data").join(name)
}

fn with_census() -> ReadOptions {
    ReadOptions { census: true, ..ReadOptions::default() }
}

fn recorded(name: &str) -> Trace {
    read_trace(&data(name), &with_census(), &Progress::default()).expect("a recorded trace")
}

fn unpacked(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let packed = std::fs::read(data(name)).expect("a recorded file");
    GzDecoder::new(&packed[..]).read_to_end(&mut bytes).expect("gzip");
    bytes
}

fn read(bytes: &[u8]) -> Result<Trace, TraceError> {
    read_trace_bytes("run", bytes, &with_census())
}

fn timelines() -> Trace {
    let mut trace = recorded("tiny_timeline-2.json.gz");
    trace.merge(recorded("tiny_timeline-3.json.gz"));
    trace
}

/// The runs of each operation on each device: their steps, starts and ends.
type Runs = BTreeMap<(String, Op), Vec<(Option<u32>, i64, i64)>>;

/// When each operation ran, in microseconds.
fn runs(trace: &Trace) -> Runs {
    let mut runs: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for lane in &trace.lanes {
        let device = trace.devices[lane.device()].to_string();
        for event in lane.events() {
            let op = trace.ops.get(event.op).expect("a known operation").clone();
            let run = (event.step.number(), event.start.0.div_euclid(1000), event.end.0.div_euclid(1000));
            runs.entry((device.clone(), op)).or_default().push(run);
        }
    }
    runs.values_mut().for_each(|runs| runs.sort());
    runs
}

fn edges(trace: &Trace) -> BTreeSet<(Op, Op)> {
    let op = |node| trace.model.get(node).map(|(op, _)| op.clone()).expect("a known node");
    trace.model.edges().map(|edge| (op(edge.from), op(edge.to))).collect()
}

fn counts(trace: &Trace) -> BTreeMap<(String, String), u64> {
    let mut counts = BTreeMap::new();
    for count in trace.sources.iter().flat_map(|source| &source.counts) {
        *counts.entry((count.device.to_string(), count.category.clone())).or_default() += count.events;
    }
    counts
}

/// How many events of a lane begin before the one before has ended.
fn overlaps(trace: &Trace) -> usize {
    let pairs = trace.lanes.iter().flat_map(|lane| lane.events().windows(2));
    pairs.filter(|pair| pair[1].start < pair[0].end).count()
}

#[test]
fn event_files_tell_what_timelines_tell() {
    let (timelines, events) = (timelines(), recorded("tiny_events.gz"));
    assert_eq!(events.sources.len(), 1);
    assert_eq!(events.sources[0].format, "tensorflow-events");
    assert_eq!(runs(&events), runs(&timelines));
    assert_eq!(edges(&events), edges(&timelines));
    assert_eq!(counts(&events), counts(&timelines));
    let operations =
        |trace: &Trace| -> Vec<u64> { trace.census.operations().values().map(|held| held.events).collect() };
    assert_eq!(operations(&events), operations(&timelines));
    assert_eq!(overlaps(&events), 0);
    assert_eq!(events.lanes.len(), timelines.lanes.len());
    assert!(events.warnings.is_empty(), "{:?}", events.warnings);
    // What is compared is there: forward, backward and optimizer operations of both steps, in layers.
    let passes: BTreeSet<Pass> = events.ops.iter().map(|(_, op)| op.pass).collect();
    assert_eq!(passes, BTreeSet::from(Pass::ALL));
    assert!(runs(&events).values().all(|runs| runs.iter().map(|run| run.0).eq([Some(2), Some(3)])));
    assert!(edges(&events).len() > 150, "{}", edges(&events).len());
}

#[test]
fn run_metadata_tells_what_the_timeline_tells() {
    let (timeline, metadata) = (recorded("tiny_timeline-2.json.gz"), recorded("tiny_run_metadata.pb.gz"));
    assert_eq!(metadata.sources[0].format, "tensorflow-run-metadata");
    let without_step = |trace: &Trace| -> Vec<_> {
        let rows =
            runs(trace).into_iter().flat_map(|(op, runs)| runs.into_iter().map(move |run| (op.clone(), run)));
        rows.map(|(op, (_, start, end))| (op, start, end)).collect()
    };
    assert_eq!(without_step(&metadata), without_step(&timeline));
    assert_eq!(edges(&metadata), edges(&timeline));
    assert_eq!(counts(&metadata), counts(&timeline));
    // It has no lanes of its own; those made for it do not overlap either.
    assert_eq!(overlaps(&metadata), 0);
    assert!(metadata.lanes.len() <= timeline.lanes.len());
    assert!(metadata.warnings.is_empty(), "{:?}", metadata.warnings);
}

#[test]
fn optimizer_operations_without_a_scope_find_their_variable() {
    let events = recorded("tiny_events.gz");
    let unscoped: Vec<&Op> = events
        .ops
        .iter()
        .map(|(_, op)| op)
        .filter(|op| op.pass == Pass::Optimizer && !op.name.contains('/'))
        .collect();
    assert!(unscoped.len() > 60, "{}", unscoped.len());
    let in_layer = unscoped.iter().filter(|op| op.path.starts_with("net/")).count();
    assert!(in_layer * 10 > unscoped.len() * 9, "{in_layer} of {}", unscoped.len());
}

#[test]
fn shapes_and_bytes_are_known() {
    let events = recorded("tiny_events.gz");
    let shapes = |shapes: &[jouletree_model::TensorShape]| -> Vec<String> {
        shapes.iter().map(ToString::to_string).collect()
    };
    let facts = |name: &str| {
        let (_, _, facts) = events.model.nodes().find(|(_, op, _)| &*op.name == name).expect(name);
        (shapes(&facts.inputs), shapes(&facts.outputs), facts.output_bytes)
    };
    let text = |rows: &[&str]| -> Vec<String> { rows.iter().map(|row| (*row).to_owned()).collect() };
    assert_eq!(
        facts("gradients/net/layer_1/dense/MatMul_grad/MatMul_1"),
        (text(&["float[8,32]", "float[8,32]"]), text(&["float[32,32]"]), Some(4096))
    );
    assert_eq!(
        facts("loss/SparseSoftmaxCrossEntropyWithLogits/SparseSoftmaxCrossEntropyWithLogits"),
        (text(&["float[8,4]", "int32[8]"]), text(&["float[8]", "float[8,4]"]), Some(32 + 128))
    );
    // The timeline says nothing of that.
    assert!(timelines().model.nodes().all(|(_, _, facts)| *facts == jouletree_model::Facts::default()));
}

#[test]
fn run_metadata_is_preferred_to_the_timelines_of_its_steps() {
    let two = || recorded("tiny_timeline-2.json.gz");
    let three = || recorded("tiny_timeline-3.json.gz");
    let kept = |traces: Vec<Trace>| -> Vec<String> {
        let kept = merge_traces(traces).sources.into_iter();
        kept.map(|source| source.file.rsplit('/').next().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(kept(vec![two(), recorded("tiny_events.gz"), three()]), ["tiny_events.gz"]);
    // A file without step numbers is compared by time.
    let single = || recorded("tiny_run_metadata.pb.gz");
    assert_eq!(kept(vec![single(), two(), three()]), ["tiny_run_metadata.pb.gz", "tiny_timeline-3.json.gz"]);
    assert_eq!(kept(vec![two(), three()]), ["tiny_timeline-2.json.gz", "tiny_timeline-3.json.gz"]);
    assert_eq!(kept(vec![single(), two().on("n7")]).len(), 2);
    assert_eq!(kept(Vec::new()), Vec::<String>::new());
}

/// A node that ran `duration` microseconds from microsecond `start` on.
fn node(name: &str, label: &str, start: i64, duration: i64) -> Message {
    Message::new().text(1, name).integer(2, START + start).integer(5, duration).text(8, label)
}

fn device(name: &str, nodes: impl IntoIterator<Item = Message>) -> Message {
    Message::new().text(1, name).messages(2, nodes)
}

fn metadata(devices: impl IntoIterator<Item = Message>) -> Message {
    Message::new().message(1, Message::new().messages(1, devices))
}

fn graph_node(name: &str, op: &str, inputs: &[&str]) -> Message {
    inputs.iter().fold(Message::new().text(1, name).text(2, op), |node, input| node.text(3, input))
}

fn record(event: &Message) -> Vec<u8> {
    let length = (event.0.len() as u64).to_le_bytes();
    [&length[..], &masked(&length), &event.0, &masked(&event.0)].concat()
}

/// The masked check sum, bit by bit.
fn masked(bytes: &[u8]) -> [u8; 4] {
    let mut sum = !0_u32;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0x82f6_3b78 } else { sum >> 1 };
        }
    }
    (!sum).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

fn version() -> Message {
    Message::new().double(1, 1.7e9).text(3, "brain.Event:2")
}

fn tagged(step: i64, tag: &str, metadata: &Message) -> Message {
    let tagged = Message::new().text(1, tag).text(2, &metadata.0);
    Message::new().double(1, 1.7e9).integer(2, step).message(8, tagged)
}

fn event_file(events: &[Message]) -> Vec<u8> {
    events.iter().flat_map(record).collect()
}

fn small_step() -> Message {
    let matmul = node("a/MatMul", "a/MatMul = MatMul(x, w)", 20, 5).integer(13, (START + 20) * 1000 + 7);
    metadata([device(
        CPU,
        [
            node("_SOURCE", "_SOURCE = NoOp()", 0, 3),
            node("x", "x = Const()", 10, 8),
            node("w", "w = Const()", 11, 4),
            matmul.integer(16, 5_100),
        ],
    )])
}

#[test]
fn a_bare_step_is_read_and_nanoseconds_are_kept() {
    let whole = small_step();
    let bare = Message::new().messages(1, [device(CPU, [node("x", "x = Const()", 10, 8)])]);
    assert_eq!(read(&bare.0).expect("step statistics").event_count(), 1);
    let trace = read(&whole.0).expect("run metadata");
    assert_eq!(trace.event_count(), 3);
    assert_eq!(counts(&trace), BTreeMap::from([(("host/cpu:0".to_owned(), "Op".to_owned()), 4)]));
    assert_eq!(trace.lanes.len(), 2, "x and w run at the same time");
    let last = trace.lanes.iter().flat_map(|lane| lane.events()).map(|event| (event.start.0, event.end.0)).max();
    assert_eq!(last, Some(((START + 20) * 1000 + 7, (START + 20) * 1000 + 5107)));
}

#[test]
fn threads_are_lanes_where_they_are_told() {
    let on = |thread, node: Message| node.integer(10, thread);
    let nodes = [
        on(7, node("call", "call = PartitionedCall()", 0, 100)),
        on(7, node("inner", "inner = Add()", 10, 20)),
        on(9, node("beside", "beside = Add()", 200, 10)),
    ];
    let trace = read(&metadata([device(CPU, nodes)]).0).expect("run metadata");
    let labels: Vec<&str> =
        trace.lanes.iter().map(|lane| lane.label().rsplit(' ').next().unwrap_or_default()).collect();
    assert_eq!(labels, ["7", "9"]);
}

#[test]
fn a_gpu_is_read_once_and_its_kernels_go_to_their_operations() {
    let gpu = "/device:GPU:0";
    let kernel = |start| {
        let label = "sgemm regs:122 grid:1,1 @@dense/MatMul:MatMul#id=1#";
        node("dense/MatMul:MatMul", label, start, 10)
    };
    let bytes = metadata([
        device(
            "/job:localhost/replica:0/task:0/device:GPU:0",
            [node("dense/MatMul", "[gpu 1.0MB 1.0MB] dense/MatMul = MatMul(x, y)", 0, 5)],
        ),
        device(&format!("{gpu}/stream:all"), [kernel(2)]),
        device(&format!("{gpu}/stream:22"), [kernel(2)]),
        device(&format!("{gpu}/memcpy"), [node("x:Const", "MEMCPYHtoD", 1, 1)]),
    ]);
    let trace = read(&bytes.0).expect("run metadata");
    let rows: BTreeMap<(String, String), usize> = runs(&trace)
        .into_iter()
        .map(|((device, op), runs)| ((device, format!("{} {}", op.name, op.op_type)), runs.len()))
        .collect();
    let key = |device: &str, op: &str| (device.to_owned(), op.to_owned());
    let wanted = [
        (key("host/cpu:0", "dense/MatMul MatMul"), 1),
        (key("host/gpu:0", "dense/MatMul MatMul"), 1),
        (key("host/gpu:0", "x Const"), 1),
    ];
    assert_eq!(rows, BTreeMap::from(wanted));
    assert_eq!(counts(&trace).get(&key("host/gpu:0", "Op repeated by stream")), Some(&1));
}

#[test]
fn graphs_tell_what_labels_do_not() {
    let names = |trace: &Trace| -> BTreeSet<(String, String)> {
        edges(trace).into_iter().map(|(from, to)| (from.name.to_string(), to.name.to_string())).collect()
    };
    let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    let nodes =
        || [node("x", "x = Const()", 0, 1), node("y", "y = Const()", 1, 1), node("sum", "sum = Neg(x)", 2, 1)];
    // The graph that ran is believed before the label …
    let partition = Message::new().messages(1, [graph_node("sum", "Neg", &["y:0", "^x"])]);
    let exact = metadata([device(CPU, nodes())]).message(3, partition.clone());
    assert_eq!(names(&read(&exact.0).expect("run metadata")), BTreeSet::from([pair("y", "sum")]));
    // … and the label before the graph that was written first, which helps where there is none.
    let unlabelled = Message::new().text(1, "late").integer(2, START + 3).integer(5, 1);
    let step = metadata([device(CPU, nodes().into_iter().chain([unlabelled]))]);
    let graph = partition.messages(1, [graph_node("late", "Exp", &["sum"])]);
    let file = event_file(&[version(), Message::new().text(4, &graph.0), tagged(0, "step_4", &step)]);
    let trace = read(&file).expect("an event file");
    assert_eq!(names(&trace), BTreeSet::from([pair("x", "sum"), pair("sum", "late")]));
    assert!(trace.ops.iter().any(|(_, op)| &*op.name == "late" && &*op.op_type == "Exp"));
    let alone = read(&step.0).expect("run metadata");
    assert!(alone.ops.iter().any(|(_, op)| &*op.name == "late" && &*op.op_type == "unknown"));
}

#[test]
fn steps_are_those_of_events_or_tags() {
    let step = small_step();
    let events = [version(), tagged(12, "step_3", &step), tagged(0, "step_5", &step), tagged(0, "eval", &step)];
    let trace = read(&event_file(&events)).expect("an event file");
    let steps: BTreeSet<Option<u32>> =
        trace.lanes.iter().flat_map(|lane| lane.events()).map(|event| event.step.number()).collect();
    assert_eq!(steps, BTreeSet::from([None, Some(5), Some(12)]));
    assert_eq!(trace.event_count(), 9);
    assert_eq!(trace.sources.len(), 1);
    assert_eq!(counts(&trace).values().sum::<u64>(), 12);
}

#[test]
fn an_event_file_without_run_metadata_says_how_to_get_some() {
    let summary = Message::new().double(1, 1.7e9).integer(2, 1).text(5, "");
    let error = read(&event_file(&[version(), summary])).expect_err("no trace");
    let message = error.to_string();
    assert!(message.contains("no run metadata") && message.contains("add_run_metadata"), "{message}");
}

#[test]
fn records_before_damage_are_used() {
    let events = [version(), tagged(1, "step_1", &small_step()), tagged(2, "step_2", &small_step())];
    let file = event_file(&events);
    let second = event_file(&events[..2]).len();
    for end in second..file.len() {
        let trace = read(&file[..end]).expect("the first step");
        assert_eq!(trace.event_count(), 3);
        let positions: Vec<_> = trace.warnings.iter().map(|warning| warning.position.clone()).collect();
        assert_eq!(positions, if end == second { vec![] } else { vec![Some(format!("byte {end}"))] });
    }
    for place in second..file.len() {
        let mut damaged = file.clone();
        damaged[place] ^= 0x21;
        let trace = read(&damaged).expect("the first step");
        assert_eq!(trace.event_count(), 3);
        assert_eq!(trace.warnings.len(), 1, "{:?}", trace.warnings);
        assert_eq!(trace.warnings[0].position, Some(format!("byte {second}")));
        assert!(trace.warnings[0].message.contains("4 events before are used"), "{:?}", trace.warnings);
    }
}

#[test]
fn a_cut_file_yields_the_events_that_are_whole() {
    let whole = small_step().0;
    let mut seen = BTreeSet::new();
    for end in 0..whole.len() {
        match read(&whole[..end]) {
            Ok(trace) => {
                assert_eq!(trace.warnings.len(), 1, "{:?}", trace.warnings);
                assert_eq!(trace.warnings[0].position, Some(format!("byte {end}")));
                seen.insert(trace.event_count());
            }
            Err(TraceError::Unrecognised { .. }) => assert!(end < 64, "{end}"),
            Err(TraceError::Empty { what, .. }) => {
                assert!(what.contains("cut short"), "{what}");
                seen.insert(0);
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(seen, BTreeSet::from([0, 1, 2]));
}

/// Whatever comes of it, it comes.
#[test]
fn damage_is_survived() {
    let step = small_step();
    let graph = Message::new().messages(1, [graph_node("x", "Const", &[])]);
    let events = event_file(&[version(), Message::new().text(4, &graph.0), tagged(0, "step_4", &step)]);
    for file in [step.message(3, graph).0, events] {
        for place in 0..file.len() {
            for bit in 0..8 {
                let mut damaged = file.clone();
                damaged[place] ^= 1 << bit;
                let _ = read(&damaged);
            }
        }
    }
    for name in ["tiny_run_metadata.pb.gz", "tiny_events.gz"] {
        let file = unpacked(name);
        for end in (0..file.len()).step_by(file.len() / 40) {
            let _ = read(&file[..end]);
            let mut damaged = file.clone();
            damaged[end] = !damaged[end];
            let _ = read(&damaged);
        }
    }
}
