//! Operations: the atoms of accounting, named by their path through the model.

use std::fmt;
use std::str::FromStr;

use indexmap::IndexSet;
use serde::{Deserialize, Serialize};

/// The part of a training step an operation belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pass {
    /// Computing the model's output, or anything that belongs to no other pass.
    #[default]
    Forward,
    /// Computing gradients.
    Backward,
    /// Updating the parameters.
    Optimizer,
}

/// A pass that is not one of [`Pass::ALL`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a pass; passes are forward, backward and optimizer")]
pub struct UnknownPass(String);

impl Pass {
    /// Every pass, in the order in which a training step goes through them.
    pub const ALL: [Pass; 3] = [Pass::Forward, Pass::Backward, Pass::Optimizer];

    /// Its name as it is written in files and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Pass::Forward => "forward",
            Pass::Backward => "backward",
            Pass::Optimizer => "optimizer",
        }
    }
}

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Pass {
    type Err = UnknownPass;
    fn from_str(text: &str) -> Result<Pass, UnknownPass> {
        Pass::ALL.into_iter().find(|pass| pass.as_str() == text).ok_or_else(|| UnknownPass(text.to_owned()))
    }
}

/// A tensor operation: its place in the model, what it computes and in which pass.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Op {
    /// The qualified tensor name: composite layers, then the tensor, separated by `/`. The same for the forward and
    /// the backward operation of a tensor.
    pub path: Box<str>,
    /// What it computes, in the framework's words: `MatMul`, `aten::addmm`, a kernel's name.
    #[serde(rename = "type")]
    pub op_type: Box<str>,
    /// The name the framework gave it, unchanged.
    pub name: Box<str>,
    /// The pass it belongs to.
    pub pass: Pass,
    /// Whether its time is a share of a longer event, by an approximate key: a part of a fused kernel.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approximate: bool,
}

impl Op {
    /// An operation whose time is its own.
    pub fn new(
        path: impl Into<Box<str>>,
        op_type: impl Into<Box<str>>,
        name: impl Into<Box<str>>,
        pass: Pass,
    ) -> Op {
        Op { path: path.into(), op_type: op_type.into(), name: name.into(), pass, approximate: false }
    }
}

/// The number of an operation in its [`OpTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OpId(pub u32);

impl OpId {
    /// The number as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The distinct operations of a trace, numbered from zero in the order in which they were first seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpTable {
    ops: IndexSet<Op>,
}

impl OpTable {
    /// The number of `op`, which is added if it is new.
    pub fn intern(&mut self, op: Op) -> OpId {
        let (index, _) = self.ops.insert_full(op);
        OpId(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// The operation with this number, if the table has it.
    pub fn get(&self, id: OpId) -> Option<&Op> {
        self.ops.get_index(id.index())
    }

    /// How many operations there are.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// All operations with their numbers, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (OpId, &Op)> {
        self.ops.iter().enumerate().map(|(index, op)| (OpId(index as u32), op))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_has_one_number() {
        let op = |path: &str, pass| Op::new(path, "MatMul", path, pass);
        let mut table = OpTable::default();
        let forward = table.intern(op("bert/dense/MatMul", Pass::Forward));
        let backward = table.intern(op("bert/dense/MatMul", Pass::Backward));
        assert_ne!(forward, backward);
        assert_eq!(table.intern(op("bert/dense/MatMul", Pass::Forward)), forward);
        assert_eq!(table.len(), 2);
        assert_eq!(table.get(backward).map(|op| op.pass), Some(Pass::Backward));
        assert_eq!(table.get(OpId(9)), None);
    }

    #[test]
    fn passes_are_read_as_they_are_written() {
        for pass in Pass::ALL {
            assert_eq!(pass.to_string().parse(), Ok(pass));
        }
        assert!("sideways".parse::<Pass>().is_err());
    }
}
