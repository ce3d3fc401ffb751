//! Finds the self-similar blocks of a model: siblings that are numbered and built alike, such as the `layer_0` …
//! `layer_11` of an encoder.
//!
//! Blocks are alike when they hold the same layers. Where there are layers, tensors do not count: a graph optimiser
//! takes away one here and there (one layer of BERT computes the attention mask for all), and no two blocks would be
//! alike leaf by leaf. Nor does the backward pass count: what it computes depends on the position of the block. Nor does the
//! number of a layer that is the only one of its name in its block: the groups of ALBERT hold `layer_0`, `layer_1`, ….

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use jouletree_model::Pass;
use rustc_hash::FxHashMap;

use crate::TefEntry;
use crate::paths::{PathTree, ROOT, components};

/// Operations that only hand a value to another. A path under which there is nothing else was a tensor that the
/// graph optimiser fused into its neighbour, not a layer.
const OPERANDS: [&str; 4] = ["Const", "ReadVariableOp", "VarHandleOp", "VariableV2"];

/// What the paper calls the folded `layer_0`, `layer_1`, … of an encoder.
const TRANSFORMER: &str = "transformer";

/// The number of the skeleton without layers.
const NO_LAYERS: usize = 0;

/// What is known of one operation.
pub(crate) struct Sighting<'a> {
    pub path: Cow<'a, str>,
    pub is_forward: bool,
    pub op_type: &'a str,
}

impl<'a> From<&'a TefEntry> for Sighting<'a> {
    fn from(entry: &'a TefEntry) -> Sighting<'a> {
        let is_forward = entry.pass == Pass::Forward;
        Sighting { path: Cow::Borrowed(&entry.path), is_forward, op_type: &entry.op_type }
    }
}

/// The new last component of every path that is folded.
pub(crate) type Renames = FxHashMap<String, String>;

/// `path` after folding; empty components are dropped.
pub(crate) fn renamed(path: &str, renames: &Renames) -> String {
    let (mut before, mut after) = (String::new(), String::new());
    for part in components(path) {
        push(&mut before, part);
        push(&mut after, renames.get(&before).map_or(part, String::as_str));
    }
    after
}

/// The numbered siblings among `ops` that are alike, each with the name they share.
pub(crate) fn repeated(ops: &[Sighting<'_>]) -> Renames {
    let mut tree = PathTree::new();
    let places: Vec<usize> = ops.iter().map(|op| tree.insert(&op.path)).collect();
    let mut model = Model::new(&tree);
    for (op, place) in ops.iter().zip(places) {
        model.see(place, op);
    }
    // Children have higher numbers than their parents: from the back, inner runs are folded before outer ones.
    for node in (0..model.nodes.len()).rev() {
        model.fold_children(node);
        model.settle(node);
    }
    let rename = |(node, facts): (usize, &Node)| facts.folded.clone().map(|folded| (model.path(node), folded));
    model.nodes.iter().enumerate().filter_map(rename).collect()
}

/// The tree of paths and what is known of its nodes.
struct Model<'a> {
    tree: &'a PathTree<'a>,
    nodes: Vec<Node>,
    /// Every set of layers seen so far, with its number.
    skeletons: FxHashMap<Vec<(String, usize)>, usize>,
}

/// What is known of one node; all but `is_operation` and `folded` is about everything inside it.
#[derive(Clone, Default)]
struct Node {
    is_operation: bool,
    has_forward: bool,
    /// Whether something other than an operand is in the forward pass, and in any pass.
    works_forward: bool,
    works: bool,
    children: Vec<usize>,
    /// The number of its set of layers.
    skeleton: usize,
    /// Its name after folding.
    folded: Option<String>,
}

impl Node {
    /// Whether it is a composite layer and not a tensor with its operands.
    fn is_layer(&self) -> bool {
        !self.is_operation && if self.has_forward { self.works_forward } else { self.works }
    }
}

impl<'a> Model<'a> {
    fn new(tree: &'a PathTree<'a>) -> Model<'a> {
        let nodes = vec![Node::default(); tree.nodes().len()];
        Model { tree, nodes, skeletons: FxHashMap::from_iter([(Vec::new(), NO_LAYERS)]) }
    }

    fn see(&mut self, place: usize, op: &Sighting<'_>) {
        let works = !OPERANDS.contains(&op.op_type);
        let node = &mut self.nodes[place];
        node.is_operation = true;
        node.has_forward |= op.is_forward;
        node.works_forward |= op.is_forward && works;
        node.works |= works;
    }

    /// Gives the children of a node that are numbered and alike one name.
    fn fold_children(&mut self, node: usize) {
        let mut runs: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for &child in self.nodes[node].children.iter().filter(|child| self.nodes[**child].is_layer()) {
            if let Some(stem) = stem(self.name(child)) {
                runs.entry(stem).or_default().push(child);
            }
        }
        let mut taken = Vec::new();
        for (stem, mut run) in runs {
            run.extend(self.unnumbered(node, stem));
            let folded = self.folded_name(node, stem);
            // A name that is in use stays with who has it: blocks that differ are never mixed.
            let alike = match self.tree.child(node, &folded) {
                Some(block) => self.alike(run, block),
                None => Some(self.largest_alike(run)).filter(|alike| alike.len() >= 2).unwrap_or_default(),
            };
            if alike.is_empty() || taken.contains(&folded) {
                continue;
            }
            for block in alike {
                self.nodes[block].folded = Some(folded.clone());
            }
            taken.push(folded);
        }
    }

    /// The first block of a run, where it has no number: TensorFlow calls a scope `group` and then `group_1`, `group_2`.
    fn unnumbered(&self, parent: usize, stem: &str) -> Option<usize> {
        let first = self.tree.child(parent, stem.strip_suffix('_')?)?;
        let Node { skeleton, folded, .. } = &self.nodes[first];
        (self.nodes[first].is_layer() && *skeleton != NO_LAYERS && folded.is_none()).then_some(first)
    }

    /// The blocks of a run that are like `block`.
    fn alike(&self, mut run: Vec<usize>, block: usize) -> Vec<usize> {
        let like = self.likeness(block);
        run.retain(|other| *other != block && self.nodes[block].is_layer() && self.likeness(*other) == like);
        run
    }

    /// What blocks that are alike have in common.
    fn likeness(&self, block: usize) -> (usize, Vec<&'a str>) {
        (self.nodes[block].skeleton, self.leaves(block))
    }

    /// The most blocks of a run that are alike; among as many, those that come first.
    fn largest_alike(&self, run: Vec<usize>) -> Vec<usize> {
        let mut groups: FxHashMap<_, Vec<usize>> = FxHashMap::default();
        for block in run {
            groups.entry(self.likeness(block)).or_default().push(block);
        }
        // Among numbers with the same stem, the shorter is the smaller.
        let place = |block: &usize| (self.name(*block).len(), self.name(*block));
        let key = |group: &Vec<usize>| (group.len(), Reverse(group.iter().map(place).min()));
        groups.into_values().max_by(|a, b| key(a).cmp(&key(b))).unwrap_or_default()
    }

    /// The names inside a block that has no layers; nothing for others.
    fn leaves(&self, block: usize) -> Vec<&'a str> {
        if self.nodes[block].skeleton != NO_LAYERS {
            return Vec::new();
        }
        let mut names: Vec<&str> = self.judged(block).map(|child| self.name(child)).collect();
        names.sort_unstable();
        names
    }

    /// Numbers the set of layers of a node whose children are folded, and returns to its parent what is inside.
    fn settle(&mut self, node: usize) {
        let layers = || self.judged(node).filter(|child| self.nodes[*child].is_layer());
        let mut numbered: FxHashMap<&str, usize> = FxHashMap::default();
        for stem in layers().filter_map(|child| stem(self.name(child))) {
            *numbered.entry(stem).or_default() += 1;
        }
        let name = |child: usize| match (&self.nodes[child].folded, stem(self.name(child))) {
            (Some(folded), _) => folded.clone(),
            (None, Some(stem)) if numbered[stem] == 1 => self.folded_name(node, stem),
            _ => self.name(child).to_owned(),
        };
        let mut skeleton: Vec<(String, usize)> =
            layers().map(|child| (name(child), self.nodes[child].skeleton)).collect();
        skeleton.sort_unstable();
        skeleton.dedup();
        let next = self.skeletons.len();
        self.nodes[node].skeleton = *self.skeletons.entry(skeleton).or_insert(next);

        if node != ROOT {
            let Node { has_forward, works_forward, works, .. } = self.nodes[node];
            let parent = &mut self.nodes[self.tree.nodes()[node].parent];
            parent.has_forward |= has_forward;
            parent.works_forward |= works_forward;
            parent.works |= works;
            parent.children.push(node);
        }
    }

    /// The children that say what a node is like: those in the forward pass, if there are any.
    fn judged(&self, node: usize) -> impl Iterator<Item = usize> {
        let Node { has_forward, children, .. } = &self.nodes[node];
        children.iter().copied().filter(move |child| !has_forward || self.nodes[*child].has_forward)
    }

    fn folded_name(&self, parent: usize, stem: &str) -> String {
        let is_layer = stem.strip_suffix(SEPARATORS).unwrap_or(stem) == "layer";
        if is_layer && self.lineage(parent).any(|name| name.ends_with("encoder")) {
            TRANSFORMER.to_owned()
        } else {
            format!("{stem}*")
        }
    }

    fn name(&self, node: usize) -> &'a str {
        self.tree.nodes()[node].name
    }

    /// The names of a node and of all above it, the lowest first.
    fn lineage(&self, node: usize) -> impl Iterator<Item = &'a str> {
        let parent = |node: &usize| Some(self.tree.nodes()[*node].parent);
        std::iter::successors(Some(node), parent).take_while(|node| *node != ROOT).map(|node| self.name(node))
    }

    fn path(&self, node: usize) -> String {
        let mut names: Vec<&str> = self.lineage(node).collect();
        names.reverse();
        names.join("/")
    }
}

/// What may come between a stem and its number.
const SEPARATORS: [char; 3] = ['_', '.', '-'];

/// What is before the number at the end of a name, its separator included; `None` when it does not end in a number.
fn stem(name: &str) -> Option<&str> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (stem.len() < name.len()).then_some(stem)
}

fn push(path: &mut String, part: &str) {
    if !path.is_empty() {
        path.push('/');
    }
    path.push_str(part);
}
