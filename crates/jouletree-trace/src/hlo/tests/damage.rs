//! Nothing in a file does harm.

use proptest::prelude::*;

use super::*;

#[test]
fn claims_that_cannot_be_are_left_out() {
    // An instruction that uses and calls itself, one that uses what comes later, ids that refer to nothing.
    let found = module([computation(
        1,
        [
            line(1, "self", "fusion", &[8]).takes(&[1, 2, 77, i64::MIN]).calls(&[1, 2, -9]),
            line(2, "later", "fusion", &[8]).takes(&[1]).calls(&[1]),
        ],
    )]);
    assert_eq!(found.parts("self").map(|parts| &*parts[0].op.path), Some("jit_step/unnamed/fusion"));
    let (_, edges) = drawn(&found, &["self", "later"]);
    assert_eq!(edges.len(), 1);
    for nothing in [&b""[..], b"\x0a\x00", b"\xff\xff\xff", b"\x0a\xff\xff\xff\xff\x0f", &hlo([])] {
        assert!(HloModule::parse(nothing).is_none(), "{nothing:?}");
    }
}

#[test]
fn shapes_nested_beyond_reason_end() {
    let mut shape = Message::new().integer(2, F32);
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

/// Names and opcodes of random instructions.
const OPCODES: [&str; 5] = ["fusion", "add", "copy", "while", "parameter"];
const NAMES: [&str; 6] =
    ["", "x", "jit(f)/jvp(a)/add", "jit(f)/transpose(jvp(a))/mul", "jit(f)/b/c/add", "jit(f)/jvp()/add"];

/// An instruction with any operands and any callees, there or not.
fn any_line() -> impl Strategy<Value = Line> {
    let ids = |most: i64| prop::collection::vec(0..most, 0..3);
    let kinds = (prop::sample::select(&OPCODES[..]), prop::sample::select(&NAMES[..]));
    (0..12_i64, kinds, 0..8_i64, ids(12), ids(6)).prop_map(|(id, (opcode, name), size, operands, called)| {
        line(id, &format!("i{id}{size}"), opcode, &[size]).takes(&operands).calls(&called).from(name)
    })
}

proptest! {
    #[test]
    fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        ask_everything(&bytes);
        ask_everything(&Message::new().text(1, &bytes).0);
        ask_everything(&hlo([Message(bytes)]));
    }

    #[test]
    fn damage_does_no_harm(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
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
        computations in prop::collection::vec(prop::collection::vec(any_line(), 0..8), 1..6)
    ) {
        let numbered = computations.into_iter().enumerate();
        ask_everything(&hlo(numbered.map(|(id, lines)| computation(id as i64, lines))));
    }
}

#[test]
fn claims_do_not_multiply_work() {
    // Many fusions that all claim the same large inside, and a chain of fusions in fusions.
    let inside = (0..5_000).map(|id| {
        line(id, &format!("i{id}"), "add", &[8]).takes(&[id - 1]).from(&format!("jit(f)/layer_{id}/add"))
    });
    let same = computation(0, inside);
    let chain = (1..3_000).map(|id| {
        let caller = line(1, &format!("chain.{id}"), "fusion", &[8]).calls(&[id - 1]);
        computation(id, [caller, line(2, &format!("add.{id}"), "add", &[8]).takes(&[1]).from("jit(f)/a/add")])
    });
    let all: Vec<i64> = (0..20_000).collect();
    let entry = all.iter().map(|id| line(*id, &format!("f{id}"), "fusion", &[8]).takes(&all[..9]).calls(&[0]));
    let found = module(std::iter::once(same).chain(chain).chain([computation(9_000, entry)]));
    let mut model = ModelTree::default();
    found.add_to(&mut model, &|_| true);
    let instructions = found.module.instructions.len();
    assert!(model.nodes().len() < 10 * instructions, "{}", model.nodes().len());
    assert!(model.edges().len() < 20 * instructions, "{}", model.edges().len());
}
