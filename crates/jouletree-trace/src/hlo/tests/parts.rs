//! Where the time of instructions goes, computed by hand.

use jouletree_model::{Op, Pass};

use super::super::InstructionShare;
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
    let part = |path: &str, op_type: &str, pass, flops: f64| InstructionShare {
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
    assert_eq!(single(&found, "whole"), Op::new("a/tanh", "fusion:add", "whole", Pass::Forward));
    for name in ["moves", "nested"] {
        let parts = found.parts(name).expect("a fusion");
        let shares: Vec<(&str, f64)> = parts.iter().map(|part| (&*part.op.path, part.share)).collect();
        assert_eq!(shares, [("a/transpose", 0.25), ("b/slice", 0.25), ("b/transpose", 0.5)]);
        assert!(parts.iter().all(|part| part.op.approximate && &*part.op.name == name));
    }
}

#[test]
fn instructions_without_a_name_belong_to_what_uses_them() {
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
    // Its user is in no layer.
    assert_eq!(single(&found, "copy.1"), op("jit_step/copy", "copy", "copy.1"));
    assert_eq!(single(&found, "lonely"), op("jit_step/unnamed/copy", "copy", "lonely"));
    assert_eq!(single(&found, "loss"), op("jit_step/reduce_sum", "add", "loss"));
    assert_eq!(single(&found, "between"), Op { pass: Pass::Backward, ..op("d/copy", "copy", "between") });
    assert_eq!(single(&found, "top"), op("c/top_k", "custom-call:TopK", "top"));
}

#[test]
fn a_copy_of_a_weight_belongs_to_the_layer_that_needs_it_first() {
    let found = module([computation(
        1,
        [
            line(1, "weight", "parameter", &[8]).from("weight"),
            line(2, "copy.1", "copy", &[8]).takes(&[1]),
            line(3, "forward", "dot", &[8]).takes(&[2]).from("jit(f)/jvp(a)/dense/dot_general"),
            line(4, "gradient", "dot", &[8]).takes(&[2]).from("jit(f)/transpose(jvp(a))/dense/dot_general"),
            line(5, "update", "add", &[8]).takes(&[2]).from("jit(f)/optimizer/add"),
        ],
    )]);
    assert_eq!(single(&found, "copy.1"), Op::new("a/dense/copy", "copy", "copy.1", Pass::Forward));
}

#[test]
fn what_xla_expands_belongs_to_the_layer_it_is_expanded_for() {
    // The gradient of a maximum over windows, as XLA expands it on processors: positions, the position of each maximum,
    // a scatter. Only the last has a name; the first takes what `conv` made.
    let alone = |id, opcode: &str| computation(id, [line(1, &format!("in{id}"), opcode, &[64])]);
    let scatter = computation(
        5,
        [
            line(1, "index", "parameter", &[64]).number(9, 0),
            line(2, "scatter", "scatter", &[64])
                .takes(&[1])
                .from("jit(f)/transpose(jvp(pool))/select_and_scatter"),
            line(3, "seen", "add", &[64]).takes(&[2]).from("jit(f)/transpose(jvp(conv))/add"),
        ],
    );
    let found = module([
        alone(1, "iota"),
        alone(2, "iota"),
        alone(3, "reduce-window"),
        alone(4, "copy"),
        scatter,
        computation(
            6,
            [
                line(1, "x", "parameter", &[64]),
                line(2, "rows", "fusion", &[64]).calls(&[1]),
                line(3, "conv", "convolution", &[64]).takes(&[1]).from("jit(f)/jvp(conv)/conv"),
                line(4, "columns", "fusion", &[64]).calls(&[2]),
                line(5, "highest", "fusion", &[64]).takes(&[3, 2, 4]).calls(&[3]),
                line(6, "element", "get-tuple-element", &[64]).takes(&[5]),
                line(7, "loss", "add", &[]).takes(&[3]).from("jit(f)/jvp(square)/add"),
                // The name of this fusion is that of its last instruction.
                line(8, "back", "fusion", &[64]).takes(&[6]).calls(&[5]).from("jit(f)/transpose(jvp(conv))/add"),
                line(9, "laid", "fusion", &[64]).takes(&[8]).calls(&[4]),
                line(10, "result", "tuple", &[]).takes(&[7, 9]),
            ],
        ),
    ]);
    let op = |path: &str, op_type: &str, name: &str| Op::new(path, op_type, name, Pass::Backward);
    for name in ["rows", "columns"] {
        assert_eq!(single(&found, name), op("pool/iota", "fusion:iota", name));
    }
    assert_eq!(single(&found, "highest"), op("pool/reduce-window", "fusion:reduce-window", "highest"));
    // Before the result: with what made it, the last instruction of the fusion.
    assert_eq!(single(&found, "laid"), op("conv/copy", "fusion:copy", "laid"));
}

#[test]
fn instructions_without_a_name_inside_a_fusion_count_for_their_users() {
    let inside = computation(
        1,
        [
            line(1, "cheap", "add", &[10]).from("jit(f)/jvp(a)/add"),
            line(2, "heavy", "multiply", &[90]).takes(&[1]),
            line(3, "last", "copy", &[90]).takes(&[2]).from("jit(f)/transpose(jvp(b))/mul"),
        ],
    );
    let found = module([inside, computation(2, [line(1, "f", "fusion", &[90]).calls(&[1])])]);
    let parts = found.parts("f").expect("a fusion");
    let shares: Vec<(&str, Pass, f64)> =
        parts.iter().map(|part| (&*part.op.path, part.op.pass, part.share)).collect();
    assert_eq!(shares, [("a/add", Pass::Forward, 0.1), ("b/multiply", Pass::Backward, 0.9)]);
}

#[test]
fn containers_are_known_and_have_their_own_names() {
    let found = module([
        computation(1, [line(1, "dot.1", "dot", &[8]).from("jit(f)/while/body/cell/dot_general")]),
        computation(2, [line(1, "less", "compare", &[]).from("jit(f)/while/cond/lt")]),
        computation(3, [line(1, "inner", "while", &[8]).calls(&[1, 2]).from("jit(f)/while")]),
        computation(
            4,
            [
                line(1, "start", "copy", &[8]),
                line(2, "packed", "tuple", &[]).takes(&[1]),
                line(3, "outer", "call", &[8]).takes(&[2]).calls(&[3]),
                line(4, "loop", "while", &[8]).takes(&[2]).from("jit(f)/net/while"),
            ],
        ),
    ]);
    assert_eq!(single(&found, "inner"), Op::new("jit_step/while", "while", "inner", Pass::Forward));
    let (inner, outer) = (found.container("inner"), found.container("outer"));
    assert!(inner.is_some() && outer.is_some());
    assert_eq!(found.containers_around("dot.1"), [inner, outer].map(Option::unwrap_or_default));
    assert!(found.containers_around("outer").is_empty());
    assert_eq!((found.container("dot.1"), found.container("nothing")), (None, None));
}

#[test]
fn what_optax_wrote_is_the_optimizer() {
    // Frames refer to locations and these to files, from one on.
    let pair = |number| Message::new().integer(1, number);
    let frames = Message::new()
        .text(1, "/x/train.py")
        .text(1, "/lib/optax/_src/transform.py")
        .text(1, "/lib/optax/losses/_classification.py")
        .messages(3, [pair(1), pair(2), pair(3)])
        .messages(4, [pair(1), pair(2), pair(3)]);
    let at = |line: Line, op_name: &str, frame: i64| {
        Line(line.0.message(7, Message::new().text(2, op_name).integer(15, frame)))
    };
    let lines = [
        at(line(1, "own", "add", &[8]), "jit(f)/add", 1),
        at(line(2, "adam", "sqrt", &[8]), "jit(f)/sqrt", 2),
        at(line(3, "scoped", "add", &[8]), "jit(f)/update/add", 2),
        at(line(4, "loss", "log", &[8]), "jit(f)/jvp()/log", 3),
        at(line(5, "back", "add", &[8]), "jit(f)/transpose(jvp(a))/add", 2),
        at(line(6, "far", "add", &[8]), "jit(f)/add", 9),
        Line(
            line(7, "old", "add", &[8])
                .0
                .message(7, Message::new().text(2, "jit(f)/add").text(3, "/x/equinox/_update.py")),
        ),
    ];
    let named = Message::new().text(1, "jit_step").message(3, computation(1, lines)).message(17, frames);
    let found = HloModule::parse(&Message::new().message(1, named).0).expect("a module");
    for (name, path, pass) in [
        ("own", "jit_step/add", Pass::Forward),
        ("adam", "optimizer/sqrt", Pass::Optimizer),
        ("scoped", "update/add", Pass::Optimizer),
        ("loss", "jit_step/log", Pass::Forward),
        ("back", "a/add", Pass::Backward),
        ("far", "jit_step/add", Pass::Forward),
        ("old", "optimizer/add", Pass::Optimizer),
    ] {
        let op = single(&found, name);
        assert_eq!((&*op.path, op.pass), (path, pass), "{name}");
    }
}
