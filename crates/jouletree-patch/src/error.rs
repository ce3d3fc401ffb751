//! Why a file cannot be patched.

/// Why a file cannot be patched, and what to do about it. The caller adds the file's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The file is no Python program.
    #[error("{}{line}:{col}: {message}", cell_name(.cell))]
    Syntax {
        /// In a notebook, the number of the cell, from 1.
        cell: Option<u32>,
        /// The line, from 1.
        line: u32,
        /// The column, from 0, as Python's `ast` counts.
        col: u32,
        /// What is wrong.
        message: String,
    },
    /// A text that is not what it should be.
    #[error(
        "{line}: not UTF-8; declare the encoding in the first line (# coding: latin-1), or save the file as UTF-8"
    )]
    NotUtf8 {
        /// The line.
        line: u32,
    },
    /// An encoding that cannot be read.
    #[error("encoded as {encoding}, which cannot be patched; save it as UTF-8 (iconv -f {encoding} -t utf-8)")]
    Encoding {
        /// Its name, as the file declares it.
        encoding: String,
    },
    /// A file that has hooks.
    #[error("{line}: patched already; `jouletree patch --undo` gives the original back")]
    Patched {
        /// The line of the first hook.
        line: u32,
    },
    /// A notebook that is none.
    #[error("not a notebook of format 4: {reason}")]
    Notebook {
        /// What was found instead.
        reason: String,
    },
}

fn cell_name(cell: &Option<u32>) -> String {
    cell.map(|cell| format!("cell {cell}:")).unwrap_or_default()
}
