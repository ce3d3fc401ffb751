//! Operations, counted by hand.

use super::*;

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
