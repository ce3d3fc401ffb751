//! What is known of instructions that ran, and the edges between them.

use super::*;

#[test]
fn facts_of_parts_add_up_to_those_of_the_fusion() {
    let (nodes, _) = drawn(&module(mixed_fusion()), &["fusion.7"]);
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
fn data_goes_to_the_parts_that_compute_on_it() {
    let [addition, inside, _] = mixed_fusion();
    let entry = computation(
        3,
        [
            line(1, "x", "add", &[4, 8]).from("jit(f)/z/add"),
            line(3, "fusion.7", "fusion", &[2]).takes(&[1]).calls(&[2]),
            line(4, "y", "add", &[2]).takes(&[3]).from("jit(f)/z/add"),
        ],
    );
    let (_, edges) = drawn(&module([addition, inside, entry]), &["x", "fusion.7", "y"]);
    let edges: Vec<String> = edges.into_iter().map(|(from, to)| format!("{from} -> {to}")).collect();
    let wanted = [
        "fusion.7@a/b/add -> fusion.7@c/reduce_sum",
        "fusion.7@a/dot_general -> fusion.7@a/b/add",
        "fusion.7@c/reduce_sum -> y@z/add",
        "x@z/add -> fusion.7@a/dot_general",
    ];
    assert_eq!(edges, wanted);
}

#[test]
fn an_element_of_a_result_comes_from_the_part_that_makes_it() {
    let inside = computation(
        1,
        [
            line(1, "p0", "parameter", &[8]).number(9, 0),
            line(2, "p1", "parameter", &[8]).number(9, 1),
            line(3, "sum", "add", &[8]).takes(&[1, 1]).from("jit(f)/a/add"),
            line(4, "product", "multiply", &[8]).takes(&[2, 2]).from("jit(f)/b/mul"),
            line(5, "both", "tuple", &[]).takes(&[3, 4]),
        ],
    );
    let entry = computation(
        2,
        [
            line(1, "x", "parameter", &[8]).number(9, 0),
            line(2, "first", "negate", &[8]).takes(&[1]).from("jit(f)/first/neg"),
            line(3, "second", "negate", &[8]).takes(&[1]).from("jit(f)/second/neg"),
            line(4, "fusion.1", "fusion", &[]).takes(&[2, 3]).calls(&[1]),
            line(5, "one", "get-tuple-element", &[8]).takes(&[4]).number(13, 0),
            line(6, "other", "get-tuple-element", &[8]).takes(&[4]).number(13, 1),
            line(7, "c", "negate", &[8]).takes(&[5]).from("jit(f)/c/neg"),
            line(8, "d", "negate", &[8]).takes(&[6]).from("jit(f)/d/neg"),
        ],
    );
    let (_, edges) = drawn(&module([inside, entry]), &["first", "second", "fusion.1", "c", "d"]);
    let edges: Vec<String> = edges.into_iter().map(|(from, to)| format!("{from} -> {to}")).collect();
    let wanted = [
        "first@first/neg -> fusion.1@a/add",
        "fusion.1@a/add -> c@c/neg",
        "fusion.1@b/mul -> d@d/neg",
        "second@second/neg -> fusion.1@b/mul",
    ];
    assert_eq!(edges, wanted);
}
