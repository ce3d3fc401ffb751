//! What is concluded from TensorFlow timelines: devices, layers, passes, data flow.

use std::collections::BTreeMap;

use jouletree_model::{Pass, Trace};
use jouletree_trace::{ReadOptions, read_trace_bytes};
use serde_json::{Value, json};

const CPU: &str = "/job:localhost/replica:0/task:0/device:CPU:0 Compute";

fn process(pid: u32, name: &str) -> Value {
    json!({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}})
}

/// An operation with its type and inputs, one after the other in lane 0.
fn operations(pid: u32, rows: &[(&str, &str, &[&str])]) -> Vec<Value> {
    let event = |(index, (name, op_type, inputs)): (usize, &(&str, &str, &[&str]))| {
        let mut args = json!({"name": name, "op": op_type});
        for (number, input) in inputs.iter().enumerate() {
            args[format!("input{number}")] = json!(input);
        }
        let ts = 1_700_000_000_000_000_u64 + 10 * index as u64;
        json!({"ph": "X", "cat": "Op", "name": op_type, "pid": pid, "tid": 0, "ts": ts, "dur": 10, "args": args})
    };
    rows.iter().enumerate().map(event).collect()
}

fn read(events: Vec<Value>) -> Trace {
    let document = json!({"traceEvents": events});
    read_trace_bytes("timeline-7.json", document.to_string().as_bytes(), &ReadOptions::default())
        .expect("a TensorFlow timeline")
}

fn placed(trace: &Trace) -> BTreeMap<String, (String, Pass)> {
    trace.ops.iter().map(|(_, op)| (op.name.to_string(), (op.path.to_string(), op.pass))).collect()
}

/// A dense layer trained by an optimizer whose operations have no scope, as AdamWeightDecay's.
fn training_step() -> Trace {
    let mut events = vec![process(0, "Allocators"), process(1, CPU)];
    events.extend(operations(
        1,
        &[
            ("_SOURCE", "NoOp", &[]),
            ("net/dense/kernel", "VarHandleOp", &[]),
            ("net/dense/kernel/adam_m", "VarHandleOp", &[]),
            ("net/dense/MatMul/ReadVariableOp", "ReadVariableOp", &["net/dense/kernel"]),
            ("net/dense/MatMul", "MatMul", &["IteratorGetNext:1", "net/dense/MatMul/ReadVariableOp"]),
            ("net/ArithmeticOptimizer/AddOpsRewrite_add_1", "AddN", &["net/dense/MatMul"]),
            ("net/loss/Mean", "Mean", &["net/ArithmeticOptimizer/AddOpsRewrite_add_1", "^net/dense/kernel"]),
            ("gradients/net/loss/Mean_grad/Tile", "Tile", &["net/loss/Mean"]),
            (
                "gradients/net/dense/MatMul_grad/MatMul_1",
                "MatMul",
                &["gradients/net/loss/Mean_grad/Tile", "net/dense/MatMul"],
            ),
            (
                "gradients/AddN_3",
                "AddN",
                &["gradients/net/dense/MatMul_grad/MatMul_1", "gradients/net/dense/MatMul_grad/MatMul_1"],
            ),
            ("clip_by_global_norm/mul_1", "Mul", &["gradients/AddN_3"]),
            ("Mul_6/ReadVariableOp", "ReadVariableOp", &["net/dense/kernel/adam_m"]),
            ("Mul_6", "Mul", &["Mul_6/ReadVariableOp"]),
            ("Mul_7", "Mul", &["clip_by_global_norm/mul_1"]),
            ("add_5", "AddV2", &["Mul_6", "Mul_7"]),
            ("AssignVariableOp_9", "AssignVariableOp", &["net/dense/kernel/adam_m", "add_5"]),
        ],
    ));
    read(events)
}

#[test]
fn gradients_and_updates_go_to_the_layer_that_caused_them() {
    let trace = training_step();
    let placed = placed(&trace);
    let at = |name: &str| placed.get(name).map(|(path, pass)| (path.as_str(), *pass)).expect(name);
    assert_eq!(at("net/dense/MatMul"), ("net/dense/MatMul", Pass::Forward));
    assert_eq!(at("gradients/net/dense/MatMul_grad/MatMul_1"), ("net/dense/MatMul", Pass::Backward));
    assert_eq!(at("gradients/AddN_3"), ("net/dense/AddN", Pass::Backward));
    assert_eq!(at("net/ArithmeticOptimizer/AddOpsRewrite_add_1"), ("net/add_1", Pass::Forward));
    assert_eq!(at("Mul_6"), ("net/dense/kernel/Mul", Pass::Optimizer));
    // Its inputs lead to a gradient only, its output to the variable.
    assert_eq!(at("Mul_7"), ("net/dense/kernel/Mul", Pass::Optimizer));
    assert_eq!(at("AssignVariableOp_9"), ("net/dense/kernel/AssignVariableOp", Pass::Optimizer));
    assert_eq!(at("clip_by_global_norm/mul_1"), ("optimizer/clip_by_global_norm/mul_1", Pass::Optimizer));
    assert_eq!(at("net/dense/kernel/adam_m"), ("net/dense/kernel/adam_m", Pass::Optimizer));
    assert_eq!(at("net/dense/kernel"), ("net/dense/kernel", Pass::Forward));
    assert!(!placed.contains_key("_SOURCE"));
}

#[test]
fn data_flow_comes_without_control_edges_ports_and_strangers() {
    let trace = training_step();
    let name = |node| trace.model.get(node).map(|(op, _)| op.name.to_string()).expect("a known operation");
    let into = |to: &str| -> Vec<String> {
        trace.model.edges().filter(|edge| name(edge.to) == to).map(|edge| name(edge.from)).collect()
    };
    assert_eq!(into("net/dense/MatMul"), ["net/dense/MatMul/ReadVariableOp"]);
    assert_eq!(into("net/loss/Mean"), ["net/ArithmeticOptimizer/AddOpsRewrite_add_1"]);
}

#[test]
fn inference_is_all_forward() {
    let mut events = vec![process(1, CPU)];
    events.extend(operations(
        1,
        &[("w", "VariableV2", &[]), ("MatMul", "MatMul", &["w"]), ("Assign", "Assign", &["w", "MatMul"])],
    ));
    assert!(read(events).ops.iter().all(|(_, op)| op.pass == Pass::Forward));
}

#[test]
fn a_gpu_is_read_once_and_its_scheduling_is_the_hosts() {
    let mut events = vec![
        process(1, CPU),
        process(2, "/job:localhost/replica:0/task:0/device:GPU:0 Compute"),
        process(3, "/device:GPU:0/stream:all Compute"),
        process(4, "/device:GPU:0/stream:22 Compute"),
        process(5, "/device:GPU:0/memcpy Compute"),
    ];
    for pid in 1..=5 {
        events.extend(operations(pid, &[("dense/MatMul", "MatMul", &[])]));
    }
    let trace = read(events);
    let lanes = |device: &str| {
        trace.lanes.iter().filter(|lane| trace.devices[lane.device()].to_string() == device).count()
    };
    assert_eq!((lanes("host/cpu:0"), lanes("host/gpu:0")), (2, 2));
    let repeated = trace.sources[0].counts.iter().find(|count| count.category == "Op repeated by stream");
    assert_eq!(repeated.map(|count| count.events), Some(1));
}

#[test]
fn the_step_is_the_timelines() {
    let steps: Vec<Option<u32>> = training_step()
        .lanes
        .iter()
        .flat_map(|lane| lane.events().to_vec())
        .map(|event| event.step.number())
        .collect();
    assert!(!steps.is_empty() && steps.iter().all(|step| *step == Some(7)));
}
