//! What is concluded from Kineto traces: modules, passes, launches, steps.

use std::collections::BTreeMap;

use jouletree_model::{DeviceClass, Pass, Trace};
use jouletree_trace::{ReadOptions, read_trace_bytes};
use serde_json::{Value, json};

const MAIN: u32 = 100;
const BACKWARD: u32 = 101;

fn complete(cat: &str, name: &str, tid: u32, (ts, dur): (u64, u64), args: Value) -> Value {
    json!({"ph": "X", "cat": cat, "name": name, "pid": 7, "tid": tid, "ts": ts, "dur": dur, "args": args})
}

fn op(name: &str, tid: u32, extent: (u64, u64), args: Value) -> Value {
    complete("cpu_op", name, tid, extent, args)
}

fn span(name: &str, extent: (u64, u64)) -> Value {
    complete("user_annotation", name, MAIN, extent, json!({}))
}

fn kernel(name: &str, extent: (u64, u64), correlation: u64) -> Value {
    let args = json!({"device": 1, "stream": 7, "correlation": correlation});
    json!({"ph": "X", "cat": "kernel", "name": name, "pid": 1, "tid": 7, "ts": extent.0, "dur": extent.1, "args": args})
}

fn read(events: &[Value]) -> Trace {
    let document = json!({"schemaVersion": 1, "traceEvents": events});
    read_trace_bytes("trace.json", document.to_string().as_bytes(), &ReadOptions::default())
        .expect("a Kineto trace")
}

/// Where each event landed, by the name the framework gave it.
fn placed(trace: &Trace) -> BTreeMap<String, (String, Pass)> {
    trace.ops.iter().map(|(_, op)| (op.name.to_string(), (op.path.to_string(), op.pass))).collect()
}

fn at(path: &str, pass: Pass) -> (String, Pass) {
    (path.to_owned(), pass)
}

#[test]
fn backward_operations_go_to_the_module_of_their_forward_operation() {
    let trace = read(&[
        span("module::bert.encoder.layer.0.output.dense", (0, 50)),
        // An operation that makes no node of the graph reports the number that the next one takes.
        op("aten::view", MAIN, (60, 5), json!({"Sequence number": 4, "Fwd thread id": 0})),
        op("aten::addmm", MAIN, (10, 20), json!({"Sequence number": 4, "Fwd thread id": 0})),
        span("module::cls", (55, 3)),
        op("aten::linear", MAIN, (70, 9), json!({"Sequence number": 5, "Fwd thread id": 0})),
        op(
            "autograd::engine::evaluate_function: AddmmBackward0",
            BACKWARD,
            (100, 30),
            json!({"Sequence number": 9, "Fwd thread id": 1}),
        ),
        op("aten::mm", BACKWARD, (105, 10), json!({})),
        op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", BACKWARD, (140, 9), json!({})),
    ]);
    let placed = placed(&trace);
    assert_eq!(placed["aten::addmm"], at("bert/encoder/layer.0/output/dense/aten::addmm", Pass::Forward));
    assert_eq!(placed["aten::linear"], at("aten::linear", Pass::Forward));
    // Its forward operation is not in the trace.
    assert_eq!(placed["aten::mm"], at("gradients/aten::mm", Pass::Backward));

    let trace = read(&[
        span("module::a", (0, 50)),
        op("aten::slice", MAIN, (1, 2), json!({"Sequence number": 4, "Fwd thread id": 0})),
        span("module::b", (60, 50)),
        op("aten::addmm", MAIN, (61, 20), json!({"Sequence number": 4, "Fwd thread id": 0})),
        op(
            "autograd::engine::evaluate_function: AddmmBackward0",
            BACKWARD,
            (200, 30),
            json!({"Sequence number": 4, "Fwd thread id": 1}),
        ),
        op("aten::mm", BACKWARD, (205, 10), json!({})),
    ]);
    // The last forward operation with the number made the node.
    let evaluated = "autograd::engine::evaluate_function: AddmmBackward0";
    assert_eq!(self::placed(&trace)["aten::mm"], at("b/aten::mm", Pass::Backward));
    assert_eq!(self::placed(&trace)[evaluated], at("b/AddmmBackward0", Pass::Backward));
}

#[test]
fn flows_tell_forward_threads_apart() {
    let flow = |phase: &str, id: u32, tid: u32, ts: u64| json!({"ph": phase, "id": id, "pid": 7, "tid": tid, "ts": ts, "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"});
    let module = |name: &str, tid: u32, extent| complete("user_annotation", name, tid, extent, json!({}));
    let forward = |tid, ts| op("aten::addmm", tid, (ts, 5), json!({"Sequence number": 0, "Fwd thread id": 0}));
    let backward = |thread: u32, ts| {
        let args = json!({"Sequence number": 0, "Fwd thread id": thread});
        let node = op("AddmmBackward0", BACKWARD, (ts + 1, 8), args.clone());
        [op("autograd::engine::evaluate_function: AddmmBackward0", BACKWARD, (ts, 10), args), node]
    };
    let mut events = vec![
        module("module::left", 1, (0, 20)),
        module("module::right", 2, (0, 20)),
        forward(1, 2),
        forward(2, 3),
        flow("s", 10, 1, 2),
        flow("s", 11, 2, 3),
        flow("f", 10, BACKWARD, 101),
        flow("f", 11, BACKWARD, 201),
    ];
    events.extend(backward(1, 100));
    events.extend(backward(2, 200));
    let trace = read(&events);
    let backward: Vec<&str> =
        trace.ops.iter().filter(|(_, op)| op.pass == Pass::Backward).map(|(_, op)| &*op.path).collect();
    assert_eq!(
        backward,
        ["left/AddmmBackward0", "left/AddmmBackward0", "right/AddmmBackward0", "right/AddmmBackward0"]
    );
}

#[test]
fn modules_recomputed_during_the_backward_pass_keep_their_place() {
    let evaluate = "autograd::engine::evaluate_function: CheckpointFunctionBackward";
    let trace = read(&[
        op(evaluate, MAIN, (0, 100), json!({"Sequence number": 3, "Fwd thread id": 1})),
        span("module::h.2.mlp", (10, 40)),
        op("aten::gelu", MAIN, (12, 9), json!({"Sequence number": 8, "Fwd thread id": 0})),
    ]);
    assert_eq!(placed(&trace)["aten::gelu"], at("h.2/mlp/aten::gelu", Pass::Backward));
}

#[test]
fn kernels_go_to_what_launched_them() {
    let launch = |name: &str, cat: &str, ts, correlation| {
        complete(cat, name, MAIN, (ts, 3), json!({"correlation": correlation, "External id": correlation}))
    };
    let trace = read(&[
        span("ProfilerStep#12", (0, 90)),
        span("module::lm_head", (0, 60)),
        op("aten::linear", MAIN, (2, 30), json!({})),
        op("aten::mm", MAIN, (4, 20), json!({})),
        launch("cudaLaunchKernel", "cuda_runtime", 6, 501),
        // Triton launches through the driver.
        launch("cuLaunchKernel", "cuda_driver", 40, 502),
        launch("cudaLaunchKernel", "cuda_runtime", 70, 503),
        kernel("void sgemm<float, 4>(float*)", (100, 50), 501),
        kernel("triton_poi_fused_add_0", (150, 9), 502),
        kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", (160, 9), 503),
        kernel("orphan_kernel", (170, 9), 999),
    ]);
    let placed = placed(&trace);
    assert_eq!(placed["void sgemm<float, 4>(float*)"].0, "lm_head/aten::mm");
    assert_eq!(placed["triton_poi_fused_add_0"].0, "lm_head/triton_poi_fused_add_0");
    assert_eq!(
        placed["ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)"].0,
        "collectives/ncclDevKernel_AllReduce_Sum_f32_RING_LL"
    );
    assert_eq!(placed["orphan_kernel"].0, "unlaunched/orphan_kernel");
    assert!(trace.warnings.iter().any(|warning| warning.message.contains("1 of 4 events on GPUs have lost")));
    let sgemm = trace.ops.iter().find(|(_, op)| op.name.starts_with("void sgemm")).expect("the kernel").1;
    assert_eq!(&*sgemm.op_type, "sgemm");
    let gpu = trace.lanes.iter().find(|lane| lane.label() == "stream 7").expect("the stream");
    assert_eq!(trace.devices[gpu.device()].to_string(), "host/gpu:1");
    // The kernel ran after the step's end on the host, but belongs to the step that launched it.
    assert_eq!(gpu.events()[0].step.number(), Some(12));
}

#[test]
fn optimizer_data_loading_and_python_time_have_their_places() {
    let trace = read(&[
        span("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", (0, 10)),
        op("aten::stack", MAIN, (1, 4), json!({})),
        span("Optimizer.step#AdamW.step", (20, 30)),
        op("aten::sqrt", MAIN, (22, 4), json!({})),
        span("module::(root)", (60, 30)),
        op("aten::nll_loss", MAIN, (62, 4), json!({})),
        span("my range", (70, 9)),
        op("aten::relu", MAIN, (72, 2), json!({})),
    ]);
    let placed = placed(&trace);
    assert_eq!(placed["aten::stack"], at("data/_SingleProcessDataLoaderIter.__next__/aten::stack", Pass::Forward));
    assert_eq!(placed["aten::sqrt"], at("optimizer/AdamW.step/aten::sqrt", Pass::Optimizer));
    assert_eq!(placed["Optimizer.step#AdamW.step"], at("optimizer/AdamW.step/(python)", Pass::Optimizer));
    assert_eq!(placed["aten::nll_loss"].0, "(root)/aten::nll_loss");
    assert_eq!(placed["aten::relu"].0, "(root)/my range/aten::relu");
}

#[test]
fn the_forward_pass_in_a_closure_of_the_optimizer_is_forward() {
    let evaluate = "autograd::engine::evaluate_function: AddmmBackward0";
    let trace = read(&[
        span("Optimizer.step#SGD.step", (0, 200)),
        span("jouletree::closure", (5, 150)),
        span("module::net", (10, 20)),
        op("aten::addmm", MAIN, (12, 9), json!({"Sequence number": 1, "Fwd thread id": 0})),
        op("aten::mse_loss", MAIN, (35, 5), json!({})),
        span("jouletree::backward", (50, 60)),
        op("aten::ones_like", MAIN, (51, 2), json!({})),
        op(evaluate, MAIN, (55, 20), json!({"Sequence number": 1, "Fwd thread id": 1})),
        op("aten::mm", MAIN, (56, 9), json!({})),
        op("SqueezeBackward", MAIN, (80, 9), json!({"Sequence number": 1, "Fwd thread id": 1})),
        span("Optimizer.zero_grad#SGD.zero_grad", (120, 10)),
        op("aten::zero_", MAIN, (121, 5), json!({})),
        op("aten::add_", MAIN, (160, 9), json!({})),
        complete("python_function", "nn.Module: Linear_0", MAIN, (170, 9), json!({})),
        op("aten::relu", MAIN, (171, 2), json!({})),
    ]);
    let placed = placed(&trace);
    assert_eq!(placed["aten::addmm"], at("net/aten::addmm", Pass::Forward));
    assert_eq!(placed["aten::mse_loss"], at("aten::mse_loss", Pass::Forward));
    assert_eq!(placed["aten::ones_like"], at("gradients/aten::ones_like", Pass::Backward));
    assert_eq!(placed["aten::mm"], at("net/aten::mm", Pass::Backward));
    assert_eq!(placed["SqueezeBackward"], at("net/SqueezeBackward", Pass::Backward));
    assert_eq!(placed["aten::zero_"], at("optimizer/SGD.zero_grad/aten::zero_", Pass::Optimizer));
    assert_eq!(placed["aten::add_"], at("optimizer/SGD.step/aten::add_", Pass::Optimizer));
    assert_eq!(placed["aten::relu"], at("Linear_0/aten::relu", Pass::Forward));
}

#[test]
fn collectives_are_in_the_pass_that_waits_for_them() {
    const GLOO: u32 = 102;
    let gloo = |name: &str, extent| complete("user_annotation", name, GLOO, extent, json!({}));
    let evaluate = "autograd::engine::evaluate_function: AddmmBackward0";
    let trace = read(&[
        span("module::net", (0, 50)),
        gloo("gloo:broadcast", (10, 20)),
        op(evaluate, MAIN, (60, 20), json!({"Sequence number": 1, "Fwd thread id": 1})),
        gloo("gloo:all_reduce", (70, 40)),
        // No node runs any more, but the backward pass waits.
        gloo("gloo:reduce_scatter", (115, 5)),
        span("FSDP::root_post_backward_callback", (130, 10)),
        op("aten::copy_", MAIN, (131, 2), json!({})),
        span("Optimizer.step#SGD.step", (150, 30)),
        gloo("gloo:all_gather", (160, 5)),
        span("Torch-Compiled Region: 0/1", (200, 5)),
    ]);
    let placed = placed(&trace);
    let collective = |name: &str, pass| at(&format!("collectives/{name}/(python)"), pass);
    assert_eq!(placed["gloo:broadcast"], collective("gloo:broadcast", Pass::Forward));
    assert_eq!(placed["gloo:all_reduce"], collective("gloo:all_reduce", Pass::Backward));
    assert_eq!(placed["gloo:reduce_scatter"], collective("gloo:reduce_scatter", Pass::Backward));
    assert_eq!(placed["aten::copy_"].1, Pass::Backward);
    assert_eq!(placed["gloo:all_gather"], collective("gloo:all_gather", Pass::Optimizer));
    let region = at("Torch-Compiled Region: 0\u{2215}1/(python)", Pass::Forward);
    assert_eq!(placed["Torch-Compiled Region: 0/1"], region);
}

#[test]
fn the_python_tracer_names_modules_where_no_hooks_did() {
    let module = |name: &str, extent| complete("python_function", name, MAIN, extent, json!({}));
    let trace = read(&[
        module("nn.Module: BertModel_0", (0, 50)),
        module("torch/nn/modules/module.py(1501): _call_impl", (1, 48)),
        module("nn.Module: BertLayer_0", (2, 40)),
        op("aten::addmm", MAIN, (5, 9), json!({})),
    ]);
    assert_eq!(placed(&trace)["aten::addmm"].0, "BertModel_0/BertLayer_0/aten::addmm");
    assert_eq!(trace.ops.len(), 3, "other Python functions are not accounted");
}

#[test]
fn traces_of_2021_are_read() {
    let event = |cat: &str, name: &str, pid: Value, tid: Value, ts: u64, args: Value| json!({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": 8, "args": args});
    let on_gpu = json!({"device": 0, "stream": 7, "correlation": 5});
    let trace = read(&[
        event("Operator", "aten::conv2d", json!(9), json!("9"), 1_600_000_000_000_000, json!({})),
        event(
            "Runtime",
            "cudaLaunchKernel",
            json!(9),
            json!("9"),
            1_600_000_000_000_002,
            json!({"correlation": 5}),
        ),
        event("Kernel", "conv_kernel", json!(0), json!("stream 7"), 1_600_000_000_000_020, on_gpu.clone()),
        event(
            "Memcpy",
            "Memcpy HtoD (Pageable -> Device)",
            json!(0),
            json!("stream 7"),
            1_600_000_000_000_040,
            on_gpu,
        ),
        event(
            "Trace",
            "PyTorch Profiler (0)",
            json!("Spans"),
            json!("PyTorch Profiler"),
            1_600_000_000_000_000,
            json!({}),
        ),
    ]);
    assert_eq!(placed(&trace)["conv_kernel"].0, "aten::conv2d");
    assert_eq!(trace.lanes.iter().map(|lane| lane.events().len()).sum::<usize>(), 4);
    assert_eq!(trace.lanes[0].events()[0].start.0, 1_600_000_000_000_000_000);
    assert!(trace.warnings.is_empty(), "{:?}", trace.warnings);
}

#[test]
fn accelerators_of_other_makers_are_devices_too() {
    let on_device = |cat: &str, name: &str, ts: u64, correlation: u64| {
        let args = json!({"device": 3, "stream": 2, "correlation": correlation});
        json!({"ph": "X", "cat": cat, "name": name, "pid": 3, "tid": 2, "ts": ts, "dur": 7, "args": args})
    };
    let trace = read(&[
        span("module::bert.pooler", (0, 50)),
        op("aten::mm", MAIN, (1, 30), json!({})),
        complete("mtia_runtime", "runtime launch", MAIN, (5, 2), json!({"correlation": 4})),
        on_device("mtia_ccp_events", "fc_kernel", 20, 4),
        complete("xpu_runtime", "zeCommandListAppendLaunchKernel", MAIN, (8, 2), json!({"correlation": 5})),
        on_device("kernel", "gemm_kernel", 30, 5),
        on_device("mtia_insight", "counter", 20, 9),
        // Waiting is no work.
        on_device("mtia_ccp_events", "event_wait", 40, 4),
    ]);
    let placed = placed(&trace);
    assert_eq!(placed["fc_kernel"], at("bert/pooler/aten::mm", Pass::Forward));
    assert_eq!(placed["gemm_kernel"], at("bert/pooler/aten::mm", Pass::Forward));
    assert!(!placed.contains_key("counter") && !placed.contains_key("event_wait"));
    let on_gpu = trace.lanes.iter().filter(|lane| trace.devices[lane.device()].class() == DeviceClass::Gpu);
    assert_eq!(on_gpu.map(|lane| lane.events().len()).sum::<usize>(), 2);
    assert_eq!(trace.warnings, []);
    let devices: Vec<String> = trace.devices.iter().map(ToString::to_string).collect();
    assert_eq!(devices, ["host/cpu:0", "host/gpu:3"]);
}

#[test]
fn kernels_of_the_range_profiler_are_left_out_and_named() {
    let range = |ts: u64| complete("cuda_profiler_range", "gemm", MAIN, (ts, 5), json!({}));
    let trace = read(&[op("aten::mm", MAIN, (1, 30), json!({})), range(40), range(50)]);
    assert_eq!(trace.lanes.len(), 1);
    let [warning] = &trace.warnings[..] else { panic!("{:?}", trace.warnings) };
    assert!(warning.message.starts_with("2 kernels of CUPTI's range profiler"), "{warning}");
}
