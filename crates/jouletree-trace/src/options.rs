//! What a user can say about a trace file that the file itself does not.

use jouletree_model::{ModelTree, Nanos};

/// How trace files are read.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// When the clock of a file began that does not say itself.
    pub base: Option<Nanos>,
    /// The model that ran: says where operations are whose names do not, and how data flows between them.
    pub model: ModelTree,
    /// Whether to take a census of everything in the file.
    pub census: bool,
}
