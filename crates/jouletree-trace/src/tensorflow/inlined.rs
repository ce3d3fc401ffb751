//! Functions, loops and branches that TensorFlow has inlined: what they leave in names.
//!
//! A call of a function puts its own name before those of the operations inside (`StatefulPartitionedCall/net/add`). A loop
//! or a branch puts its name, its part and a number before names that are whole already:
//! `net/lstm/while/body/_45/net/lstm/while/cell/add`. The loop is no layer: what is inside belongs to `net/lstm/cell`.

use rustc_hash::FxHashSet;

use super::names::is_numbered;

/// What a function's arguments and results become.
const ENDS: [&str; 4] = ["input", "output", "input_control_node", "output_control_node"];

/// A name with the graphs apart that its parts belong to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Inlined<'a> {
    /// The scopes around the call of each function that was inlined, the outermost first.
    pub(crate) outer: Vec<Vec<&'a str>>,
    /// The name in the graph of the innermost function.
    pub(crate) own: Vec<&'a str>,
}

impl<'a> Inlined<'a> {
    /// Takes a name apart; the loops and branches in it are added to `loops`.
    pub(crate) fn of(name: &'a str, loops: &mut FxHashSet<String>) -> Inlined<'a> {
        let mut found = Inlined::default();
        let mut parts = name.split('/').peekable();
        while let Some(part) = parts.next() {
            let is_last = parts.peek().is_none();
            if !is_last && is_call(part) {
                if !found.own.is_empty() {
                    found.outer.push(std::mem::take(&mut found.own));
                }
            } else if !is_marker(part) {
                found.own.push(part);
            } else if !is_last {
                // `while/body`, `cond/then`: the part is not the loop's own.
                found.own.pop();
                loops.insert(found.path());
                // Arguments and results are named after the loop, everything else by its whole name.
                if parts.peek().is_some_and(|next| !ENDS.contains(next)) {
                    found.own.clear();
                }
            }
        }
        if found.own.is_empty() {
            found.own.push(name.rsplit('/').next().unwrap_or(name));
        }
        found
    }

    fn path(&self) -> String {
        let parts: Vec<&str> = self.outer.iter().flatten().chain(&self.own).copied().collect();
        parts.join("/")
    }
}

fn is_call(part: &str) -> bool {
    is_numbered(part, "StatefulPartitionedCall") || is_numbered(part, "PartitionedCall")
}

/// `_45`: the number of something inlined.
fn is_marker(part: &str) -> bool {
    part.strip_prefix('_').is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_are_told_apart() {
        for (name, outer, own, inside) in [
            ("net/mid/MatMul", vec![], "net/mid/MatMul", vec![]),
            ("StatefulPartitionedCall/net_1/mid_1/Relu", vec![], "net_1/mid_1/Relu", vec![]),
            ("StatefulPartitionedCall", vec![], "StatefulPartitionedCall", vec![]),
            ("net/block/PartitionedCall_2/MatMul", vec!["net/block"], "MatMul", vec![]),
            (
                "while/body/_1/while/cond/then/_143/while/cond/StatefulPartitionedCall/net_1/mid_1/Relu",
                vec!["while/cond"],
                "net_1/mid_1/Relu",
                vec!["while", "while/cond"],
            ),
            (
                "StatefulPartitionedCall/net_1/a_1/while/body/_45/net_1/a_1/while/cell_1/split",
                vec![],
                "net_1/a_1/while/cell_1/split",
                vec!["net_1/a_1/while"],
            ),
            ("net/a/while/enter/_7", vec![], "net/a/while/enter", vec![]),
            ("net/a/while/body/_1/input/_45", vec![], "net/a/while/input", vec!["net/a/while"]),
            ("_1", vec![], "_1", vec![]),
            ("a//_1/b", vec![], "b", vec!["a"]),
        ] {
            let mut loops = FxHashSet::default();
            let found = Inlined::of(name, &mut loops);
            let joined: Vec<String> = found.outer.iter().map(|parts| parts.join("/")).collect();
            assert_eq!(joined, outer, "{name}");
            assert_eq!(found.own.join("/"), own, "{name}");
            let mut loops: Vec<String> = loops.into_iter().collect();
            loops.sort();
            assert_eq!(loops, inside, "{name}");
        }
    }
}
