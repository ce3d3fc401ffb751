//! Where a trace comes from: a file, or bytes in memory.

use std::borrow::Cow;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use crate::error::TraceError;
use crate::input::{GZIP, Input, Progress};

/// How much of a file can be looked at as soon as it is open.
const BEGINNING: usize = 64;

/// What some editors put before the text of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What may follow the stem of a trace file's name.
const KNOWN_ENDINGS: [&str; 7] = [".json", ".xplane", ".pb", ".csv", ".parquet", ".sqlite", ".gz"];

/// A trace file that can be opened again and again.
pub(crate) struct Source<'a> {
    name: String,
    content: Content<'a>,
}

enum Content<'a> {
    File(PathBuf),
    Memory(&'a [u8]),
}

impl<'a> Source<'a> {
    pub(crate) fn file(path: &Path) -> Source<'static> {
        Source { name: path.display().to_string(), content: Content::File(path.to_owned()) }
    }

    pub(crate) fn memory(name: &str, bytes: &'a [u8]) -> Source<'a> {
        Source { name: name.to_owned(), content: Content::Memory(bytes) }
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

    /// All of it, unpacked, and why it ended early if it did. What is in memory already is not copied.
    pub(crate) fn read_all(&self, progress: &Progress) -> Result<(Cow<'a, [u8]>, Option<String>), TraceError> {
        if let Content::Memory(bytes) = self.content
            && !is_gzip(bytes)
        {
            return Ok((Cow::Borrowed(bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)), None));
        }
        let (bytes, failure) = self.open(progress)?.into_rest();
        Ok((Cow::Owned(bytes), failure.map(|error| error.to_string())))
    }

    /// Opens it, unpacking gzip and leaving out a byte order mark; the beginning is in the window already.
    pub(crate) fn open(&self, progress: &Progress) -> Result<Input<'a>, TraceError> {
        let input = match &self.content {
            Content::File(path) => Input::open(path, progress),
            // A thread that inflates may outlive what was borrowed.
            Content::Memory(bytes) if is_gzip(bytes) => Ok(Input::gzip(Cursor::new(bytes.to_vec()))),
            Content::Memory(bytes) => Ok(Input::plain(*bytes)),
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

fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&GZIP)
}
