//! Where the time of instructions goes, computed by hand.

use jouletree_model::{Op, Pass};

use super::super::Part;
use super::*;

fn single(found: &HloModule, name: &str) -> Op {
    let parts = found.parts(name).expect("an instruction");
    assert_eq!(parts.len(), 1, "{parts:?}");
    assert_eq!(parts[0].share, 1.0);
    parts[0].op.clone()
}

#[test]
fn a_fusion_is_split_over_its_layers_by_operations() {
    let found = module(mixed_fusion());
    assert_eq!(found.name(), "jit_step");
    // 2·(4·2)·8 for the dot product, twice 4·2 for the additions, 2·4 for the reduction.
    let whole = 128.0 + 16.0 + 8.0;
    let part = |path: &str, op_type: &str, pass, flops: f64| Part {
        op: Op { approximate: true, ..Op::new(path, op_type, "fusion.7", pass) },
        share: flops / whole,
    };
    let wanted = [
        part("a/dot_general", "fusion:dot", Pass::Forward, 128.0),
        part("a/b/add", "fusion:add", Pass::Forward, 16.0),
        part("c/reduce_sum", "fusion:reduce", Pass::Backward, 8.0),
    ];
    assert_eq!(found.parts("fusion.7"), Some(&wanted[..]));
    assert_eq!(found.parts("nothing"), None);
}

#[test]
fn a_fusion_of_one_layer_stays_whole_and_one_that_only_moves_is_split_equally() {
    let inside = |id, lines| computation(id, lines);
    let moves = || {
        vec![
            line(1, "c", "copy", &[8]).from("jit(f)/jvp(a)/transpose"),
            line(2, "d", "copy", &[800]).takes(&[1]).from("jit(f)/jvp(b)/transpose"),
            line(3, "e", "slice", &[8]).takes(&[2]).from("jit(f)/jvp(b)/slice"),
            line(4, "f", "copy", &[8]).takes(&[3]).from("jit(f)/jvp(b)/transpose"),
        ]
    };
    let found = module([
        inside(
            1,
            vec![
                line(1, "m", "multiply", &[8]).from("jit(f)/jvp(a)/mul"),
                line(2, "t", "tanh", &[8]).takes(&[1]).from("jit(f)/jvp(a)/tanh"),
                line(3, "unnamed", "add", &[1000]).takes(&[2]),
            ],
        ),
        inside(2, moves()),
        inside(3, moves()),
        inside(
            4,
            vec![
                line(1, "deep", "fusion", &[8]).calls(&[3]),
                line(2, "g", "bitcast", &[8]).takes(&[1]).from("jit(f)/jvp(z)/reshape"),
            ],
        ),
        computation(
            5,
            [
                line(1, "whole", "fusion", &[8]).calls(&[1]).from("jit(f)/jvp(a)/tanh"),
                line(2, "moves", "fusion", &[8]).calls(&[2]),
                line(3, "nested", "fusion", &[8]).calls(&[4]),
            ],
        ),
    ]);
    assert_eq!(single(&found, "whole"), Op::new("a/tanh", "fusion:tanh", "whole", Pass::Forward));
    for name in ["moves", "nested"] {
        let parts = found.parts(name).expect("a fusion");
        let shares: Vec<(&str, f64)> = parts.iter().map(|part| (&*part.op.path, part.share)).collect();
        assert_eq!(shares, [("a/transpose", 0.25), ("b/slice", 0.25), ("b/transpose", 0.5)]);
        assert!(parts.iter().all(|part| part.op.approximate && &*part.op.name == name));
    }
}

#[test]
fn instructions_without_a_name_stand_beside_others() {
    let found = module([
        computation(1, [line(1, "inner", "multiply", &[8]), line(2, "scale", "multiply", &[8]).takes(&[1])]),
        computation(
            2,
            [
                line(1, "x", "parameter", &[8]).from("x"),
                line(2, "zero", "constant", &[]),
                line(3, "given", "fusion", &[8]).takes(&[2]).calls(&[1]),
                line(4, "q", "dot", &[8]).takes(&[1, 3]).from("jit(f)/jvp(a)/b/query/dot_general"),
                line(5, "k", "dot", &[8]).takes(&[1, 3]).from("jit(f)/jvp(a)/b/key/dot_general"),
                line(6, "cast", "bitcast", &[8]).takes(&[4]),
                line(7, "copy.1", "copy", &[8]).takes(&[6]).from("y"),
                line(8, "lonely", "copy", &[8]).takes(&[2]),
                line(9, "loss", "add", &[]).takes(&[7]).from("jit(f)/jvp()/reduce_sum"),
                line(10, "call", "custom-call", &[8]).takes(&[5]).calls(&[]).from("jit(f)/c/top_k"),
                line(11, "between", "copy", &[8]).takes(&[10]),
                line(12, "after", "add", &[8]).takes(&[11]).from("jit(f)/transpose(jvp(d))/add"),
                Line(line(13, "top", "custom-call", &[8]).takes(&[12]).0.text(28, "TopK")).from("jit(f)/c/top_k"),
            ],
        ),
    ]);
    let op = |path: &str, op_type: &str, name: &str| Op::new(path, op_type, name, Pass::Forward);
    assert_eq!(single(&found, "given"), op("a/b/multiply", "fusion:multiply", "given"));
    assert_eq!(single(&found, "copy.1"), op("a/b/query/copy", "copy", "copy.1"));
    assert_eq!(single(&found, "lonely"), op("jit_step/copy", "copy", "lonely"));
    assert_eq!(single(&found, "loss"), op("jit_step/reduce_sum", "add", "loss"));
    // Between layers that share none, with what it copies.
    assert_eq!(single(&found, "between"), op("c/copy", "copy", "between"));
    assert_eq!(single(&found, "top"), op("c/top_k", "custom-call:TopK", "top"));
}
