//! Where a trace comes from: a file, or bytes in memory.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Cursor, Read};
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

/// All bytes of a file as far as they could be read, and why they end early if they do.
type Whole = (Vec<u8>, Option<io::Error>);

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

    /// Where a file with more about this one would be: `NAME.meta.json` beside `NAME.json.gz`.
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
        let (mut bytes, failure) = match self.plain_file(progress)? {
            Some(whole) => whole,
            None => self.open(progress)?.into_rest(),
        };
        if bytes.starts_with(BYTE_ORDER_MARK) {
            bytes.drain(..BYTE_ORDER_MARK.len());
        }
        Ok((Cow::Owned(bytes), failure.map(|error| error.to_string())))
    }

    /// All of a file that is not packed, in one go: pieces would be copied once more. `None` for anything else.
    fn plain_file(&self, progress: &Progress) -> Result<Option<Whole>, TraceError> {
        let Content::File(path) = &self.content else { return Ok(None) };
        let failed = |error| TraceError::Io { file: self.name.clone(), error };
        let mut file = File::open(path).map_err(failed)?;
        let mut bytes = Vec::with_capacity(GZIP.len());
        (&mut file).take(GZIP.len() as u64).read_to_end(&mut bytes).map_err(failed)?;
        if is_gzip(&bytes) {
            return Ok(None);
        }
        let end = file.read_to_end(&mut bytes);
        progress.add(bytes.len() as u64);
        Ok(Some((bytes, end.err())))
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
