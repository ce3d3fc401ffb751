//! The nodes of a `GraphDef`, looked up by name: what the labels of a step leave out or tell from hearsay.

use rustc_hash::FxHashMap;

use crate::wire::Fields;

/// The definitions of nodes, as they stand in graphs.
#[derive(Debug, Default)]
pub(super) struct Definitions<'a> {
    nodes: FxHashMap<&'a [u8], &'a [u8]>,
}

impl<'a> Definitions<'a> {
    /// The nodes of a graph.
    pub(super) fn of(graph: &'a [u8]) -> Definitions<'a> {
        let mut definitions = Definitions::default();
        definitions.add(graph);
        definitions
    }

    /// Adds the nodes of another graph.
    pub(super) fn add(&mut self, graph: &'a [u8]) {
        for (_, node) in Fields::new(graph).filter(|(field, _)| *field == 1) {
            if let Some((_, name)) = node.message().find(|(field, _)| *field == 1) {
                self.nodes.insert(name.bytes(), node.bytes());
            }
        }
    }

    /// The type and the inputs of a node.
    pub(super) fn get(&self, name: &[u8]) -> Option<(&'a [u8], impl Iterator<Item = &'a [u8]> + use<'a>)> {
        let node = Fields::new(self.nodes.get(name)?);
        let (_, op_type) = node.clone().find(|(field, _)| *field == 2)?;
        Some((op_type.bytes(), node.filter(|(field, _)| *field == 3).map(|(_, input)| input.bytes())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_found_by_name() {
        let graph =
            [&[0x0a, 12, 0x0a, 1, b'w', 0x12, 1, b'T', 0x1a, 1, b'x', 0x1a, 0][..], &[0x0a, 3, 0x0a, 1, b'v']];
        let graph = graph.concat();
        let definitions = Definitions::of(&graph);
        let (op_type, inputs) = definitions.get(b"w").unwrap();
        assert_eq!((op_type, inputs.collect::<Vec<_>>()), (&b"T"[..], vec![&b"x"[..], b""]));
        assert!(definitions.get(b"v").is_none());
        assert!(definitions.get(b"x").is_none());
    }
}
