//! Modules made for the purpose, with parts, facts and edges computed by hand.

mod damage;
mod flops;
mod flow;
mod parts;
mod recorded;

use jouletree_model::{Facts, ModelTree, Op};

use test_support::proto::Message;

use super::HloModule;

const F32: i64 = 11;

/// An instruction that is being written; `id` is unique in its computation.
#[derive(Debug)]
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

/// Nodes with what is known about them, and edges, by the names of nodes.
type Drawn = (Vec<(String, Facts)>, Vec<(String, String)>);

/// What a module adds to a model when these instructions ran.
fn drawn(found: &HloModule, used: &[&str]) -> Drawn {
    let mut model = ModelTree::default();
    found.add_to(&mut model, &|name| used.contains(&name));
    let label = |op: &Op| format!("{}@{}", op.name, op.path);
    let nodes = model.nodes().map(|(_, op, facts)| (label(op), facts.clone())).collect();
    let end = |id| label(model.get(id).expect("an end of an edge").0);
    let mut edges: Vec<(String, String)> = model.edges().map(|edge| (end(edge.from), end(edge.to))).collect();
    edges.sort();
    (nodes, edges)
}
