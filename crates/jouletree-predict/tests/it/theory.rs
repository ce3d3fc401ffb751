//! Theory against the reference that was computed with exact arithmetic.

use test_support::development;

use jouletree_predict::operators::builtin::{Choice, TextInput, Transformer, builtin};
use jouletree_predict::operators::{Convolution, Operator, Pool, Shape};
use jouletree_predict::theory::{Bits, Costs, OperatorEstimate, Traffic, estimate};
use serde_json::Value;

fn close(ours: f64, theirs: &Value, what: &str) {
    let theirs = theirs.as_f64().unwrap();
    assert!((ours - theirs).abs() <= 1e-9 * theirs.abs(), "{what}: {ours} instead of {theirs}");
}

fn traffic_is(ours: &OperatorEstimate, traffic: &Traffic, theirs: &Value, what: &str) {
    assert_eq!(serde_json::to_value(&traffic.reads_by_class).unwrap(), theirs["reads_by_class"], "{what}: reads");
    assert_eq!(
        serde_json::to_value(&traffic.writes_by_class).unwrap(),
        theirs["writes_by_class"],
        "{what}: writes"
    );
    assert_eq!(theirs["bytes"], traffic.bytes, "{what}: bytes");
    close(traffic.energy.0, &theirs["energy_J"], what);
    if theirs["compute_J"].is_number() {
        close(ours.compute.0, &theirs["compute_J"], what);
        close(traffic.memory.0, &theirs["memory_J"], what);
    }
}

fn counts_are(ours: &OperatorEstimate, theirs: &Value, what: &str) {
    assert_eq!(theirs["mul"], ours.mul, "{what}: mul");
    assert_eq!(theirs["sum"], ours.sum, "{what}: sum");
    assert_eq!(theirs["macs"], ours.macs, "{what}: macs");
    if theirs["params"].is_number() {
        assert_eq!(theirs["params"], ours.parameters, "{what}: params");
    }
}

fn conv(batch: u64, channels: [u64; 2], side: u64, kernel: u64, padding: u64) -> Shape {
    Shape::Conv2d(Convolution {
        batch,
        in_channels: channels[0],
        out_channels: channels[1],
        height: side,
        width: side,
        kernel: [kernel; 2],
        stride: [1; 2],
        padding: [padding; 2],
        groups: 1,
        bias: true,
    })
}

fn one(name: &str, shape: Shape) -> Vec<Operator> {
    vec![Operator::new(name, shape).unwrap()]
}

fn bert_layer() -> Vec<Operator> {
    let base = Transformer {
        layers: 1,
        hidden: 768,
        heads: 12,
        feed_forward: 3072,
        vocabulary: 30522,
        positions: 512,
        embedding: 768,
    };
    base.one_encoder_layer(TextInput { batch: 1, sequence: 128 }).unwrap()
}

fn case(name: &str) -> Vec<Operator> {
    let model = |name| builtin(name, Choice::default()).unwrap();
    match name {
        "linear_4096x4096_b1" => one("linear", Shape::Dense { rows: 1, inputs: 4096, outputs: 4096, bias: true }),
        "conv2d_64_128_k3_s1_p1_56x56_b1" => one("conv", conv(1, [64, 128], 56, 3, 1)),
        "bert_base_encoder_layer_s128_b1" => bert_layer(),
        "bert_base_s128_b1" => model("bert"),
        "alexnet_224_b1" => model("alexnet"),
        "vgg11_224_b1" => model("vgg11"),
        "vgg13_224_b1" => model("vgg13"),
        "vgg16_224_b1" => model("vgg16"),
        other => panic!("no model for the case {other}"),
    }
}

fn unit(name: &str) -> Shape {
    match name {
        "relu_1000" => Shape::Relu { elements: 1000, in_place: false },
        "gelu_1000" => Shape::Gelu { elements: 1000 },
        "tanh_1000" => Shape::Tanh { elements: 1000 },
        "sigmoid_1000" => Shape::Sigmoid { elements: 1000 },
        "softmax_16x128" => Shape::Softmax { rows: 16, length: 128, scaled: false },
        "layernorm_128x768" => Shape::LayerNorm { rows: 128, width: 768 },
        "maxpool_64x112x112_k2s2" => Shape::MaxPool2d(Pool {
            batch: 1,
            channels: 64,
            height: 112,
            width: 112,
            kernel: [2; 2],
            stride: [2; 2],
            padding: [0; 2],
        }),
        "matmul_12x128x64x128" => Shape::MatMul { batch: 12, rows: 128, inner: 64, columns: 128 },
        "embedding_128_of_30522x768" => Shape::Embedding { tokens: 128, vocabulary: 30522, width: 768 },
        "add_98304" => Shape::Add { elements: 98304 },
        "adaptive_avg_512x14_to_7" => {
            Shape::AdaptiveAveragePool2d { planes: 512, height: 14, width: 14, output_height: 7, output_width: 7 }
        }
        "linear_64x8_b1_nobias" => Shape::Dense { rows: 1, inputs: 64, outputs: 8, bias: false },
        other => panic!("no shape for the unit vector {other}"),
    }
}

#[test]
fn counts_and_energies_are_those_of_the_reference() {
    let Some(path) = development::development_data("theory/reference.json") else { return };
    let reference: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let costs = Costs::default();
    for (name, theirs) in reference["cases"].as_object().unwrap() {
        let operators = case(name);
        for (bits, width) in [(Bits::ThirtyTwo, "32bit"), (Bits::Sixteen, "16bit"), (Bits::Eight, "8bit")] {
            let ours = estimate(name, &operators, bits, &costs);
            counts_are(&ours.total, theirs, name);
            let what = format!("{name} {width}");
            let results = &theirs["results"];
            traffic_is(&ours.total, &ours.total.traffic.naive, &results[format!("{width}_naive")], &what);
            traffic_is(&ours.total, &ours.total.traffic.once, &results[format!("{width}_once")], &what);
        }
        let ours = estimate(name, &operators, Bits::ThirtyTwo, &costs);
        let Some(rows) = theirs["ops"].as_array() else { continue };
        assert_eq!(rows.len(), ours.operators.len(), "{name}");
        for (ours, theirs) in ours.operators.iter().zip(rows) {
            let what = format!("{name}: {}", ours.name);
            assert_eq!(theirs["op"], *ours.name, "{what}");
            counts_are(ours, theirs, &what);
            traffic_is(ours, &ours.traffic.naive, &theirs["naive_32bit"], &what);
            traffic_is(ours, &ours.traffic.once, &theirs["once_32bit"], &what);
        }
    }
}

#[test]
fn single_layers_are_those_of_the_reference() {
    let Some(path) = development::development_data("theory/reference.json") else { return };
    let reference: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for (name, theirs) in reference["unit_vectors_32bit"].as_object().unwrap() {
        let ours = estimate(name, &one(name, unit(name)), Bits::ThirtyTwo, &Costs::default()).total;
        counts_are(&ours, theirs, name);
        traffic_is(&ours, &ours.traffic.naive, &theirs["naive"], name);
        traffic_is(&ours, &ours.traffic.once, &theirs["once"], name);
    }
}
