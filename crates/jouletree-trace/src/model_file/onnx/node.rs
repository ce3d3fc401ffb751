//! Nodes of an ONNX model as they are in the file.

use crate::kineto::module_path;
use crate::wire::{Fields, Value};

/// Under which key PyTorch's exporter keeps the modules that a node is from.
const SCOPES: &[u8] = b"pkg.torch.onnx.name_scopes";

/// A node as it is in the file.
#[derive(Default)]
pub(super) struct Node<'a> {
    pub(super) name: &'a [u8],
    pub(super) op_type: &'a [u8],
    pub(super) inputs: Vec<&'a [u8]>,
    pub(super) outputs: Vec<&'a [u8]>,
    scopes: &'a [u8],
    /// Graphs inside it: branches, loop bodies.
    pub(super) graphs: Vec<&'a [u8]>,
}

impl<'a> Node<'a> {
    pub(super) fn of(message: Fields<'a>) -> Node<'a> {
        let mut node = Node::default();
        for (field, value) in message {
            match field {
                1 => node.inputs.push(value.bytes()),
                2 => node.outputs.push(value.bytes()),
                3 => node.name = value.bytes(),
                4 => node.op_type = value.bytes(),
                5 => {
                    let graphs = value.message().filter(|(field, _)| matches!(field, 6 | 11));
                    node.graphs.extend(graphs.map(|(_, graph)| graph.bytes()));
                }
                9 => {
                    let entry =
                        |wanted| move |(field, value): (u64, Value<'a>)| (field == wanted).then(|| value.bytes());
                    if value.message().find_map(entry(1)) == Some(SCOPES) {
                        node.scopes = value.message().find_map(entry(2)).unwrap_or_default();
                    }
                }
                _ => {}
            }
        }
        node
    }

    /// The path of the module that it is from, if the exporter wrote it.
    pub(super) fn module(&self) -> Option<String> {
        module_in(self.scopes)
    }
}

/// The innermost module in `['', 'encoder', 'encoder.layer.0', 'linear_3']`, whose last is the operation.
fn module_in(scopes: &[u8]) -> Option<String> {
    let scopes = String::from_utf8_lossy(scopes);
    let list = scopes.trim().strip_prefix('[')?.strip_suffix(']')?;
    let names: Vec<&str> = list.split(',').map(|name| name.trim().trim_matches(['\'', '"'])).collect();
    let module = names.get(names.len().checked_sub(2)?)?;
    (!module.is_empty()).then(|| module_path(module))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_in_the_exporters_notes() {
        let scopes = b"['', 'encoder', 'encoder.layer.0', 'encoder.layer.0.dense', 'linear_3']";
        assert_eq!(module_in(scopes).as_deref(), Some("encoder/layer.0/dense"));
        for nothing in [&b"['', 'linear']"[..], b"['linear']", b"[]", b"", b"x", b"\xff"] {
            assert_eq!(module_in(nothing), None);
        }
    }
}
