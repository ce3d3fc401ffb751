//! A model as prediction sees it: its parts by path, from which its tree follows with the sizes of every node.

use std::collections::BTreeMap;

use jouletree_model::{Joules, ModelTree, Warning};

use super::parts::{self, ModelPart};
use crate::irene::{Level, Node, Resources, Seconds, Specs, Tree};
use crate::operators::{Found, Operator, module_path};

/// How many modules may be around a part.
const DEEPEST: usize = 100;

/// Whether scores, softmax and the sum over values of an attention are one primitive or three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttentionForm {
    /// As the source has it.
    Apart,
    /// One, as frameworks compute it that have a kernel for it.
    Fused,
}

/// A model at one batch size and one length of its sequences.
#[derive(Debug, Clone, PartialEq)]
pub struct Sketch {
    /// What it is called.
    pub name: String,
    /// Samples of a call.
    pub batch: u64,
    /// Tokens of a sample; 1 where there are none.
    pub sequence: u64,
    /// Its parts, in the order in which they run.
    pub parts: Vec<ModelPart>,
    /// The classes of its modules by path, where they are known.
    pub classes: BTreeMap<String, String>,
    /// What of it could not be sized.
    pub warnings: Vec<Warning>,
    /// Attentions whose three primitives are next to each other: the place of the first, and the fused one.
    attentions: Vec<(usize, ModelPart)>,
}

/// What was measured of a node, for one call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeEnergy {
    /// Its energy: of the whole machine where that was metered, else of the devices.
    pub energy: Joules,
    /// Its latency and what the devices counted, where the machine was metered beside them.
    pub device: Option<(Seconds, Joules)>,
}

impl Sketch {
    /// The sketch of a list of operators, as `estimate` finds them.
    pub fn of_operators(found: &Found, batch: u64, sequence: u64) -> Sketch {
        let path = |operator: &Operator| module_path(operator.name());
        let parts =
            found.operators.iter().map(|operator| ModelPart::of_operator(path(operator), operator)).collect();
        let queries: Vec<_> = found.operators.iter().map(parts::queries).collect();
        let mut sketch = Sketch {
            name: found.name.clone(),
            batch,
            sequence,
            parts,
            classes: BTreeMap::new(),
            warnings: found.warnings.clone(),
            attentions: Vec::new(),
        };
        sketch.attentions = (0..sketch.parts.len())
            .filter_map(|place| {
                let (sequences, tokens, width) = queries[place]?;
                let three = sketch.parts.get(place..place + 3)?;
                let is_attention = three[1].kind == "softmax" && three[2].kind == "matmul";
                let module = above(&three[0].path);
                let path = if module.is_empty() { "attention".to_owned() } else { format!("{module}/attention") };
                is_attention.then(|| (place, ModelPart::attention(path, sequences, tokens, width)))
            })
            .collect();
        sketch
    }

    /// The sketch of a model tree.
    pub fn of_tree(tree: &ModelTree, name: &str, batch: u64, sequence: u64) -> Sketch {
        let (parts, unknown) = parts::of_tree(tree);
        let classes = tree.nodes().filter(|(_, _, facts)| facts.is_module);
        let classes = classes.map(|(_, op, _)| (op.path.to_string(), op.op_type.to_string())).collect();
        let warnings = match unknown.as_slice() {
            [] => Vec::new(),
            [first, ..] => {
                let message = match unknown.len() {
                    1 => format!("`{first}` lacks its shape; its energy counts as glue of its module"),
                    count => format!(
                        "{count} operations lack shapes, such as `{first}`; their energy counts as glue of their \
                         modules"
                    ),
                };
                vec![Warning::new(name, message)]
            }
        };
        Sketch { name: name.to_owned(), batch, sequence, parts, classes, warnings, attentions: Vec::new() }
    }

    /// Whether there is anything to predict.
    pub fn has_primitives(&self) -> bool {
        self.parts.iter().any(|part| part.is_primitive)
    }

    /// The tree with the sizes of all nodes, and what was measured of them.
    pub fn tree(&self, form: AttentionForm, measured: impl Fn(&str) -> Option<NodeEnergy>) -> Tree {
        let parts = self.parts_in(form);
        let mut nodes: Vec<Node> = vec![node("", &self.name, Level::Model, None, &measured)];
        let mut places: BTreeMap<String, usize> = BTreeMap::from([(String::new(), 0)]);
        for part in &parts {
            let parent = self.place_of(above(&part.path), &mut nodes, &mut places, &measured);
            let mut at = Some(parent);
            while let Some(place) = at {
                add(&mut nodes[place].specs, &part.specs);
                at = nodes[place].parent;
            }
            if part.is_primitive {
                let mut leaf = node(&part.path, &part.kind, Level::Leaf, Some(parent), &measured);
                leaf.specs = part.specs;
                nodes.push(leaf);
            }
        }
        Tree::assemble(self.name.clone(), self.batch as f64, self.sequence as f64, nodes, 0)
    }

    /// The place of a module, which is made with all above it when it is new.
    fn place_of(
        &self,
        path: &str,
        nodes: &mut Vec<Node>,
        places: &mut BTreeMap<String, usize>,
        measured: &impl Fn(&str) -> Option<NodeEnergy>,
    ) -> usize {
        if let Some(place) = places.get(path) {
            return *place;
        }
        let parent = self.place_of(above(path), nodes, places, measured);
        let class = self.classes.get(path).map_or_else(|| class_of(path), String::clone);
        nodes.push(node(path, &class, Level::Module, Some(parent), measured));
        places.insert(path.to_owned(), nodes.len() - 1);
        nodes.len() - 1
    }

    fn parts_in(&self, form: AttentionForm) -> Vec<ModelPart> {
        let mut parts: Vec<Option<ModelPart>> = self.parts.iter().cloned().map(Some).collect();
        for (place, fused) in self.attentions.iter().filter(|_| form == AttentionForm::Fused) {
            parts[*place] = Some(fused.clone());
            parts[place + 1..place + 3].fill(None);
        }
        parts.into_iter().flatten().collect()
    }
}

fn node(
    path: &str,
    kind: &str,
    level: Level,
    parent: Option<usize>,
    measured: &impl Fn(&str) -> Option<NodeEnergy>,
) -> Node {
    let seen = measured(path);
    let resources = seen.and_then(|seen| seen.device).map(|(time, device_energy)| Resources {
        time,
        device_energy,
        ..Resources::default()
    });
    Node {
        scope: path.to_owned(),
        kind: kind.to_owned(),
        level,
        parent,
        children: Vec::new(),
        specs: Specs::default(),
        resources,
        measured: seen.map_or(Joules::ZERO, |seen| seen.energy),
    }
}

fn add(total: &mut Specs, part: &Specs) {
    total.parameters += part.parameters;
    total.megaflops += part.megaflops;
    total.mebibytes += part.mebibytes;
}

/// The path of the module around a part; empty for the model. What is nested deeper than any model is in the last
/// module that may be.
pub(super) fn above(path: &str) -> &str {
    match path.match_indices('/').nth(DEEPEST - 1) {
        Some((end, _)) => &path[..end],
        None => path.rsplit_once('/').map_or("", |(module, _)| module),
    }
}

/// What a module without a class is called: its name, without the number of its layer.
fn class_of(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let class = name.trim_end_matches(|letter: char| letter.is_ascii_digit()).trim_end_matches(['.', '_']);
    if class.is_empty() { name.to_owned() } else { class.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::builtin::Choice;
    use crate::operators::find;

    fn bert() -> Sketch {
        let choice = Choice { batch: Some(2), sequence: Some(16), layers: Some(3), ..Choice::default() };
        Sketch::of_operators(&find("bert", choice).unwrap(), 2, 16)
    }

    #[test]
    fn a_module_is_as_large_as_what_it_holds() {
        let tree = bert().tree(AttentionForm::Apart, |_| None);
        let root = tree.root().unwrap();
        let parts = bert().parts;
        let flops: f64 = parts.iter().map(|part| part.specs.megaflops).sum();
        assert!((root.specs.megaflops / flops - 1.0).abs() < 1e-12);
        assert_eq!(root.specs.parameters, parts.iter().map(|part| part.specs.parameters).sum::<f64>());
        let layer = tree.nodes.iter().find(|node| node.scope == "encoder/layer.1").unwrap();
        assert_eq!((layer.level, layer.kind.as_str()), (Level::Module, "layer"));
        let inside = parts.iter().filter(|part| part.path.starts_with("encoder/layer.1/"));
        let bytes: f64 = inside.map(|part| part.specs.mebibytes).sum();
        assert!((layer.specs.mebibytes / bytes - 1.0).abs() < 1e-12);
    }

    #[test]
    fn attention_is_one_primitive_or_three() {
        let kinds = |form| {
            let tree = bert().tree(form, |_| None);
            let attention = tree.nodes.iter().find(|node| node.scope == "encoder/layer.0/attention/self").unwrap();
            tree.children(attention).map(|child| child.kind.clone()).collect::<Vec<_>>()
        };
        assert_eq!(kinds(AttentionForm::Apart), ["linear", "linear", "linear", "matmul", "softmax", "matmul"]);
        assert_eq!(kinds(AttentionForm::Fused), ["linear", "linear", "linear", "attention"]);
    }

    #[test]
    fn what_was_measured_stands_at_its_node() {
        let tree = bert().tree(AttentionForm::Apart, |path| {
            (path == "pooler/dense")
                .then_some(NodeEnergy { energy: Joules(2.0), device: Some((Seconds(0.1), Joules(1.5))) })
        });
        let dense = tree.nodes.iter().find(|node| node.scope == "pooler/dense").unwrap();
        assert_eq!((dense.measured, dense.resources.unwrap().device_energy), (Joules(2.0), Joules(1.5)));
        assert!(tree.root().unwrap().resources.is_none());
    }

    #[test]
    fn no_path_is_too_deep() {
        let deep = vec!["a"; 50_000].join("/");
        let mut sketch = bert();
        sketch.attentions.clear();
        sketch.parts.truncate(1);
        sketch.parts[0].path = deep;
        let tree = sketch.tree(AttentionForm::Apart, |_| None);
        assert_eq!(tree.nodes.len(), 1 + DEEPEST + 1);
    }

    #[test]
    fn numbers_of_layers_are_no_classes() {
        assert_eq!(class_of("encoder/layer.11"), "layer");
        assert_eq!(class_of("h_3"), "h");
        assert_eq!(class_of("7"), "7");
    }
}
