//! The energy tree: the data of the energy distribution diagram (EDD), a footprint laid out along the model's layers.

use std::collections::HashMap;

use jouletree_model::{
    Device, ErrorSum, Interval, Joules, Nanos, Pass, PredictedInterval, PredictionInterval, Watts, sum_of_passes,
};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::flow::{Arrow, TensorEdge, arrows};
use crate::paths::{PathTree, components};
use crate::tef::add_errors;
use crate::{Shares, Spreads, Tef, TefEntry};

/// What the root of a tree is called.
const ROOT_NAME: &str = "(all)";

/// A layer or a tensor with everything inside it: `energy` is `own` and the energy of all children.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EnergyTree {
    /// The last component of its path; `(all)` for the root.
    pub name: String,
    /// Its path; empty for the root.
    pub path: String,
    /// What it used, everything inside included.
    pub energy: Joules,
    /// The 95 % interval of `energy`; `None` until [`EnergyTree::bounded`] sets it, and where it is unknown.
    pub interval: Option<Interval>,
    /// Where a prediction expects `energy` to be; `None` until [`EnergyTree::predicted`] adds it, and where that is not known.
    pub predicted: Option<PredictionInterval>,
    /// The standard error of `energy` by itself, apart from the common factor of each device that `interval` is about: by the
    /// covariances of powers, or in quadrature. `None` where that of any operation is not known.
    pub standard_error: Option<Joules>,
    /// How that error goes together with those of others; `None` where errors are independent.
    pub errors: Option<Box<ErrorSum>>,
    /// What the operations with exactly this path used.
    pub own: Joules,
    /// How long it was active, everything inside included.
    pub busy: Nanos,
    /// How many operations ran, everything inside included.
    pub count: u64,
    /// Whether an operation has exactly this path. Such a node may have children, too: a tensor's operands.
    pub is_operation: bool,
    /// What each pass used, everything inside included.
    pub passes: Shares<Pass>,
    /// What each device used, everything inside included.
    pub devices: Shares<Device>,
    /// What is inside, by energy descending, then by name.
    pub children: Vec<EnergyTree>,
    /// Data flow between its children.
    pub edges: Vec<Arrow>,
}

/// The energy tree of a footprint (T2E in the paper), with `edges` drawn where the paths of their ends part: as
/// arrows between two children of the lowest node that holds both ends.
///
/// Empty components of a path are dropped. A tree is at most 50 components deep: what is left of a longer path is
/// the name of its last node.
pub fn t2e(tef: &Tef, edges: &[TensorEdge]) -> EnergyTree {
    let mut paths = PathTree::new();
    let places: Vec<usize> = tef.entries().iter().map(|entry| paths.insert(&entry.path)).collect();

    let mut trees: Vec<EnergyTree> = Vec::with_capacity(paths.nodes().len());
    for node in paths.nodes() {
        let path = match trees.get(node.parent) {
            Some(parent) if !parent.path.is_empty() => format!("{}/{}", parent.path, node.name),
            _ => node.name.to_owned(),
        };
        trees.push(EnergyTree { name: node.name.to_owned(), path, ..EnergyTree::default() });
    }
    // Most nodes have one child or none: a vector left to grow by itself would reserve memory for four.
    let mut family = vec![0; trees.len()];
    for node in paths.nodes().iter().skip(1) {
        family[node.parent] += 1;
    }
    for (tree, children) in trees.iter_mut().zip(family) {
        tree.children.reserve_exact(children);
    }
    for (entry, place) in tef.entries().iter().zip(places) {
        trees[place].charge(entry);
    }
    for (place, arrow) in arrows(&paths, edges) {
        trees[place].edges.push(arrow);
    }

    // Children have higher numbers than their parents: from the back, a node is complete when its turn comes.
    let mut root = EnergyTree::default();
    while let Some(mut tree) = trees.pop() {
        tree.settle_errors();
        tree.children.sort_unstable_by(|a, b| b.energy.0.total_cmp(&a.energy.0).then_with(|| a.name.cmp(&b.name)));
        tree.edges.sort();
        let parent = paths.nodes()[trees.len()].parent;
        match trees.get_mut(parent) {
            Some(parent) => parent.adopt(tree),
            None => root = EnergyTree { name: ROOT_NAME.to_owned(), ..tree },
        }
    }
    root
}

impl EnergyTree {
    /// Whether it is a layer, drawn with round corners, and not a tensor.
    pub fn is_composite(&self) -> bool {
        !self.children.is_empty() && !self.is_operation
    }

    /// Its average power while it was active; `None` when it never was.
    pub fn power(&self) -> Option<Watts> {
        (self.busy > Nanos(0)).then(|| self.energy / self.busy)
    }

    /// Whether the standard error of any node is known.
    pub fn has_errors(&self) -> bool {
        self.standard_error.is_some() || self.children.iter().any(EnergyTree::has_errors)
    }

    /// Whether a prediction has an interval for any node.
    pub fn is_predicted(&self) -> bool {
        self.predicted.is_some() || self.children.iter().any(EnergyTree::is_predicted)
    }

    /// A node called `name` that represents several, without what is inside them.
    pub fn sum(name: String, nodes: &[&EnergyTree]) -> EnergyTree {
        let mut sum = EnergyTree { name, ..EnergyTree::default() };
        for node in nodes {
            sum.add(node);
        }
        sum.settle_errors();
        sum
    }

    /// The same tree with the interval of every node, as its devices have it.
    pub fn bounded(mut self, spreads: &Spreads) -> EnergyTree {
        self.interval = spreads.interval(&self.devices);
        self.children = self.children.into_iter().map(|child| child.bounded(spreads)).collect();
        self
    }

    /// The same tree with the interval of every node that a prediction has one for.
    pub fn predicted(self, intervals: &[PredictedInterval]) -> EnergyTree {
        if intervals.is_empty() {
            return self;
        }
        let mut by_path: HashMap<String, Vec<&PredictedInterval>> = HashMap::new();
        for known in intervals {
            let path: Vec<&str> = components(&known.path).collect();
            by_path.entry(path.join("/")).or_default().push(known);
        }
        self.with_predicted(&by_path)
    }

    fn with_predicted(mut self, by_path: &HashMap<String, Vec<&PredictedInterval>>) -> EnergyTree {
        let passes = by_path.get(&self.path).into_iter().flatten().copied();
        self.predicted = sum_of_passes(self.energy, passes.filter(|known| self.passes.get(&known.pass).0 != 0.0));
        self.children = self.children.into_iter().map(|child| child.with_predicted(by_path)).collect();
        self
    }

    fn charge(&mut self, entry: &TefEntry) {
        self.is_operation = true;
        self.own += entry.energy;
        let (mine, more) = ((self.energy, self.standard_error), (entry.energy, entry.standard_error));
        self.standard_error = add_errors((mine, &mut self.errors), (more, &entry.errors));
        self.energy += entry.energy;
        self.busy += entry.busy;
        self.count = self.count.saturating_add(entry.count);
        self.passes.add(&entry.pass, entry.energy);
        self.devices.add(&entry.device, entry.energy);
    }

    /// The standard error that covariances give, once all is added.
    fn settle_errors(&mut self) {
        if let Some(errors) = &self.errors {
            self.standard_error = Some(errors.standard_error());
        }
    }

    fn adopt(&mut self, child: EnergyTree) {
        self.add(&child);
        self.children.push(child);
    }

    fn add(&mut self, other: &EnergyTree) {
        let (mine, more) = ((self.energy, self.standard_error), (other.energy, other.standard_error));
        self.standard_error = add_errors((mine, &mut self.errors), (more, &other.errors));
        self.energy += other.energy;
        self.busy += other.busy;
        self.count = self.count.saturating_add(other.count);
        self.passes.add_all(&other.passes);
        self.devices.add_all(&other.devices);
    }
}

impl Serialize for EnergyTree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut node =
            serializer.serialize_struct("EnergyTree", 16 + usize::from(self.standard_error.is_some()))?;
        node.serialize_field("name", &self.name)?;
        node.serialize_field("path", &self.path)?;
        node.serialize_field("energy_j", &self.energy)?;
        node.serialize_field("low_j", &self.interval.map(|interval| interval.low))?;
        node.serialize_field("high_j", &self.interval.map(|interval| interval.high))?;
        for (name, end) in [("low_90_j", |ends: PredictionInterval| ends.low), ("high_90_j", |ends| ends.high)]
            as [(&'static str, fn(PredictionInterval) -> Joules); 2]
        {
            match self.predicted {
                Some(ends) => node.serialize_field(name, &end(ends))?,
                None => node.skip_field(name)?,
            }
        }
        match self.standard_error {
            Some(error) => node.serialize_field("standard_error_j", &error)?,
            None => node.skip_field("standard_error_j")?,
        }
        node.serialize_field("own_j", &self.own)?;
        node.serialize_field("busy_s", &self.busy.seconds())?;
        node.serialize_field("power_w", &self.power())?;
        node.serialize_field("count", &self.count)?;
        node.serialize_field("composite", &self.is_composite())?;
        node.serialize_field("passes", &self.passes)?;
        node.serialize_field("devices", &self.devices)?;
        node.serialize_field("children", &self.children)?;
        node.serialize_field("edges", &self.edges)?;
        node.end()
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
