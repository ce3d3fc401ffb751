use std::collections::BTreeMap;

use jouletree_model::{Joules, Nanos, Pass};
use proptest::prelude::*;

use super::*;
use crate::samples::{entries, entry, forward};

/// The folded paths of forward operations of one joule each, with their energies.
fn folded<S: AsRef<str>>(paths: &[S]) -> BTreeMap<String, f64> {
    let tef = t2a(&forward(&paths.iter().map(|path| (path.as_ref(), 1.0)).collect::<Vec<_>>()));
    tef.entries().iter().map(|entry| (entry.path.to_string(), entry.energy.0)).collect()
}

fn expected<S: AsRef<str>>(sums: &[(S, f64)]) -> BTreeMap<String, f64> {
    sums.iter().map(|(path, sum)| (path.as_ref().to_owned(), *sum)).collect()
}

/// `paths` below each of the `blocks`.
fn inside<S: AsRef<str>>(blocks: &[S], paths: &[&str]) -> Vec<String> {
    blocks.iter().flat_map(|block| paths.iter().map(move |path| format!("{}/{path}", block.as_ref()))).collect()
}

#[test]
fn the_example_of_the_paper() {
    let tef = forward(&[
        ("bert/encoder/layer_0/output/dense/MatMul", 5.0),
        ("bert/encoder/layer_1/output/dense/MatMul", 3.0),
    ]);
    let stef = t2a(&tef);
    let [entry] = stef.entries() else { panic!("{stef:?}") };
    assert_eq!(&*entry.path, "bert/encoder/transformer/output/dense/MatMul");
    assert_eq!((&entry.name, entry.energy, entry.count), (&entry.path, Joules(8.0), 2));
    assert_eq!(entry.busy, Nanos(2_000_000_000));
}

#[test]
fn all_passes_follow_their_block() {
    let tef = Tef::new(vec![
        entry("encoder/layer_0/dense/MatMul", Pass::Forward, 1.0),
        entry("encoder/layer_1/dense/MatMul", Pass::Forward, 2.0),
        entry("encoder/layer_0/dense/MatMul", Pass::Backward, 4.0),
        entry("encoder/layer_1/dense/MatMul", Pass::Backward, 8.0),
        // Only one block has it, and only backward: that makes the blocks no less alike.
        entry("encoder/layer_1/grads/sum/AddN", Pass::Backward, 16.0),
        entry("encoder/layer_1/dense/kernel/Adam", Pass::Optimizer, 32.0),
    ]);
    let sums: Vec<(String, Pass, f64)> =
        t2a(&tef).entries().iter().map(|entry| (entry.path.to_string(), entry.pass, entry.energy.0)).collect();
    let at = |path: &str| format!("encoder/transformer/{path}");
    assert_eq!(
        sums,
        [
            (at("dense/kernel/Adam"), Pass::Optimizer, 32.0),
            (at("grads/sum/AddN"), Pass::Backward, 16.0),
            (at("dense/MatMul"), Pass::Backward, 12.0),
            (at("dense/MatMul"), Pass::Forward, 3.0),
        ]
    );
}

#[test]
fn a_block_without_a_forward_pass_is_judged_by_what_it_has() {
    let adam = |path: &str| entry(path, Pass::Optimizer, 1.0);
    let stef = t2a(&Tef::new(vec![adam("h.0/w/Mul"), adam("h.1/w/Mul"), adam("h.2/v/Mul")]));
    let paths: Vec<&str> = stef.entries().iter().map(|entry| &*entry.path).collect();
    assert_eq!(paths, ["h.*/w/Mul", "h.2/v/Mul"]);
}

#[test]
fn names_of_many_frameworks() {
    for (blocks, star) in [
        (["bert/encoder/layer.0", "bert/encoder/layer.1"], "bert/encoder/transformer"),
        (["vit/image_encoder/x/layer_0", "vit/image_encoder/x/layer_1"], "vit/image_encoder/x/transformer"),
        (["decoder/layer_0", "decoder/layer_1"], "decoder/layer_*"),
        (["transformer/h.3", "transformer/h.11"], "transformer/h.*"),
        (["model/layers.0", "model/layers.1"], "model/layers.*"),
        (["features/0", "features/3"], "features/*"),
        (["net/block-1", "net/block-2"], "net/block-*"),
        (["net/conv1", "net/conv2"], "net/conv*"),
        (["net/conv2d_6", "net/conv2d_7"], "net/conv2d_*"),
        (["encoder_layer_0", "encoder_layer_1"], "encoder_layer_*"),
    ] {
        let paths = inside(&blocks, &["attention/self/query/aten::addmm", "aten::add"]);
        let sums = [(format!("{star}/attention/self/query/aten::addmm"), 2.0), (format!("{star}/aten::add"), 2.0)];
        assert_eq!(folded(&paths), expected(&sums));
    }
}

#[test]
fn albert_folds_its_layers_and_keeps_its_single_groups() {
    let layers = ["bert/encoder/transformer/layer_0", "bert/encoder/transformer/layer_1"];
    let paths = inside(&layers, &["group_0/inner_group_0/ffn_1/intermediate/dense/einsum/Einsum"]);
    let sum = "bert/encoder/transformer/transformer/group_0/inner_group_0/ffn_1/intermediate/dense/einsum/Einsum";
    assert_eq!(folded(&paths), expected(&[(sum, 2.0)]));

    let groups = ["albert/encoder/albert_layer_groups.0", "albert/encoder/albert_layer_groups.1"];
    let paths = inside(&groups, &["albert_layers.0/ffn/aten::addmm"]);
    let sum = "albert/encoder/albert_layer_groups.*/albert_layers.0/ffn/aten::addmm";
    assert_eq!(folded(&paths), expected(&[(sum, 2.0)]));
}

#[test]
fn albert_of_tensorflow_folds_groups_whose_layers_are_numbered_on() {
    // TensorFlow numbers the scope of the group that all layers share; the layer in it has a number of its own.
    let layers = ["group_0/layer_0", "group_0_1/layer_1", "group_0_2/layer_2", "group_0_10/layer_10"];
    let layers = layers.map(|layer| format!("bert/encoder/transformer/{layer}/inner_group_0"));
    let paths = inside(&layers, &["ffn_1/intermediate/dense/einsum/Einsum", "attention_1/self/query/MatMul"]);
    let at = |path: &str| format!("bert/encoder/transformer/group_0_*/transformer/inner_group_0/{path}");
    let sums = [(at("ffn_1/intermediate/dense/einsum/Einsum"), 4.0), (at("attention_1/self/query/MatMul"), 4.0)];
    assert_eq!(folded(&paths), expected(&sums));
}

#[test]
fn a_layer_is_known_by_its_number_only_beside_others_of_its_name() {
    // The only numbered layer of each stage, however it is numbered; but not one beside another of its name.
    let paths = ["s1/conv1/x/X", "s2/conv2/x/X", "t1/conv1/x/X", "t1/conv2/y/X", "t2/conv2/x/X", "t2/conv3/y/X"];
    let kept = |path: &'static str| (path, 1.0);
    let sums = [("s*/conv*/x/X", 2.0), kept(paths[2]), kept(paths[3]), kept(paths[4]), kept(paths[5])];
    assert_eq!(folded(&paths), expected(&sums));
    // A layer without a number is the first of those with one only if it holds layers.
    let paths = ["m/dropout/Mul", "m/dropout_1/Mul", "n/block/a/X", "n/block_1/a/X"];
    let sums = [kept(paths[0]), kept(paths[1]), ("n/block_*/a/X", 2.0)];
    assert_eq!(folded(&paths), expected(&sums));
}

#[test]
fn a_single_block_joins_those_of_another_stage() {
    let mut paths = inside(&["stages.0/blocks.0", "stages.0/blocks.1"], &["attn/MatMul"]);
    paths.extend(inside(&["stages.1/blocks.0"], &["attn/MatMul"]));
    assert_eq!(folded(&paths), expected(&[("stages.*/blocks.*/attn/MatMul", 3.0)]));
}

#[test]
fn inner_runs_fold_first() {
    // The stages differ in how many blocks they have, and are alike once the blocks are folded.
    let mut paths = inside(&["stages.0/blocks.0", "stages.0/blocks.1"], &["attn/MatMul"]);
    paths.extend(inside(&["stages.1/blocks.0", "stages.1/blocks.1", "stages.1/blocks.2"], &["attn/MatMul"]));
    assert_eq!(folded(&paths), expected(&[("stages.*/blocks.*/attn/MatMul", 5.0)]));
}

#[test]
fn tensors_are_never_folded() {
    let paths = ["self/MatMul_1", "self/MatMul_2", "self/mul_1", "self/mul_1/y", "self/mul_2", "self/mul_2/y"];
    assert_eq!(folded(&paths), expected(&paths.map(|path| (path, 1.0))));
}

#[test]
fn what_is_left_of_a_fused_tensor_is_no_layer() {
    let operand = |path: &str| TefEntry { op_type: "ReadVariableOp".into(), ..entry(path, Pass::Forward, 1.0) };
    let paths = ["dense/MatMul_1/ReadVariableOp", "dense/MatMul_2/ReadVariableOp"];
    let tef = Tef::new(paths.map(operand).to_vec());
    assert_eq!(t2a(&tef), tef);
}

#[test]
fn blocks_that_lost_tensors_to_the_optimiser_are_alike() {
    let mut entries: Vec<TefEntry> = inside(
        &["bert/encoder/layer_0", "bert/encoder/layer_1"],
        &[
            "attention/self/query/MatMul",
            "attention/self/Softmax",
            "attention/self/dropout/Mul",
            "output/dense/MatMul",
        ],
    )
    .iter()
    .map(|path| entry(path, Pass::Forward, 1.0))
    .collect();
    for lost in ["ExpandDims", "mul_1", "mul_1/y", "dropout/Shape"] {
        entries.push(entry(&format!("bert/encoder/layer_1/attention/self/{lost}"), Pass::Forward, 1.0));
    }
    // `Mul` was fused with its neighbour; its constant is left.
    let constant = entry("bert/encoder/layer_1/attention/self/Mul/y", Pass::Forward, 1.0);
    entries.push(TefEntry { op_type: "Const".into(), ..constant });
    let stef = t2a(&Tef::new(entries));
    assert!(stef.entries().iter().all(|entry| entry.path.starts_with("bert/encoder/transformer/")), "{stef:?}");
    assert_eq!(stef.entries().len(), 9);
}

#[test]
fn blocks_that_differ_keep_their_names() {
    let different = ["net/block_0/conv/Conv2D", "net/block_1/pool/MaxPool"];
    assert_eq!(folded(&different), expected(&different.map(|path| (path, 1.0))));
    let leaves = ["net/block_0/Conv2D", "net/block_1/MaxPool"];
    assert_eq!(folded(&leaves), expected(&leaves.map(|path| (path, 1.0))));
    let depth = ["net/block_0/a/b/X", "net/block_1/a/c/X"];
    assert_eq!(folded(&depth), expected(&depth.map(|path| (path, 1.0))));
}

#[test]
fn only_the_largest_group_is_folded() {
    let mut paths = inside(&["h.0", "h.1", "h.10"], &["attn/MatMul"]);
    paths.extend(inside(&["h.2", "h.3"], &["mamba/Scan"]));
    let sums = [("h.*/attn/MatMul", 3.0), ("h.2/mamba/Scan", 1.0), ("h.3/mamba/Scan", 1.0)];
    assert_eq!(folded(&paths), expected(&sums));

    // Of two groups of one size, the one that comes first.
    let mut paths = inside(&["h.10", "h.11"], &["attn/MatMul"]);
    paths.extend(inside(&["h.2", "h.3"], &["mamba/Scan"]));
    let sums = [("h.*/mamba/Scan", 2.0), ("h.10/attn/MatMul", 1.0), ("h.11/attn/MatMul", 1.0)];
    assert_eq!(folded(&paths), expected(&sums));
}

#[test]
fn a_name_in_use_is_not_given_again() {
    let mut paths = inside(&["encoder/layer_0", "encoder/layer_1"], &["attn/MatMul"]);
    paths.push("encoder/transformer/other/Add".to_owned());
    assert_eq!(folded(&paths), expected(&paths.iter().map(|path| (path, 1.0)).collect::<Vec<_>>()));

    let mut paths = inside(&["encoder/layer.0", "encoder/layer.1"], &["attn/MatMul"]);
    paths.extend(inside(&["encoder/layer_0", "encoder/layer_1"], &["mlp/MatMul"]));
    let sums = [
        ("encoder/transformer/attn/MatMul", 2.0),
        ("encoder/layer_0/mlp/MatMul", 1.0),
        ("encoder/layer_1/mlp/MatMul", 1.0),
    ];
    assert_eq!(folded(&paths), expected(&sums));
}

#[test]
fn a_common_name_stays_and_types_stay_apart() {
    let kernel = |path: &str, op_type: &str| TefEntry {
        name: "volta_sgemm".into(),
        op_type: op_type.into(),
        ..entry(path, Pass::Forward, 1.0)
    };
    let stef = t2a(&Tef::new(vec![kernel("h.0/mm", "gemm"), kernel("h.1/mm", "gemm"), kernel("h.1/mm", "gemv")]));
    let found: Vec<(&str, &str, f64)> =
        stef.entries().iter().map(|entry| (&*entry.name, &*entry.op_type, entry.energy.0)).collect();
    assert_eq!(found, [("volta_sgemm", "gemm", 2.0), ("volta_sgemm", "gemv", 1.0)]);
}

#[test]
fn edges_follow_the_same_folding() {
    let tef = forward(&[("encoder/layer_0/a/X", 1.0), ("encoder/layer_1/a/X", 1.0), ("head/Y", 1.0)]);
    let edge = TensorEdge {
        from: "encoder/layer_1/a/X".into(),
        from_pass: Pass::Forward,
        to: "/head//Y".into(),
        to_pass: Pass::Forward,
    };
    let folding = Folding::of(&tef);
    let folded = folding.edges(std::slice::from_ref(&edge));
    assert_eq!(folded, [TensorEdge { from: "encoder/transformer/a/X".into(), to: "head/Y".into(), ..edge }]);
    // A tensor that used no energy goes with its block, too.
    assert_eq!(&*folding.path("encoder/layer_0/a/silent"), "encoder/transformer/a/silent");
}

#[test]
fn runs_that_become_alike_when_their_blocks_are_one_are_folded() {
    let paths = ["h.0/b.0/p", "h.0/b.1/q", "h.1/b.0/q", "h.1/b.1/p"];
    assert_eq!(folded(&paths), expected(&[("h.*/b.*/p", 2.0), ("h.*/b.*/q", 2.0)]));
}

#[test]
fn a_path_of_any_depth_is_folded() {
    let tail = vec!["x"; 100_000].join("/");
    let sum = format!("h.*/{tail}");
    assert_eq!(folded(&inside(&["h.0", "h.1"], &[&tail])), expected(&[(sum, 2.0)]));
}

proptest! {
    #[test]
    fn energy_is_conserved(entries in entries()) {
        let tef = Tef::new(entries);
        let stef = t2a(&tef);
        let close = |a: Joules, b: Joules| (a.0 - b.0).abs() <= 1e-12 * a.0.abs();
        prop_assert!(close(tef.total(), stef.total()));
        for (pass, energy) in tef.by_pass().iter() {
            prop_assert!(close(energy, stef.by_pass().get(pass)));
        }
        for (device, energy) in tef.by_device().iter() {
            prop_assert!(close(energy, stef.by_device().get(device)));
        }
    }

    #[test]
    fn the_summary_of_a_summary_is_itself(entries in entries()) {
        let stef = t2a(&Tef::new(entries));
        prop_assert_eq!(&t2a(&stef), &stef);
    }

    #[test]
    fn the_order_of_entries_does_not_matter(entries in entries(), turn in 0..60_usize) {
        let mut turned = entries.clone();
        turned.reverse();
        turned.rotate_left(turn.min(entries.len()));
        prop_assert_eq!(t2a(&Tef::new(entries)), t2a(&Tef::new(turned)));
    }
}
