//! A predicted tree as people look at it: equal layers are one branch.

use std::collections::BTreeMap;

use jouletree_model::{Joules, Pass, PredictionInterval};

use super::{Predicted, PredictedNode};
use crate::irene::Basis;

/// A node, or several that are equal, with what is inside.
#[derive(Debug, Clone)]
pub struct Branch {
    /// The name of the first and the last of them.
    pub name: String,
    /// What kind of module or operator it is.
    pub kind: String,
    /// How many equal nodes it represents.
    pub count: usize,
    /// What they take together, in every pass.
    pub energies: BTreeMap<Pass, Joules>,
    /// Within which that is, where it is known.
    pub interval: Option<PredictionInterval>,
    /// What is spent between its children.
    pub glue: Joules,
    /// What the prediction rests on.
    pub basis: Basis,
    /// Whether its size is outside of what was measured.
    pub is_outside: bool,
    /// What is inside.
    pub children: Vec<Branch>,
}

impl Branch {
    /// The tree of passes that were predicted for one model.
    pub fn of(passes: &[Predicted]) -> Option<Branch> {
        let (first, others) = passes.split_first()?;
        let more: Vec<(Pass, BTreeMap<&str, &PredictedNode>)> = others
            .iter()
            .map(|other| (other.pass, other.nodes.iter().map(|node| (node.path.as_str(), node)).collect()))
            .collect();
        let mut open: Vec<Branch> = Vec::new();
        for node in &first.nodes {
            close(&mut open, node.depth);
            open.push(branch(node, first, &more));
        }
        close(&mut open, 1);
        open.pop()
    }

    /// Whether it, or anything inside, has an interval.
    pub fn has_interval(&self) -> bool {
        self.interval.is_some() || self.children.iter().any(Branch::has_interval)
    }

    /// What it takes in all passes.
    pub fn energy(&self) -> Joules {
        self.energies.values().copied().sum()
    }

    fn is_like(&self, other: &Branch) -> bool {
        let each = |branch: &Branch| branch.energy().0 / branch.count as f64;
        let (a, b) = (each(self), each(other));
        self.kind == other.kind
            && self.children.len() == other.children.len()
            && (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
            && self.children.iter().zip(&other.children).all(|(a, b)| a.is_like(b))
    }

    fn take_in(&mut self, other: Branch) {
        self.count += other.count;
        for (pass, energy) in other.energies {
            *self.energies.entry(pass).or_default() += energy;
        }
        self.interval = together(self.interval, other.interval);
        self.glue += other.glue;
        self.is_outside |= other.is_outside;
        for (own, theirs) in self.children.iter_mut().zip(other.children) {
            own.take_in(theirs);
        }
    }
}

fn branch(node: &PredictedNode, first: &Predicted, more: &[(Pass, BTreeMap<&str, &PredictedNode>)]) -> Branch {
    let name = node.path.rsplit('/').next().unwrap_or_default();
    let mut branch = Branch {
        name: if name.is_empty() { first.model.clone() } else { name.to_owned() },
        kind: node.kind.clone(),
        count: 1,
        energies: BTreeMap::from([(first.pass, node.energy)]),
        interval: node.interval,
        glue: node.glue,
        basis: node.basis,
        is_outside: node.is_outside,
        children: Vec::new(),
    };
    for (pass, nodes) in more {
        if let Some(other) = nodes.get(node.path.as_str()) {
            branch.energies.insert(*pass, other.energy);
            branch.interval = together(branch.interval, other.interval);
            branch.glue += other.glue;
        }
    }
    branch
}

/// Two energies are at least and at most their bounds together.
fn together(a: Option<PredictionInterval>, b: Option<PredictionInterval>) -> Option<PredictionInterval> {
    Some(a?.together(b?))
}

/// Puts what is complete into what is around it, equal siblings into one.
fn close(open: &mut Vec<Branch>, depth: usize) {
    while open.len() > depth.max(1) {
        let Some(done) = open.pop() else { return };
        let Some(parent) = open.last_mut() else {
            open.push(done);
            return;
        };
        match parent.children.last_mut() {
            Some(before) if before.is_like(&done) && !before.children.is_empty() => {
                let first = before.name.split(" … ").next().unwrap_or_default().to_owned();
                before.name = format!("{first} … {}", done.name);
                before.take_in(done);
            }
            _ => parent.children.push(done),
        }
    }
}
