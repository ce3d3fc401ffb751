//! Modules made for the purpose, with parts, facts and edges computed by hand.

use jouletree_model::{Facts, ModelTree, Op, Pass};
use proptest::prelude::*;

use super::{HloModule, Part};

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../tests/proto/mod.rs"]
mod proto;

use proto::Message;

const F32: i64 = 11;

/// An instruction that is being written; `id` is unique in its computation.
struct Line(Message);

fn line(id: i64, name: &str, opcode: &str, dimensions: &[i64]) -> Line {
    let shape = Message::new().integer(2, F32).packed(3, dimensions);
    Line(Message::new().text(1, name).text(2, opcode).message(3, shape).integer(35, id))
}

impl Line {
    fn from(self, op_name: &str) -> Line {
        Line(self.0.message(7, Message::new().text(2, op_name)))
    }

    fn takes(self, operands: &[i64]) -> Line {
        Line(self.0.packed(36, operands))
    }

    fn calls(self, computations: &[i64]) -> Line {
        Line(self.0.packed(38, computations))
    }

    fn number(self, field: u64, number: i64) -> Line {
        Line(self.0.integer(field, number))
    }
}

fn computation(id: i64, lines: impl IntoIterator<Item = Line>) -> Message {
    Message::new().messages(2, lines.into_iter().map(|line| line.0)).integer(5, id)
}

fn hlo(computations: impl IntoIterator<Item = Message>) -> Vec<u8> {
    Message::new().message(1, Message::new().text(1, "jit_step").messages(3, computations)).0
}

fn module(computations: impl IntoIterator<Item = Message>) -> HloModule {
    HloModule::parse(&hlo(computations)).expect("a module")
}

fn single(found: &HloModule, name: &str) -> Op {
    let parts = found.parts(name).expect("an instruction");
    assert_eq!(parts.len(), 1, "{parts:?}");
    assert_eq!(parts[0].share, 1.0);
    parts[0].op.clone()
}

/// A sum of two numbers, as reductions apply it.
fn addition(id: i64) -> Message {
    computation(
        id,
        [line(1, "l", "parameter", &[]), line(2, "r", "parameter", &[]), line(3, "s", "add", &[]).takes(&[1, 2])],
    )
}

/// A fusion of a dot product of one layer, an addition of another and a reduction of a third.
fn mixed_fusion() -> [Message; 3] {
    let dot = Message::new().packed(1, &[1]).packed(2, &[0]);
    let inside = computation(
        2,
        [
            line(1, "p0", "parameter", &[4, 8]).from("jit(f)/a/never"),
            line(2, "p1", "parameter", &[8, 2]),
            Line(line(3, "dot.1", "dot", &[4, 2]).takes(&[1, 2]).0.message(30, dot))
                .from("jit(f)/jvp(a)/dot_general"),
            line(4, "far", "broadcast", &[4, 2]).from("jit(f)/d/broadcast_in_dim"),
            line(5, "add.1", "add", &[4, 2]).takes(&[3, 4]).from("jit(f)/jvp(a)/b/add"),
            line(6, "add.2", "add", &[4, 2]).takes(&[5, 4]).from("jit(f)/jvp(a)/b/add"),
            line(7, "turned", "transpose", &[2, 4]).takes(&[6]).from("jit(f)/jvp(a)/b/transpose"),
            line(8, "sum.1", "reduce", &[2]).takes(&[7]).calls(&[1]).from("jit(f)/transpose(jvp(c))/reduce_sum"),
        ],
    );
    let entry = computation(
        3,
        [
            line(1, "x", "parameter", &[4, 8]).from("x"),
            line(2, "w", "parameter", &[8, 2]).from("p['w']"),
            line(3, "fusion.7", "fusion", &[2])
                .takes(&[1, 2])
                .calls(&[2])
                .from("jit(f)/transpose(jvp(c))/reduce_sum"),
        ],
    );
    [addition(1), inside, entry]
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
    let found = module([
        inside(
            1,
            vec![
                line(1, "m", "multiply", &[8]).from("jit(f)/jvp(a)/mul"),
                line(2, "t", "tanh", &[8]).takes(&[1]).from("jit(f)/jvp(a)/tanh"),
                line(3, "unnamed", "add", &[1000]).takes(&[2]),
            ],
        ),
        inside(
            2,
            vec![
                line(1, "c", "copy", &[8]).from("jit(f)/jvp(a)/transpose"),
                line(2, "d", "copy", &[800]).takes(&[1]).from("jit(f)/jvp(b)/transpose"),
                line(3, "e", "slice", &[8]).takes(&[2]).from("jit(f)/jvp(b)/slice"),
                line(4, "f", "copy", &[8]).takes(&[3]).from("jit(f)/jvp(b)/transpose"),
            ],
        ),
        inside(
            3,
            vec![
                line(1, "deep", "fusion", &[8]).calls(&[2]),
                line(2, "g", "bitcast", &[8]).takes(&[1]).from("jit(f)/jvp(z)/reshape"),
            ],
        ),
        computation(
            4,
            [
                line(1, "whole", "fusion", &[8]).calls(&[1]).from("jit(f)/jvp(a)/tanh"),
                line(2, "moves", "fusion", &[8]).calls(&[2]),
                line(3, "nested", "fusion", &[8]).calls(&[3]),
            ],
        ),
    ]);
    assert_eq!(single(&found, "whole"), Op::new("a/tanh", "fusion:tanh", "whole", Pass::Forward));
    for name in ["moves", "nested"] {
        let parts = found.parts(name).expect("a fusion");
        let shares: Vec<(&str, f64)> = parts.iter().map(|part| (&*part.op.path, part.share)).collect();
        assert_eq!(shares, [("a/transpose", 0.25), ("b/transpose", 0.5), ("b/slice", 0.25)]);
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

/// The facts and edges of a model, by the names of its nodes.
fn drawn(found: &HloModule, used: &[&str]) -> (Vec<(String, Facts)>, Vec<(String, String)>) {
    let mut model = ModelTree::default();
    found.add_to(&mut model, &|name| used.contains(&name));
    let label = |op: &Op| format!("{}@{}", op.name, op.path);
    let nodes = model.nodes().map(|(_, op, facts)| (label(op), facts.clone())).collect();
    let end = |id| label(model.get(id).expect("an end of an edge").0);
    let mut edges: Vec<(String, String)> = model.edges().map(|edge| (end(edge.from), end(edge.to))).collect();
    edges.sort();
    (nodes, edges)
}

#[test]
fn facts_of_parts_add_up_to_those_of_the_fusion() {
    let (nodes, edges) = drawn(&module(mixed_fusion()), &["fusion.7"]);
    let flops: Vec<Option<u64>> = nodes.iter().map(|(_, facts)| facts.flops).collect();
    assert_eq!(flops, [Some(128), Some(16), Some(8)]);
    assert_eq!(nodes.iter().filter_map(|(_, facts)| facts.output_bytes).sum::<u64>(), 8);
    for (_, facts) in &nodes {
        let shapes = |tensors: &[jouletree_model::TensorShape]| {
            tensors.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            (shapes(&facts.inputs).as_str(), shapes(&facts.outputs).as_str()),
            ("f32[4,8] f32[8,2]", "f32[2]")
        );
    }
    assert!(edges.is_empty(), "{edges:?}");
}

#[test]
fn data_flows_through_what_did_not_run() {
    let found = module([
        computation(
            1,
            [
                line(1, "state", "parameter", &[8]).number(9, 0),
                line(2, "taken", "get-tuple-element", &[8]).takes(&[1]).number(13, 0),
                line(3, "body.add", "add", &[8]).takes(&[2]).from("jit(f)/layer/add"),
            ],
        ),
        computation(
            2,
            [
                line(1, "x", "parameter", &[8]).number(9, 0),
                line(2, "first", "add", &[8]).takes(&[1]).from("jit(f)/a/add"),
                line(3, "second", "add", &[8]).takes(&[1]).from("jit(f)/b/add"),
                line(4, "pair", "tuple", &[]).takes(&[2, 3]),
                line(5, "one", "get-tuple-element", &[8]).takes(&[4]).number(13, 1),
                line(6, "cast", "bitcast", &[2, 4]).takes(&[5]),
                line(7, "third", "multiply", &[8]).takes(&[6, 6]).from("jit(f)/c/mul"),
                Line(
                    line(8, "loop", "while", &[8])
                        .takes(&[7])
                        .calls(&[1])
                        .0
                        .text(43, r#"{"known_trip_count":{"n":"5"}}"#),
                )
                .from("jit(f)/while"),
                line(9, "last", "add", &[8]).takes(&[8]).from("jit(f)/d/add"),
            ],
        ),
    ]);
    let edge = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    let all = ["first", "second", "third", "body.add", "last"];
    let (nodes, edges) = drawn(&found, &all);
    assert_eq!(nodes.len(), all.len());
    let wanted = [
        edge("second@b/add", "third@c/mul"),
        edge("third@c/mul", "body.add@layer/add"),
        edge("third@c/mul", "last@d/add"),
    ];
    assert_eq!(edges, wanted);
    // A loop counts its rounds unless they were traced one by one.
    let flops = |used: &[&str]| {
        drawn(&found, used).0.into_iter().find(|(name, _)| name.starts_with("loop")).map(|(_, facts)| facts.flops)
    };
    assert_eq!(flops(&["loop"]), Some(Some(40)));
    assert_eq!(flops(&["loop", "body.add"]), Some(None));
}

#[test]
fn an_edge_goes_to_every_part() {
    let [addition, inside, _] = mixed_fusion();
    let entry = computation(
        3,
        [
            line(1, "x", "add", &[4, 8]).from("jit(f)/z/add"),
            line(3, "fusion.7", "fusion", &[2]).takes(&[1]).calls(&[2]),
        ],
    );
    let (_, edges) = drawn(&module([addition, inside, entry]), &["x", "fusion.7"]);
    let ends: Vec<&str> = edges.iter().map(|(_, to)| to.as_str()).collect();
    assert_eq!(ends, ["fusion.7@a/b/add", "fusion.7@a/dot_general", "fusion.7@c/reduce_sum"]);
}

#[test]
fn operations_are_counted_by_what_an_instruction_does() {
    let convolution = Message::new().integer(4, 3).integer(3, 2).packed(6, &[0, 1]);
    let window =
        |sizes: &[i64]| Message::new().messages(1, sizes.iter().map(|size| Message::new().integer(1, *size)));
    let given = |id, dimensions: &[i64]| line(id, &format!("p{id}"), "parameter", dimensions);
    let found = module([
        addition(1),
        computation(
            2,
            [
                given(1, &[1, 10, 10, 6]),
                given(2, &[3, 3, 2, 12]),
                given(3, &[5, 64]),
                // 2 · outputs · kernel's height and width · input features of a group (6 in 3 groups).
                Line(line(4, "conv", "convolution", &[1, 8, 8, 12]).takes(&[1, 2]).0.message(16, convolution))
                    .number(50, 3),
                Line(
                    line(5, "pool", "reduce-window", &[1, 5, 5, 6])
                        .takes(&[1])
                        .calls(&[1])
                        .0
                        .message(15, window(&[1, 2, 2, 1])),
                ),
                line(6, "reduce", "reduce", &[5]).takes(&[3]).calls(&[1]),
                line(7, "scatter", "scatter", &[100]).takes(&[1, 2, 3]).calls(&[1]),
                Line(line(8, "sort", "sort", &[5, 64]).takes(&[3]).calls(&[1]).0.packed(14, &[1])),
                line(9, "tanh", "tanh", &[5, 64]).takes(&[3]),
                line(10, "convert", "convert", &[5, 64]).takes(&[3]),
                line(11, "custom", "custom-call", &[5, 64]).takes(&[3]),
                line(12, "new", "opcode-of-tomorrow", &[5, 64]).takes(&[3]),
                line(13, "huge", "add", &[i64::MAX, i64::MAX]),
                line(14, "unsized", "add", &[-1]),
                line(15, "dot", "dot", &[5, 5]).takes(&[3, 3]),
                line(16, "branch", "conditional", &[5]).takes(&[3]).calls(&[1]),
                line(17, "loop", "while", &[5]).takes(&[3]).calls(&[1]),
            ],
        ),
    ]);
    for (name, wanted) in [
        ("conv", Some(2 * (8 * 8 * 12) * 9 * 2)),
        ("pool", Some(5 * 5 * 6 * 4)),
        ("reduce", Some(320)),
        ("scatter", Some(320)),
        ("sort", Some(320 * 6)),
        ("tanh", Some(320)),
        ("convert", Some(0)),
        ("custom", None),
        ("new", None),
        ("huge", None),
        ("unsized", None),
        ("dot", None),
        ("branch", Some(1)),
        ("loop", None),
    ] {
        assert_eq!(found.flops[found.by_name[name]], wanted, "{name}");
    }
}

#[test]
fn claims_that_cannot_be_are_left_out() {
    // An instruction that uses and calls itself, one that uses what comes later, ids that stand for nothing.
    let found = module([computation(
        1,
        [
            line(1, "self", "fusion", &[8]).takes(&[1, 2, 77, i64::MIN]).calls(&[1, 2, -9]),
            line(2, "later", "fusion", &[8]).takes(&[1]).calls(&[1]),
        ],
    )]);
    assert_eq!(&*single(&found, "self").path, "jit_step/fusion");
    let (_, edges) = drawn(&found, &["self", "later"]);
    assert_eq!(edges.len(), 1);
    for nothing in [&b""[..], b"\x0a\x00", b"\xff\xff\xff", b"\x0a\xff\xff\xff\xff\x0f", &hlo([])] {
        assert!(HloModule::parse(nothing).is_none(), "{nothing:?}");
    }
}

#[test]
fn shapes_nested_beyond_reason_end() {
    let deep = (0..100_000).fold(Message::new().integer(2, F32), |_, _| Message::new());
    let mut shape = deep;
    for _ in 0..2_000 {
        shape = Message::new().integer(2, 13).message(4, shape);
    }
    let instruction = Message::new().text(1, "deep").text(2, "tuple").message(3, shape).integer(35, 1);
    let found = module([computation(1, [Line(instruction)])]);
    assert!(found.module.instructions[0].outputs.is_empty());
}

/// Everything that can be asked, asked; the shares of every instruction sum to one.
fn ask_everything(bytes: &[u8]) {
    let Some(found) = HloModule::parse(bytes) else { return };
    let names: Vec<Box<str>> = found.module.instructions.iter().map(|found| found.name.clone()).collect();
    for name in &names {
        let parts = found.parts(name).expect("an instruction has parts");
        let sum: f64 = parts.iter().map(|part| part.share).sum();
        assert!((sum - 1.0).abs() < 1e-12, "{name}: {sum}");
    }
    let mut model = ModelTree::default();
    found.add_to(&mut model, &|name| name.len() % 2 == 0);
}

proptest! {
    #[test]
    fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        ask_everything(&bytes);
        ask_everything(&Message::new().text(1, &bytes).0);
        ask_everything(&hlo([Message(bytes)]));
    }

    #[test]
    fn damage_does_no_harm(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), cut in any::<prop::sample::Index>()) {
        let mut bytes = hlo(mixed_fusion());
        ask_everything(&bytes[..cut.index(bytes.len())]);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        ask_everything(&bytes);
    }

    #[test]
    fn any_graph_has_parts_that_sum_to_one(
        shape in prop::collection::vec(
            (0..5_usize, 0..8_i64, prop::collection::vec(0..12_i64, 0..3), prop::collection::vec(0..6_i64, 0..3), 0..6_usize),
            1..40,
        )
    ) {
        const OPCODES: [&str; 5] = ["fusion", "add", "copy", "while", "parameter"];
        const NAMES: [&str; 6] = ["", "x", "jit(f)/jvp(a)/add", "jit(f)/transpose(jvp(a))/mul", "jit(f)/b/c/add", "jit(f)/jvp()/add"];
        let instruction = |(index, (opcode, size, operands, called, name)): (usize, &(usize, i64, Vec<i64>, Vec<i64>, usize))| {
            line((index % 12) as i64, &format!("i{index}"), OPCODES[*opcode], &[*size]).takes(operands).calls(called).from(NAMES[*name])
        };
        let lines: Vec<_> = shape.iter().enumerate().collect();
        let computations = lines.chunks(8).enumerate().map(|(id, chunk)| computation(id as i64, chunk.iter().copied().map(instruction)));
        ask_everything(&hlo(computations));
    }
}
