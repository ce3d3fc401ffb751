//! The nodes of a `GraphDef`, looked up by name: what the labels of a step leave out or take from elsewhere.

use rustc_hash::FxHashMap;

use crate::wire::Fields;

/// The definitions of nodes, as they are in graphs.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    nodes: FxHashMap<Box<[u8]>, Definition>,
}

/// What a graph says about a node.
#[derive(Debug, Default)]
pub(super) struct Definition {
    pub(super) op_type: Box<[u8]>,
    inputs: Vec<Box<[u8]>>,
}

impl Definitions {
    /// The nodes of a graph.
    pub(super) fn of(graph: &[u8]) -> Definitions {
        let mut definitions = Definitions::default();
        definitions.add(graph);
        definitions
    }

    /// Adds the nodes of another graph.
    pub(super) fn add(&mut self, graph: &[u8]) {
        for (_, node) in Fields::new(graph).filter(|(field, _)| *field == 1) {
            let (mut name, mut definition) = (Default::default(), Definition::default());
            for (field, value) in node.message() {
                match field {
                    1 => name = value.bytes(),
                    2 => definition.op_type = value.bytes().into(),
                    3 => definition.inputs.push(value.bytes().into()),
                    _ => {}
                }
            }
            self.nodes.insert(name.into(), definition);
        }
    }

    /// The definition of a node, if it says what the node computes.
    pub(super) fn get(&self, name: &[u8]) -> Option<&Definition> {
        self.nodes.get(name).filter(|definition| !definition.op_type.is_empty())
    }
}

impl Definition {
    pub(super) fn inputs(&self) -> impl Iterator<Item = &[u8]> {
        self.inputs.iter().map(|input| &**input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_found_by_name() {
        let graph =
            [&[0x0a, 11, 0x0a, 1, b'w', 0x12, 1, b'T', 0x1a, 1, b'x', 0x1a, 0][..], &[0x0a, 3, 0x0a, 1, b'v']];
        let definitions = Definitions::of(&graph.concat());
        let node = definitions.get(b"w").unwrap();
        assert_eq!((&*node.op_type, node.inputs().collect::<Vec<_>>()), (&b"T"[..], vec![&b"x"[..], b""]));
        assert!(definitions.get(b"v").is_none());
        assert!(definitions.get(b"x").is_none());
    }
}
