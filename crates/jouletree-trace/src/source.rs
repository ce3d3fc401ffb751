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

/// What may follow the stem of a trace file's name.
const KNOWN_ENDINGS: [&str; 7] = [".json", ".xplane", ".pb", ".csv", ".parquet", ".sqlite", ".gz"];

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

    /// The file, if it is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.content {
            Content::File(path) => Some(path),
            Content::Memory(_) => None,
        }
    }

    /// Where a file would stand that tells more about this one: `NAME.meta.json` beside `NAME.json.gz`.
    pub(crate) fn sidecar(&self) -> Option<PathBuf> {
        let path = self.path()?;
        let name = path.file_name()?.to_str()?;
        let stem =
            KNOWN_ENDINGS.iter().filter_map(|ending| name.find(ending)).min().map_or(name, |at| &name[..at]);
        Some(path.with_file_name(format!("{stem}.meta.json")))
    }

    /// All of it, unpacked, and why it ended early if it did.
    pub(crate) fn read_all(&self, progress: &Progress) -> Result<(Vec<u8>, Option<String>), TraceError> {
        let mut input = self.open(progress)?;
        while input.more() {}
        let failure = input.failure().map(ToString::to_string);
        Ok((input.into_window(), failure))
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
