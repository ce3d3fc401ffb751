//! Data flow between operations.

use serde::{Deserialize, Serialize};

use crate::OpId;

/// The output of one operation is an input of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DataFlow {
    /// The operation that makes the tensor.
    pub from: OpId,
    /// The operation that uses it.
    pub to: OpId,
}
