//! Where a trace comes from: a file, or bytes in memory.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::TraceError;
use crate::input::{Input, Progress};

/// How much of a file can be looked at as soon as it is open.
const BEGINNING: usize = 64;

/// What some editors put before the text of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A trace file that can be opened again and again.
pub(crate) struct Source {
    name: String,
    content: Content,
}

enum Content {
    File(PathBuf),
    Memory(Arc<[u8]>),
}

impl Source {
    pub(crate) fn file(path: &Path) -> Source {
        Source { name: path.display().to_string(), content: Content::File(path.to_owned()) }
    }

    pub(crate) fn memory(name: &str, bytes: &[u8]) -> Source {
        Source { name: name.to_owned(), content: Content::Memory(bytes.into()) }
    }

    /// The file's name as the user gave it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Opens it, unpacking gzip and leaving out a byte order mark; the beginning is in the window already.
    pub(crate) fn open(&self, progress: &Progress) -> Result<Input, TraceError> {
        let input = match &self.content {
            Content::File(path) => Input::open(path, progress),
            Content::Memory(bytes) if bytes.starts_with(&[0x1f, 0x8b]) => {
                Ok(Input::gzip(Cursor::new(bytes.clone())))
            }
            Content::Memory(bytes) => Ok(Input::plain(Cursor::new(bytes.clone()))),
        };
        let mut input = input.map_err(|error| TraceError::Io { file: self.name.clone(), error })?;
        // A piece may be as short as the reader below likes.
        while input.window().len() < BEGINNING && input.more() {}
        if input.window().starts_with(BYTE_ORDER_MARK) {
            input.consume(BYTE_ORDER_MARK.len());
        }
        Ok(input)
    }
}
