//! A measured tree: one model at one batch size and sequence length, its nodes kept children first so that one sweep
//! computes anything bottom-up and one sweep backwards computes anything top-down.

use jouletree_model::Joules;
use jouletree_model::Warning;
use serde::{Deserialize, Serialize};

use super::ours::Known;
use super::shapes::ProductShape;

/// A duration with a fraction: primitives last some ten microseconds, of which whole nanoseconds would lose digits.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seconds(pub f64);

/// Which of the three levels of a tree a node belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// A primitive that is measured as a whole.
    #[serde(rename = "ml")]
    Leaf,
    /// A module with children.
    Module,
    /// The root.
    Model,
}

/// What is known of a node without running it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Specs {
    /// Trainable numbers in the subtree.
    pub parameters: f64,
    /// Floating point operations of one call, in millions.
    pub megaflops: f64,
    /// Memory read and written by one call, in MiB.
    pub mebibytes: f64,
    /// The sides of a product, where the source has them; else they follow from the counts.
    pub product: Option<ProductShape>,
}

/// What was seen while the node ran alone in a loop.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Resources {
    /// Use of the host's processors, percent.
    pub cpu: f64,
    /// Use of the host's memory, percent.
    pub mem: f64,
    /// Use of the device, percent.
    pub gpu: f64,
    /// Use of the device's memory controller, percent.
    pub gpu_mem: f64,
    /// Clock of the device, MHz.
    pub gpu_clk: f64,
    /// Clock of the device's memory, MHz.
    pub gpu_mem_clk: f64,
    /// Latency of one call.
    pub time: Seconds,
    /// The device's own count of the energy of one call.
    pub device_energy: Joules,
}

/// One node of a tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The path in the model, without the class.
    pub scope: String,
    /// The class in lower case: the layouts do not agree on capitals.
    pub kind: String,
    /// Its level.
    pub level: Level,
    /// Its place above, `None` for the root.
    pub parent: Option<usize>,
    /// Its places below.
    pub children: Vec<usize>,
    /// Sizes.
    pub specs: Specs,
    /// Measurements besides the energy, where there are any.
    pub resources: Option<Resources>,
    /// The energy of one call of the whole machine, standby included.
    pub measured: Joules,
}

/// One model at one batch size and sequence length.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    /// The model's name.
    pub model: String,
    /// Sequences per call.
    pub batch_size: f64,
    /// Tokens per sequence.
    pub seq_len: f64,
    /// All nodes; every child precedes its parent and the root is the last.
    pub nodes: Vec<Node>,
}

/// Everything one device's file holds.
#[derive(Debug, Clone, Default)]
pub struct Dataset {
    /// The trees, models in the order of the file, then by batch size and sequence length.
    pub trees: Vec<Tree>,
    /// Primitives of calls of which nothing else was measured: nodes without parents, which still teach and test leaves.
    pub loose_leaves: Vec<Tree>,
    /// What was odd and what was done about it.
    pub warnings: Vec<Warning>,
}

impl Tree {
    /// Orders the nodes children first. `nodes` may come in any order with `parent` as a place in it; exactly the nodes
    /// that hang below `root` are kept, and `children` is filled.
    pub(crate) fn assemble(model: String, batch_size: f64, seq_len: f64, nodes: Vec<Node>, root: usize) -> Tree {
        let mut below = vec![Vec::new(); nodes.len()];
        for (place, node) in nodes.iter().enumerate() {
            if let Some(parent) = node.parent {
                below[parent].push(place);
            }
        }
        // Parents first with the last child first, turned round, is children first in the order of the file.
        let mut order = Vec::with_capacity(nodes.len());
        let mut waiting = vec![root];
        while let Some(place) = waiting.pop() {
            order.push(place);
            waiting.extend(&below[place]);
        }
        order.reverse();
        let mut new_place = vec![None; nodes.len()];
        for (new, &old) in order.iter().enumerate() {
            new_place[old] = Some(new);
        }
        let mut old_nodes: Vec<Option<Node>> = nodes.into_iter().map(Some).collect();
        let nodes = order
            .iter()
            .filter_map(|&old| {
                let mut node = old_nodes[old].take()?;
                node.parent = if old == root { None } else { node.parent.and_then(|parent| new_place[parent]) };
                node.children = below[old].iter().filter_map(|&child| new_place[child]).collect();
                Some(node)
            })
            .collect();
        Tree { model, batch_size, seq_len, nodes }
    }

    /// Tokens per call.
    pub fn tokens(&self) -> f64 {
        self.batch_size * self.seq_len
    }

    /// The root, unless the leaves are loose.
    pub fn root(&self) -> Option<&Node> {
        self.nodes.last().filter(|node| node.level == Level::Model)
    }

    /// The children of a node.
    pub fn children<'a>(&'a self, node: &'a Node) -> impl Iterator<Item = &'a Node> {
        node.children.iter().map(|&child| &self.nodes[child])
    }

    /// The same tree as if only the energy of nodes that `keep` accepts had a latency and a device energy.
    pub fn knowing(&self, keep: impl Fn(&Node) -> bool) -> Tree {
        let mut tree = self.clone();
        for node in &mut tree.nodes {
            if !keep(node) {
                node.resources = None;
            }
        }
        tree
    }

    /// How this tree is called in messages.
    pub fn title(&self) -> String {
        format!("{} (batch {}, length {})", self.model, self.batch_size, self.seq_len)
    }
}

impl Dataset {
    /// Whether utilisation, latency and device energy of every node are there.
    pub fn has_resources(&self) -> bool {
        self.has_what_is(Known::Everything)
    }

    /// Whether a method that may look at so much finds it in every tree.
    pub(crate) fn has_what_is(&self, known: Known) -> bool {
        let mut nodes = self.trees.iter().chain(&self.loose_leaves).flat_map(|tree| &tree.nodes);
        nodes.all(|node| match known {
            Known::Everything => node.resources.is_some(),
            Known::Leaves => node.level != Level::Leaf || node.resources.is_some(),
            Known::Sizes => true,
        })
    }

    /// The names of the models in the order of the file.
    pub fn models(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for tree in &self.trees {
            if !names.contains(&tree.model.as_str()) {
                names.push(&tree.model);
            }
        }
        names
    }
}
