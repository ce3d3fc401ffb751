//! A real ONNX Runtime profile against independently computed figures.

use test_support::development::trace_data;

use std::collections::BTreeMap;

use jouletree_model::{BaseOrigin, ModelTree, Nanos, Step, TensorShape, TimeBase, Trace};
use jouletree_trace::{Progress, ReadOptions, read_model, read_trace};
use serde_json::Value;

const PROFILE: &str = "ort131_bert_tiny_fused.json.gz";
const GRAPH: &str = "onnx_bert_tiny.graph.gz";

fn read(model: ModelTree) -> Option<Trace> {
    let options = ReadOptions { census: true, model, ..ReadOptions::default() };
    Some(read_trace(&trace_data(PROFILE)?, &options, &Progress::default()).expect("a profile"))
}

fn graph() -> Option<ModelTree> {
    Some(read_model(&trace_data(GRAPH)?).expect("a graph"))
}

fn expected() -> Option<Value> {
    let all: Value =
        serde_json::from_slice(&std::fs::read(trace_data("EXPECTED.json")?).expect("a file")).expect("JSON");
    Some(all[PROFILE].clone())
}

/// The time of each operation by path; events of this profile do not nest.
fn times(trace: &Trace) -> BTreeMap<&str, i64> {
    let mut times = BTreeMap::new();
    for event in trace.lanes.iter().flat_map(|lane| lane.events()) {
        let op = trace.ops.get(event.op).expect("a known operation");
        *times.entry(&*op.path).or_default() += event.duration().0;
    }
    times
}

/// The share of the operations' time for which `holds` is true of the path.
fn share(trace: &Trace, holds: impl Fn(&str) -> bool) -> f64 {
    let times = times(trace);
    let inside: i64 = times.iter().filter(|(path, _)| holds(path)).map(|(_, time)| time).sum();
    inside as f64 / times.values().sum::<i64>() as f64
}

fn path_of<'a>(trace: &'a Trace, name: &str) -> &'a str {
    let mut ops = trace.ops.iter().map(|(_, op)| op);
    &ops.find(|op| &*op.name == name).unwrap_or_else(|| panic!("no operation {name}")).path
}

/// The operations whose layer neither their name nor their neighbours show, and where the model has them.
const FUSED: [(&str, &str); 6] = [
    ("SkipLayerNormalization", "encoder/layer.0/attention/output/LayerNorm"),
    ("SkipLayerNormalization_token_67", "encoder/layer.0/output/LayerNorm"),
    ("SkipLayerNormalization_token_68", "encoder/layer.1/attention/output/LayerNorm"),
    ("SkipLayerNormalization_token_69", "encoder/layer.1/output/LayerNorm"),
    ("Gelu", "encoder/layer.0/intermediate/intermediate_act_fn"),
    ("Gelu_token_66", "encoder/layer.1/intermediate/intermediate_act_fn"),
];

#[test]
fn everything_in_the_file_is_counted() {
    let (Some(trace), Some(expected)) = (read(ModelTree::default()), expected()) else { return };
    let categories: Vec<_> = trace.census.categories().collect();
    assert_eq!(categories.len(), 2);
    for (device, category, holding) in categories {
        let wanted = &expected["devices"][category];
        assert_eq!(device.to_string(), "host/cpu:0");
        assert_eq!(Some(holding.events), wanted["x_events"].as_u64(), "{category}");
        assert_eq!(Some(holding.duration.0 as f64 / 1e3), wanted["sum_dur_us"].as_f64(), "{category}");
        assert_eq!(Some(holding.busy.0 as f64 / 1e3), wanted["busy_union_us"].as_f64(), "{category}");
    }
    let extent = trace.census.extent().expect("events");
    assert_eq!(Some(extent.start.0), expected["first_start_ns"].as_i64());
    assert_eq!(Some(extent.end.0), expected["last_end_ns"].as_i64());
    let operations: Vec<_> = trace.census.operations().into_values().map(|holding| holding.events).collect();
    assert_eq!(operations, [896]);
    assert_eq!(trace.event_count(), 896);
    let distinct = expected["devices"]["CPUExecutionProvider"]["distinct_ops"].as_u64();
    assert_eq!(Some(trace.ops.len() as u64), distinct);
}

#[test]
fn the_base_comes_from_the_file_beside_or_from_the_user() {
    let Some(trace) = read(ModelTree::default()) else { return };
    assert!(matches!(trace.sources[0].time_base, TimeBase::Epoch { origin: BaseOrigin::Sidecar, .. }));
    let path = trace_data(PROFILE).expect("the profile");
    let options = ReadOptions { base: Some(Nanos(7)), ..ReadOptions::default() };
    let trace = read_trace(&path, &options, &Progress::default()).expect("a profile");
    assert!(matches!(trace.sources[0].time_base, TimeBase::Epoch { origin: BaseOrigin::Given, .. }));
    // The first operation begins 159,944 µs after profiling did.
    assert_eq!(trace.extent().expect("events").start, Nanos(159_944_007));
}

#[test]
fn every_run_is_a_step() {
    let Some(trace) = read(ModelTree::default()) else { return };
    let mut steps: BTreeMap<Step, usize> = BTreeMap::new();
    for event in trace.lanes.iter().flat_map(|lane| lane.events()) {
        *steps.entry(event.step).or_default() += 1;
    }
    assert_eq!(steps, (0..14).map(|run| (Step(run), 64)).collect());
}

/// All time is below a named layer, with the model (wanted: at least 99 %) and without; without it, the six fused
/// operations, 35.3 % of the time, are only in the right block.
#[test]
fn all_time_is_below_a_named_layer() {
    let (Some(model), Some(without)) = (graph(), read(ModelTree::default())) else { return };
    let with = read(model).expect("a trace");
    let is_layer = |path: &str| {
        let top = path.split('/').next().unwrap_or_default();
        path.contains('/') && ["embeddings", "encoder", "pooler"].contains(&top)
    };
    assert_eq!(share(&with, is_layer), 1.0);
    assert_eq!(share(&without, is_layer), 1.0);
    // The encoder's operations are in one of its blocks, too.
    let in_block = |path: &str| !path.starts_with("encoder") || path.starts_with("encoder/layer.");
    assert_eq!(share(&with, in_block), 1.0);
    assert_eq!(share(&without, in_block), 1.0);
    let moved = with.ops.iter().zip(without.ops.iter()).filter(|((_, with), (_, without))| {
        assert_eq!(with.name, without.name);
        with.path != without.path
    });
    let moved: Vec<&str> = moved.map(|((_, op), _)| &*op.path).collect();
    assert_eq!(moved.len(), FUSED.len());
    let moved: i64 = times(&with).iter().filter(|(path, _)| moved.contains(path)).map(|(_, time)| time).sum();
    assert_eq!(moved, 260_620_000);
}

#[test]
fn fused_operations_find_their_layers() {
    let (Some(model), Some(without)) = (graph(), read(ModelTree::default())) else { return };
    let with = read(model).expect("a trace");
    assert_eq!(with.warnings, []);
    for (name, layer) in FUSED {
        let path = path_of(&with, name);
        assert_eq!(path.rsplit_once('/').map(|(layer, _)| layer), Some(layer), "{name}");
        let block: Vec<&str> = layer.split('/').take(2).collect();
        assert!(path_of(&without, name).starts_with(&block.join("/")), "{}", path_of(&without, name));
    }
    let warning = &without.warnings[0].message;
    assert!(warning.starts_with("6 of 64 operations") && warning.contains("--model model.onnx"), "{warning}");
    for (name, path) in [
        (
            "/encoder/layer.0/attention/self/query/MatMul/MatMulAddFusion",
            "encoder/layer.0/attention/self/query/MatMul",
        ),
        ("gemm_input_reshape_token_2", "encoder/layer.0/attention/self/query/gemm_input_reshape"),
        ("gemm_output_reshape_token_5_new_reshape", "encoder/layer.0/attention/self/query/gemm_output_reshape"),
        ("fused /pooler/dense/Gemm", "pooler/dense/Gemm"),
    ] {
        assert_eq!(path_of(&with, name), path);
        assert_eq!(path_of(&without, name), path);
    }
}

#[test]
fn the_model_tells_the_data_flow_between_what_ran() {
    let Some(model) = graph() else { return };
    let trace = read(model).expect("a trace");
    let path = |node| &*trace.model.get(node).expect("a node").0.path;
    let edges: Vec<(&str, &str)> = trace.model.edges().map(|edge| (path(edge.from), path(edge.to))).collect();
    assert_eq!(edges.len(), 49);
    for edge in [
        ("embeddings/LayerNorm/Mul", "encoder/layer.0/attention/self/key/MatMul"),
        // The residual connection, past the whole attention.
        ("embeddings/LayerNorm/Mul", "encoder/layer.0/attention/output/LayerNorm/SkipLayerNormalization"),
        ("encoder/layer.0/intermediate/dense/MatMul", "encoder/layer.0/intermediate/intermediate_act_fn/Gelu"),
        ("pooler/Gather", "pooler/dense/Gemm"),
    ] {
        assert!(edges.contains(&edge), "{edge:?}");
    }
    assert_eq!(read(ModelTree::default()).expect("a trace").model.edges().len(), 0);
}

#[test]
fn shapes_sizes_and_work_are_told() {
    let Some(trace) = read(ModelTree::default()) else { return };
    let op = |name: &str| trace.ops.iter().map(|(_, op)| op).find(|op| &*op.name == name).expect("an operation");
    let dense =
        trace.model.facts(op("/encoder/layer.0/intermediate/dense/MatMul/MatMulAddFusion")).expect("facts");
    assert_eq!(dense.flops, Some(2 * 512 * 128 * 512));
    assert_eq!(dense.output_bytes, Some(4 * 512 * 512));
    assert_eq!(dense.outputs, [TensorShape::new("float", [512, 512])]);
    assert!(trace.model.nodes().all(|(_, _, facts)| facts.flops.is_some()));
    // The same model's forward products, by PyTorch's own count: two layers of 218,103,808; the head is not in this
    // model, and its pooler is a product of 8 rows.
    let products: u64 = trace
        .model
        .nodes()
        .filter(|(_, op, _)| op.op_type.contains("MatMul") || op.op_type.contains("Gemm"))
        .filter_map(|(_, _, facts)| facts.flops)
        .sum();
    assert_eq!(products, 2 * 218_103_808 + 2 * 8 * 128 * 128);
}
