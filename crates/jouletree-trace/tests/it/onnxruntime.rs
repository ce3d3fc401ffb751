//! What is concluded from ONNX Runtime profiles: layers, steps, lanes, devices.
//!
//! Profiles with GPU kernels are made after the profiler's source: none recorded on a GPU was at hand.

use std::collections::BTreeMap;

use jouletree_model::{Facts, ModelTree, Op, Pass, Step, TimeBase, Trace};
use jouletree_trace::{Progress, ReadOptions, TraceError, read_trace, read_trace_bytes};
use proptest::prelude::*;
use serde_json::{Value, json};

fn node(name: &str, op_name: &str, extent: (i64, i64)) -> Value {
    let args = json!({
        "op_name": op_name, "provider": "CPUExecutionProvider", "node_index": "3", "output_size": "24",
        "input_type_shape": [{"float": [2, 3]}, {"float": [3]}], "output_type_shape": [{"float": [2, 3]}],
    });
    complete("Node", &format!("{name}_kernel_time"), extent, args)
}

fn complete(cat: &str, name: &str, (ts, dur): (i64, i64), args: Value) -> Value {
    json!({"cat": cat, "pid": 7, "tid": 9, "dur": dur, "ts": ts, "ph": "X", "name": name, "args": args})
}

fn run(extent: (i64, i64)) -> Value {
    complete("Session", "model_run", extent, json!({}))
}

fn read_with(events: &[Value], model: ModelTree) -> Trace {
    let options = ReadOptions { census: true, model, ..ReadOptions::default() };
    let text = Value::Array(events.to_vec()).to_string();
    read_trace_bytes("profile.json", text.as_bytes(), &options).expect("a profile")
}

fn read(events: &[Value]) -> Trace {
    read_with(events, ModelTree::default())
}

/// The path of each operation by its name.
fn paths(trace: &Trace) -> BTreeMap<&str, &str> {
    trace.ops.iter().map(|(_, op)| (&*op.name, &*op.path)).collect()
}

/// A model of nodes with their types and inputs.
fn model(nodes: &[(&str, &str, &[&str])]) -> ModelTree {
    let mut tree = ModelTree::default();
    let mut ids = BTreeMap::new();
    for (name, op_type, inputs) in nodes {
        let path = name.trim_start_matches('/');
        let id = tree.insert(Op::new(path, *op_type, *name, Pass::Forward), Facts::default());
        for input in *inputs {
            tree.connect(ids[input], id);
        }
        ids.insert(*name, id);
    }
    tree
}

#[test]
fn of_several_models_each_has_its_root_and_its_graph() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).expect("a file");
    // Two models with a node of the same name, which lies in different layers.
    for (name, layer) in [("fp32", "encoder"), ("int8", "decoder")] {
        let nodes = [("/in/Relu", "Relu"), ("MatMul_1", "MatMul"), (&*format!("/{layer}/Add"), "Add")];
        let inputs: [&[&str]; 3] = [&[], &["/in/Relu"], &["MatMul_1"]];
        let nodes: Vec<(&str, &str, &[&str])> =
            nodes.iter().zip(inputs).map(|((node, op_type), inputs)| (*node, *op_type, inputs)).collect();
        write(&format!("model-{name}.json"), serde_json::to_string(&model(&nodes)).expect("a model"));
        let events = vec![node("MatMul_1", "MatMul", (10, 5)), node(nodes[2].0, "Add", (20, 5)), run((5, 30))];
        write(&format!("onnx-{name}.json"), Value::Array(events).to_string());
        // A path is no way out of the folder.
        let note = json!({"start_ns": 1000, "model": format!("/nowhere/model-{name}.json"), "root": name});
        write(&format!("onnx-{name}.meta.json"), note.to_string());
    }
    for (name, layer) in [("fp32", "encoder"), ("int8", "decoder")] {
        let file = folder.path().join(format!("onnx-{name}.json"));
        let trace = read_trace(&file, &ReadOptions::default(), &Progress::default()).expect("a profile");
        let add = format!("/{layer}/Add");
        let wanted =
            [("MatMul_1", format!("{name}/{layer}/MatMul_1")), (add.as_str(), format!("{name}/{layer}/Add"))];
        let wanted: BTreeMap<&str, &str> = wanted.iter().map(|(name, path)| (*name, path.as_str())).collect();
        assert_eq!(paths(&trace), wanted);
        assert_eq!(trace.warnings, []);
        assert!(trace.model.nodes().all(|(_, op, _)| op.path.starts_with(name)));
    }
}

#[test]
fn only_what_computes_is_an_operation() {
    let mut gelu = node("/a/Gelu", "Gelu", (10, 5));
    gelu["args"]["provider"] = json!("CUDAExecutionProvider");
    let trace = read(&[
        complete("Session", "model_loading_uri", (0, 5), json!({})),
        complete("Node", "/a/Gelu_fence_before", (9, 1), json!({"op_name": "Gelu"})),
        gelu,
        complete("Node", "/a/Gelu_fence_after", (15, 1), json!({"op_name": "Gelu"})),
        node("/a/Add", "Add", (20, 5)),
        complete("Session", "SequentialExecutor::Execute", (8, 30), json!({})),
        run((7, 40)),
    ]);
    assert_eq!(paths(&trace), BTreeMap::from([("/a/Gelu", "a/Gelu"), ("/a/Add", "a/Add")]));
    assert_eq!(trace.event_count(), 2);
    let counts: Vec<(&str, u64)> =
        trace.sources[0].counts.iter().map(|count| (count.category.as_str(), count.events)).collect();
    let wanted = [("CPUExecutionProvider", 1), ("CUDAExecutionProvider", 1), ("Node", 2), ("Session", 3)];
    assert_eq!(counts, wanted);
    assert_eq!(trace.census.operations().into_values().map(|holding| holding.events).sum::<u64>(), 2);
    assert_eq!(trace.sources[0].format, "onnxruntime");
    assert_eq!(trace.sources[0].time_base, TimeBase::Relative);
    let add = trace.model.nodes().find(|(_, op, _)| &*op.op_type == "Add").expect("Add").2;
    assert_eq!((add.flops, add.output_bytes, add.inputs.len()), (Some(6), Some(24), 2));
}

#[test]
fn runs_are_steps_and_threads_are_lanes() {
    let mut other = node("/a/Mul", "Mul", (15, 2));
    other["tid"] = json!("worker 1");
    other["pid"] = json!("7");
    let trace = read(&[
        node("/a/Add", "Add", (110, 5)),
        run((105, 50)),
        other,
        node("/a/Add", "Add", (10, 5)),
        run((5, 50)),
        node("/a/Add", "Add", (99, 1)),
    ]);
    let lanes: Vec<(&str, Vec<Step>)> = trace
        .lanes
        .iter()
        .map(|lane| (lane.label(), lane.events().iter().map(|event| event.step).collect()))
        .collect();
    let main = ("process 7 thread 9", vec![Step(0), Step::NONE, Step(1)]);
    assert_eq!(lanes, [main, ("process 7 thread worker 1", vec![Step(0)])]);
}

#[test]
fn bodies_of_loops_nest_in_their_node() {
    let trace = read(&[node("/a/Loop", "Loop", (0, 100)), node("/a/body/Add", "Add", (10, 5)), run((0, 200))]);
    let events = trace.lanes[0].events();
    assert_eq!((trace.lanes.len(), events.len()), (1, 2));
    assert!(events[0].end > events[1].end);
}

#[test]
fn kernels_run_on_the_gpu_and_belong_to_what_launched_them() {
    let kernel = |name: &str, extent, args: Value| {
        let mut event = complete("Kernel", name, extent, args);
        event["pid"] = json!(-1);
        event["tid"] = json!(-1);
        event
    };
    let mut launching = node("/h.0/mlp/MatMul", "MatMul", (10, 3));
    launching["args"]["provider"] = json!("CUDAExecutionProvider");
    let trace = read(&[
        kernel("not_available", (1, 1), json!({"stream": "7"})),
        launching,
        complete("Api", "cudaLaunchKernel", (11, 1), json!({})),
        kernel("void gemm<float, 32>(float*)", (14, 30), json!({"stream": "7", "op_name": "MatMul"})),
        node("/h.0/mlp/Add", "Add", (15, 1)),
        kernel(
            "add",
            (45, 3),
            json!({"stream": "7", "op_name": "Add", "parent_name": "/h.0/mlp/Add_kernel_time"}),
        ),
        kernel("late", (50, 3), json!({"stream": "9", "parent_name": "/h.0/mlp/MatMul_kernel_time"})),
        kernel("foreign", (60, 3), json!({"stream": "9", "op_name": "Conv"})),
        run((0, 100)),
    ]);
    let devices: Vec<String> = trace.devices.iter().map(ToString::to_string).collect();
    assert_eq!(devices, ["host/cpu:0", "host/gpu:0"]);
    let found = paths(&trace);
    assert_eq!(found["void gemm<float, 32>(float*)"], "h.0/mlp/MatMul");
    assert_eq!(found["add"], "h.0/mlp/Add");
    assert_eq!(found["late"], "h.0/mlp/MatMul");
    assert_eq!((found["foreign"], found["not_available"]), ("unlaunched/foreign", "unlaunched/not_available"));
    let labels: Vec<&str> = trace.lanes.iter().map(|lane| lane.label()).collect();
    assert_eq!(labels, ["process 7 thread 9", "stream 7", "stream 9"]);
    assert!(trace.lanes.iter().flat_map(|lane| lane.events()).all(|event| event.step == Step(0)));
    assert!(
        trace.warnings.iter().any(|warning| warning.message.starts_with("2 of 5 kernels")),
        "{:?}",
        trace.warnings
    );
    let counts: Vec<String> =
        trace.sources[0].counts.iter().map(|count| format!("{} {}", count.device, count.category)).collect();
    assert!(counts.contains(&"host/gpu:0 Kernel".to_owned()) && counts.contains(&"host/cpu:0 Api".to_owned()));
}

/// Two normalisations that are fused, one right after the other, and a branch that runs in between.
#[test]
fn the_graph_tells_what_fused_operations_replace() {
    let model = model(&[
        ("/in/MatMul", "MatMul", &[]),
        ("/side/Conv", "Conv", &[]),
        ("/one/norm/ReduceMean", "ReduceMean", &["/in/MatMul"]),
        ("/one/norm/Sub", "Sub", &["/one/norm/ReduceMean", "/in/MatMul"]),
        ("/two/norm/ReduceMean", "ReduceMean", &["/one/norm/Sub"]),
        ("/two/norm/Div", "Div", &["/two/norm/ReduceMean"]),
        ("/two/act/Erf", "Erf", &["/two/norm/Div"]),
        ("Identity_3", "Identity", &[]),
        ("/out/MatMul", "MatMul", &["/two/act/Erf", "/side/Conv", "Identity_3"]),
        ("/never/norm/ReduceMean", "ReduceMean", &["/out/MatMul"]),
        ("/late/MatMul", "MatMul", &["/never/norm/ReduceMean"]),
    ]);
    let events = [
        node("Identity_3", "Identity", (5, 1)),
        node("/in/MatMul", "MatMul", (10, 1)),
        node("LayerNormalization", "LayerNormalization", (20, 1)),
        node("ReorderInput", "ReorderInput", (24, 1)),
        node("side_nchwc", "Conv", (25, 1)),
        node("LayerNormalization_token_4", "LayerNormalization", (30, 1)),
        node("Gelu_token_9", "FastGelu", (40, 1)),
        node("Mystery", "Mystery", (45, 1)),
        node("/out/MatMul/MatMulAddFusion", "Gemm", (50, 1)),
        node("/late/MatMul", "MatMul", (60, 1)),
        run((0, 70)),
    ];
    let trace = read_with(&events, model);
    let found = paths(&trace);
    assert_eq!(found["LayerNormalization"], "one/norm/LayerNormalization");
    assert_eq!(found["LayerNormalization_token_4"], "two/norm/LayerNormalization");
    assert_eq!(found["Gelu_token_9"], "two/act/Gelu");
    assert_eq!(found["side_nchwc"], "side/Conv");
    assert_eq!(found["ReorderInput"], "side/ReorderInput");
    assert_eq!(found["Identity_3"], "out/Identity_3");
    assert_eq!(found["/out/MatMul/MatMulAddFusion"], "out/MatMul");
    // Nothing in the model is like it: it stays with its neighbours, which share no layer.
    assert_eq!(found["Mystery"], "two/act/Mystery");
    assert_eq!(trace.warnings.len(), 1);
    assert!(trace.warnings[0].message.starts_with("1 of 10 operations are not in the model, such as `Mystery`"));
    let path = |node| &*trace.model.get(node).expect("a node").0.path;
    let mut edges: Vec<(&str, &str)> = trace.model.edges().map(|edge| (path(edge.from), path(edge.to))).collect();
    edges.sort();
    let wanted = [
        ("in/MatMul", "one/norm/LayerNormalization"),
        ("one/norm/LayerNormalization", "two/norm/LayerNormalization"),
        ("out/Identity_3", "out/MatMul"),
        ("out/MatMul", "late/MatMul"),
        ("side/Conv", "out/MatMul"),
        ("two/act/Gelu", "out/MatMul"),
        ("two/norm/LayerNormalization", "two/act/Gelu"),
    ];
    assert_eq!(edges, wanted);
}

#[test]
fn what_only_a_later_run_does_has_its_neighbours_there() {
    let (first, last) = (|at| node("/a/x/MatMul", "MatMul", (at, 1)), |at| node("/b/y/MatMul", "MatMul", (at, 1)));
    let trace = read(&[
        first(10),
        last(20),
        run((0, 50)),
        first(110),
        node("Gelu", "Gelu", (115, 1)),
        node("gemm_input_reshape", "Reshape", (117, 1)),
        last(120),
        run((100, 50)),
    ]);
    assert_eq!(
        (paths(&trace)["Gelu"], paths(&trace)["gemm_input_reshape"]),
        ("a/x/Gelu", "b/y/gemm_input_reshape")
    );
}

#[test]
fn names_without_layers_stand_alone() {
    let trace = read(&[node("MatMul_0", "MatMul", (0, 1)), node("Add_1", "Add", (5, 1)), run((0, 50))]);
    assert_eq!(paths(&trace), BTreeMap::from([("MatMul_0", "MatMul_0"), ("Add_1", "Add_1")]));
    assert!(trace.warnings[0].message.contains("they are outside of all layers"), "{:?}", trace.warnings);
}

#[test]
fn another_model_is_told_and_a_circle_is_no_trap() {
    let mut other = model(&[("/x/Add", "Add", &[]), ("/y/ReduceMean", "ReduceMean", &["/x/Add"])]);
    other.connect(jouletree_model::NodeId(1), jouletree_model::NodeId(0));
    let events = [node("/a/Mul", "Mul", (0, 1)), node("/b/Mul", "Mul", (5, 1)), run((0, 50))];
    let trace = read_with(&events, other.clone());
    assert!(trace.warnings[0].message.contains("is it the model that ran?"), "{:?}", trace.warnings);
    let events = [node("/x/Add", "Add", (0, 1)), node("LayerNormalization", "LayerNormalization", (5, 1))];
    assert_eq!(read_with(&events, other).event_count(), 2);
}

#[test]
fn strange_times_and_processes_do_no_harm() {
    let mut strange = node("/a/Add", "Add", (i64::MAX / 1000, i64::MAX / 1000));
    strange["pid"] = json!("process \"x\"");
    let mut negative = node("/a/Sub", "Sub", (5, -1));
    negative["tid"] = json!(null);
    let mut without = node("/a/Mul", "Mul", (0, 0));
    without.as_object_mut().expect("an object").remove("ts");
    let trace = read(&[node("/a/Div", "Div", (3, 0)), strange, negative, without, run((0, i64::MAX / 1000))]);
    assert_eq!(trace.event_count(), 2);
    assert_eq!(trace.warnings.len(), 2, "{:?}", trace.warnings);
    // All are counted.
    assert_eq!(trace.sources[0].counts.iter().map(|count| count.events).sum::<u64>(), 5);
}

#[test]
fn a_profile_without_operations_says_what_to_do() {
    let text = json!([run((0, 5))]).to_string();
    let error = read_trace_bytes("p", text.as_bytes(), &ReadOptions::default()).expect_err("nothing in it");
    assert!(
        matches!(error, TraceError::Empty { .. }) && error.to_string().contains("enable_profiling"),
        "{error}"
    );
}

#[test]
fn a_profile_cut_short_yields_what_is_whole() {
    let text = json!([node("/a/Add", "Add", (0, 5)), node("/a/Mul", "Mul", (6, 5)), run((0, 50))]).to_string();
    let mut most = 0;
    for cut in 0..text.len() {
        if let Ok(trace) = read_trace_bytes("p", &text.as_bytes()[..cut], &ReadOptions::default()) {
            assert!(trace.warnings.iter().any(|warning| warning.message.contains("cut short")), "{cut}");
            assert!(trace.event_count() >= most);
            most = trace.event_count();
        }
    }
    assert_eq!(most, 2);
}

proptest! {
    #[test]
    fn damage_is_survived(places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let events = [
            complete("Session", "session_initialization", (0, 2), json!({})),
            node("/in/MatMul", "MatMul", (10, 1)),
            node("LayerNormalization", "LayerNormalization", (20, 1)),
            complete("Kernel", "k", (14, 30), json!({"stream": "7", "op_name": "MatMul"})),
            node("/out/MatMul", "MatMul", (50, 1)),
            run((0, 70)),
        ];
        let mut text = Value::Array(events.to_vec()).to_string().into_bytes();
        for (place, byte) in places {
            let place = place.index(text.len());
            text[place] = byte;
        }
        let norm = &["/in/MatMul"][..];
        let model = model(&[
            ("/in/MatMul", "MatMul", &[]), ("/n/ReduceMean", "ReduceMean", norm), ("/out/MatMul", "MatMul", &["/n/ReduceMean"]),
        ]);
        let options = ReadOptions { census: true, model, ..ReadOptions::default() };
        let _ = read_trace_bytes("profile.json", &text, &options);
    }
}
