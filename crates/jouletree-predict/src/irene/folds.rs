//! What a predictor may learn from and what it is tried on: the ways of splitting measured trees.

use std::collections::BTreeSet;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::error::IreneError;
use super::tree::{Dataset, Level, Tree};

/// The most tokens a call may have to be learned from when sizes are held out.
const LARGEST_TRAINED_TOKENS: f64 = 2048.0;

/// A way of splitting trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Each model left out in turn, with the two leaks of the published code: the standardisation sees the model that is
    /// left out, and so do the leaf predictions of the training trees.
    Paper,
    /// Each model left out in turn, without leaks.
    LeakFree,
    /// All models of a family left out in turn. A family uses the same kinds of primitives.
    Family,
    /// Each model left out in turn and tried on larger calls than any that was learned from.
    Shape,
}

/// Which trees, by their place in the data, are learned from and which are tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fold {
    /// What is left out.
    pub name: String,
    /// Learned from.
    pub train: Vec<usize>,
    /// Tried.
    pub test: Vec<usize>,
    /// Loose leaves learned from, by their place among these.
    pub loose_train: Vec<usize>,
    /// Loose leaves tried.
    pub loose_test: Vec<usize>,
}

impl Fold {
    /// All trees learned from, loose leaves too.
    pub(crate) fn learned<'a>(&'a self, data: &'a Dataset) -> impl Iterator<Item = &'a Tree> {
        let loose = self.loose_train.iter().map(|&place| &data.loose_leaves[place]);
        self.train.iter().map(|&place| &data.trees[place]).chain(loose)
    }

    /// The loose leaves tried.
    pub(crate) fn loose_tried<'a>(&'a self, data: &'a Dataset) -> impl Iterator<Item = &'a Tree> {
        self.loose_test.iter().map(|&place| &data.loose_leaves[place])
    }
}

impl Protocol {
    /// All of them.
    pub const ALL: [Protocol; 4] = [Protocol::Paper, Protocol::LeakFree, Protocol::Family, Protocol::Shape];

    /// How it is called in output.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Paper => "paper",
            Protocol::LeakFree => "leak-free",
            Protocol::Family => "family",
            Protocol::Shape => "shape",
        }
    }

    /// What is left out, in words.
    pub fn meaning(self) -> &'static str {
        match self {
            Protocol::Paper => "each model left out in turn, with the leaks of the published code",
            Protocol::LeakFree => "each model left out in turn, without leaks",
            Protocol::Family => "all models with the same kinds of primitives left out in turn",
            Protocol::Shape => "each model left out in turn, and tried on more than 2048 tokens only",
        }
    }

    /// The folds of a data set, in the order of its models.
    pub fn folds(self, data: &Dataset) -> Result<Vec<Fold>, IreneError> {
        let groups: Vec<Vec<&str>> = match self {
            Protocol::Family => families(data),
            Protocol::Paper | Protocol::LeakFree | Protocol::Shape => {
                data.models().into_iter().map(|model| vec![model]).collect()
            }
        };
        let small = |tree: &Tree| tree.tokens() <= LARGEST_TRAINED_TOKENS;
        let mut folds = Vec::new();
        for group in groups {
            let out = |tree: &Tree| group.contains(&tree.model.as_str());
            let by_size = self == Protocol::Shape;
            let learned = |tree: &Tree| !out(tree) && (!by_size || small(tree));
            let tried = |tree: &Tree| out(tree) && (!by_size || !small(tree));
            let (train, test) = (places(&data.trees, learned), places(&data.trees, tried));
            let (loose_train, loose_test) =
                (places(&data.loose_leaves, learned), places(&data.loose_leaves, tried));
            if train.is_empty() {
                return Err(
                    self.none("train on", "measure more than one model, of more than one family, at small sizes")
                );
            }
            if !test.is_empty() {
                folds.push(Fold { name: group.join("+"), train, test, loose_train, loose_test });
            }
        }
        if folds.is_empty() {
            return Err(self.none("test on", "no call has more than 2048 tokens"));
        }
        Ok(folds)
    }

    fn none(self, purpose: &'static str, why: &str) -> IreneError {
        IreneError::NoFolds { protocol: self.name(), purpose, why: why.to_owned() }
    }
}

impl FromStr for Protocol {
    type Err = IreneError;

    fn from_str(text: &str) -> Result<Protocol, IreneError> {
        Protocol::ALL.into_iter().find(|protocol| protocol.name() == text).ok_or_else(|| IreneError::UnknownName {
            what: "protocol",
            name: text.to_owned(),
            known: Protocol::ALL.map(Protocol::name).join(", "),
        })
    }
}

fn places(trees: &[Tree], wanted: impl Fn(&Tree) -> bool) -> Vec<usize> {
    trees.iter().enumerate().filter(|(_, tree)| wanted(tree)).map(|(place, _)| place).collect()
}

fn families(data: &Dataset) -> Vec<Vec<&str>> {
    let mut families: Vec<(BTreeSet<&str>, Vec<&str>)> = Vec::new();
    for model in data.models() {
        let kinds: BTreeSet<&str> = data
            .trees
            .iter()
            .filter(|tree| tree.model == model)
            .flat_map(|tree| &tree.nodes)
            .filter(|node| node.level == Level::Leaf)
            .map(|node| node.kind.as_str())
            .collect();
        match families.iter_mut().find(|(known, _)| *known == kinds) {
            Some((_, models)) => models.push(model),
            None => families.push((kinds, vec![model])),
        }
    }
    families.into_iter().map(|(_, models)| models).collect()
}
