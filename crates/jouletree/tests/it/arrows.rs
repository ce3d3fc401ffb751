//! The arrows of diagrams, against lists made from the models' source code: each layer of a BERT in its forward pass, in traces
//! of every framework.

use crate::common;

use std::collections::BTreeSet;

use common::*;
use serde_json::Value;
use test_support::development::trace_data;

/// What flows where, as `from > to`.
type Arrows<'a> = &'a [&'a str];

/// Inside each layer of the encoder of google-research's and Hugging Face's BERT: the attention's output goes through two dense
/// layers and around them.
const OF_LAYER: Arrows<'_> = &["attention > intermediate", "attention > output", "intermediate > output"];

/// The forward arrows between the layers inside of a layer. What flows through single operations beside them flows from layer
/// to layer.
fn arrows(tree: &Value, path: &str) -> BTreeSet<String> {
    let layer = path.split('/').filter(|name| !name.is_empty()).fold(tree, |layer, name| {
        let child = list(layer, "children").iter().find(|child| child["name"] == name);
        child.unwrap_or_else(|| panic!("no layer {name} of {path}"))
    });
    let children = list(layer, "children").iter();
    let layers: BTreeSet<&str> =
        children.filter(|child| child["composite"] == true).map(|child| text(child, "name")).collect();
    let is_forward = |edge: &&Value| edge["from_pass"] == "forward" && edge["to_pass"] == "forward";
    let edges: Vec<(&str, &str)> = list(layer, "edges")
        .iter()
        .filter(is_forward)
        .map(|edge| (text(edge, "from"), text(edge, "to")))
        .collect();
    let mut found = BTreeSet::new();
    for from in &layers {
        let (mut seen, mut waiting) = (BTreeSet::new(), vec![*from]);
        while let Some(at) = waiting.pop() {
            for (_, to) in edges.iter().filter(|(start, _)| *start == at) {
                if layers.contains(to) {
                    found.insert(format!("{from} > {to}"));
                } else if seen.insert(*to) {
                    waiting.push(to);
                }
            }
        }
    }
    found
}

#[track_caller]
fn assert_arrows(tree: &Value, expected: &[(&str, Arrows<'_>)]) {
    for (path, expected) in expected {
        assert_eq!(arrows(tree, path), expected.iter().map(ToString::to_string).collect(), "in `{path}`");
    }
    no_way_back(tree);
}

/// No data of the forward pass flows from a numbered layer to one with a lower number.
fn no_way_back(layer: &Value) {
    let number = |name: &str| name.trim_start_matches(|letter: char| !letter.is_ascii_digit()).parse::<u64>().ok();
    for edge in list(layer, "edges").iter().filter(|edge| edge["from_pass"] == "forward") {
        let (from, to) = (text(edge, "from"), text(edge, "to"));
        if from.starts_with("layer") && to.starts_with("layer") && edge["to_pass"] == "forward" {
            assert!(number(from) < number(to), "{from} > {to} in {}", layer["path"]);
        }
    }
    list(layer, "children").iter().for_each(no_way_back);
}

#[test]
fn of_the_sample() {
    let result = account([&sample("timeline-5.json.gz"), "--power", &sample("power.csv")]);
    let tree = &result["tree"];
    assert_arrows(
        tree,
        &[
            ("", &["bert > cls", "data > bert", "data > cls"]),
            ("bert", &["embeddings > encoder"]),
            ("bert/encoder", &["layer_0 > layer_1", "layer_1 > layer_2", "layer_2 > layer_3"]),
            ("bert/encoder/layer_0", OF_LAYER),
            ("bert/encoder/layer_3", OF_LAYER),
        ],
    );
}

/// A trace of the development data, accounted with constant power from its beginning on; `None` without the data.
fn traced(trace: &str, model: Option<&str>, start: i64) -> Option<Value> {
    let file = |name: &str| Some(trace_data(name)?.display().to_string());
    let (trace, files) = (file(trace)?, Files::new());
    let end = start + 100_000_000_000;
    let power = format!("epoch_ns,device,watts\n{},cpu:0,50\n{end},cpu:0,50\n", start - 1_000_000_000);
    let power = files.write("power.csv", power);
    let mut arguments = vec![trace, "--power".to_owned(), power];
    if let Some(model) = model {
        arguments.extend(["--model".to_owned(), file(model)?]);
    }
    Some(account(arguments.iter().map(String::as_str).collect::<Vec<_>>())["tree"].clone())
}

#[test]
fn of_tensorflow_2_15() {
    // The optimizer of graphs has merged constants and the mask of all layers into the last.
    let Some(tree) = traced("tf215_bert_tiny_timeline-5.json.gz", None, 1_794_770_717_000_000_000) else { return };
    assert_arrows(
        &tree,
        &[
            ("bert", &["embeddings > encoder", "encoder > pooler"]),
            ("bert/encoder", &["layer_0 > layer_1"]),
            ("bert/encoder/layer_0", OF_LAYER),
            ("bert/encoder/layer_1", OF_LAYER),
        ],
    );
    assert!(arrows(&tree, "").contains("bert > cls"));
}

#[test]
fn of_jax() {
    // XLA has fused operations of several layers.
    let Some(tree) = traced("jax0102_minibert.xplane.pb.gz", None, 1_794_771_668_117_931_424) else { return };
    assert_arrows(
        &tree,
        &[
            ("bert", &["embeddings > encoder"]),
            ("bert/encoder", &["layer_0 > layer_1"]),
            ("bert/encoder/layer_0", &["attention > ffn"]),
            ("bert/encoder/layer_1", &["attention > ffn"]),
        ],
    );
}

#[test]
fn of_onnx_runtime() {
    let (trace, model) = ("ort131_bert_tiny_fused.json.gz", Some("onnx_bert_tiny.graph.gz"));
    let Some(tree) = traced(trace, model, 1_794_771_926_506_845_032) else { return };
    assert_arrows(
        &tree,
        &[
            ("", &["embeddings > encoder", "encoder > pooler"]),
            ("encoder", &["layer.0 > layer.1"]),
            ("encoder/layer.0", OF_LAYER),
            ("encoder/layer.1", OF_LAYER),
        ],
    );
}

#[test]
fn of_pytorch() {
    let (trace, model) = ("torch215_bert_tiny_hooks.json.gz", Some("torch215_bert_tiny_mlm.graph.gz"));
    let Some(tree) = traced(trace, model, 1_794_771_883_310_238_720) else { return };
    assert_arrows(
        &tree,
        &[
            ("", &["bert > cls"]),
            ("bert", &["embeddings > encoder"]),
            ("bert/encoder", &["layer.0 > layer.1"]),
            ("bert/encoder/layer.0", OF_LAYER),
            ("bert/encoder/layer.1", OF_LAYER),
        ],
    );
}
