//! Finds the calls of libraries in Python programs and writes hooks around them, by insertion alone: without the inserted
//! text a patched file is its original, byte for byte. Bytes go in, edits and sites come out; files are others' business:
//! who has a [`Project`] patched says where the bytes of a file that another imports come from.
//!
//! A call `callee(arguments)` becomes `__jouletree_call__(7, callee)(arguments)`. So the callee is evaluated first and once,
//! the arguments once, in their order and by the caller, and nothing is moved into another scope: `await`, `yield`,
//! `super()`, assignments by `:=` and stars mean what they meant.
//!
//! - `project` follows imports from file to file, `links` keeps what they mean, `source` is one file;
//! - `syntax` knows the parser and makes `tree`;
//! - `scopes`, `values`, `resolve` and `walk` find out what names refer to; `knowledge` knows frameworks;
//! - `fecom` decides as FECoM does instead;
//! - `patch`, `header` and `notebook` insert, `undo` removes; `text` knows encodings.

mod error;
mod fecom;
mod header;
mod knowledge;
mod links;
mod nesting;
mod notebook;
mod patch;
mod project;
mod resolve;
mod scopes;
mod source;
mod syntax;
mod text;
mod tree;
mod undo;
mod unparse;
mod values;
mod walk;

pub use error::PatchError;
pub use notebook::{patch_notebook, unpatched_notebook};
pub use patch::{Edit, Patch, Site, patch_script};
pub use project::{Files, NoFiles, Patched, Project};
pub use undo::unpatched_script;

/// Whose calls are looked for when nothing is said, each with its sub-packages.
pub const LIBRARIES: &[&str] = &[
    "tensorflow",
    "keras",
    "tf_keras",
    "torch",
    "torchvision",
    "torchaudio",
    "jax",
    "flax",
    "optax",
    "onnxruntime",
    "transformers",
    "lightning",
    "pytorch_lightning",
];

/// What is instrumented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Level {
    /// Every call of a library.
    #[default]
    Method,
    /// The program as a whole, once.
    Project,
}

/// Whose rules decide what a call of a library is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Ours: everything that assignments show.
    #[default]
    Full,
    /// FECoM's, for comparison with what it measured.
    Fecom,
}

/// How to patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Packages, or packages of packages: `tensorflow`, `torch.nn`.
    pub libraries: Vec<String>,
    /// What is instrumented.
    pub level: Level,
    /// Whose rules decide.
    pub mode: Mode,
}

impl Default for Options {
    fn default() -> Options {
        let libraries = LIBRARIES.iter().map(|library| (*library).to_owned()).collect();
        Options { libraries, level: Level::Method, mode: Mode::Full }
    }
}
