//! Reading one file of the journal: every whole message up to the first that is not, whatever the bytes are.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::marker::PhantomData;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::read_record_batch;
use arrow_ipc::{Message, convert::fb_to_schema, root_as_message};
use jouletree_model::{Warning, guarded};

use super::row::{Columns, Row};
use super::write::MOST_ROWS;
use crate::files;

/// How a message of an Arrow stream begins.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// More metadata than this no message of ours has.
const MOST_METADATA: u64 = 1 << 20;
/// More than this no column of a message of ours takes: a file that says so must not be believed.
const MOST_BYTES: i64 = 1 << 25;

/// A file of the journal that is being read.
pub(crate) struct StreamIn<R> {
    file: Option<BufReader<File>>,
    /// Its length, and how far it was read.
    length: u64,
    at: u64,
    has_schema: bool,
    trouble: Option<Trouble>,
    of: PhantomData<R>,
}

/// Why a file was not read to its end.
#[derive(Debug)]
enum Trouble {
    /// It cannot be opened.
    Missing(io::Error),
    /// From this byte on it is no whole message.
    Torn(u64),
}

/// A message as it is in the file.
struct Frame {
    metadata: Vec<u8>,
    body: Buffer,
}

impl<R: Row> StreamIn<R> {
    /// Begins to read the file of a run.
    pub(crate) fn open(run: &Path) -> StreamIn<R> {
        let opened =
            files::open_file(&R::file(run)).and_then(|file| Ok((file.metadata()?.len(), BufReader::new(file))));
        let (file, length, trouble) = match opened {
            Ok((length, file)) => (Some(file), length, None),
            Err(error) => (None, 0, Some(Trouble::Missing(error))),
        };
        StreamIn { file, length, at: 0, has_schema: false, trouble, of: PhantomData }
    }

    /// The rows of the next message; `None` when there is no further whole one.
    pub(crate) fn next(&mut self) -> Option<Vec<R>> {
        while self.trouble.is_none() && self.at < self.length {
            let began = self.at;
            // The guard is for the Arrow library, which may panic where a file contradicts itself.
            match guarded(|| self.message()).flatten() {
                Some(Some(rows)) => return Some(rows),
                Some(None) => {}
                None => self.trouble = Some(Trouble::Torn(began)),
            }
        }
        None
    }

    /// What was lost, after everything was read.
    pub(crate) fn warning(&self, run: &Path) -> Option<Warning> {
        let file = R::file(run).display().to_string();
        match self.trouble.as_ref()? {
            Trouble::Missing(error) => Some(Warning::new(
                file,
                format!("cannot be read ({error}): no {} of this recording are known", R::NAME),
            )),
            Trouble::Torn(at) => {
                let lost = self.length.saturating_sub(*at);
                let message =
                    format!("the last {lost} bytes are not whole and were left out; {} end there", R::NAME);
                Some(Warning::new(file, message).at(format!("byte {at}")))
            }
        }
    }

    /// The next message: its rows, or nothing when it is the schema. `None` when it is not whole.
    fn message(&mut self) -> Option<Option<Vec<R>>> {
        let frame = self.frame()?;
        let message = root_as_message(&frame.metadata).ok()?;
        if !self.has_schema {
            let schema = fb_to_schema(message.header_as_schema()?);
            self.has_schema = schema.fields() == R::schema().fields();
            return self.has_schema.then_some(None);
        }
        let batch = read(&message, &frame.body, R::schema())?;
        R::rows(&Columns(&batch)).map(Some)
    }

    fn frame(&mut self) -> Option<Frame> {
        let mut start = [0; 8];
        self.take(&mut start)?;
        let (mark, length) = start.split_at(4);
        let length = u64::from(u32::from_le_bytes(length.try_into().ok()?));
        if mark != CONTINUATION || length > MOST_METADATA || length > self.length - self.at {
            return None;
        }
        let mut metadata = vec![0; usize::try_from(length).ok()?];
        self.take(&mut metadata)?;
        let body = u64::try_from(root_as_message(&metadata).ok()?.bodyLength()).ok()?;
        if body > self.length - self.at {
            return None;
        }
        let mut bytes = vec![0; usize::try_from(body).ok()?];
        self.take(&mut bytes)?;
        Some(Frame { metadata, body: Buffer::from_vec(bytes) })
    }

    fn take(&mut self, bytes: &mut [u8]) -> Option<()> {
        self.file.as_mut()?.read_exact(bytes).ok()?;
        self.at += bytes.len() as u64;
        Some(())
    }
}

fn read(message: &Message<'_>, body: &Buffer, schema: arrow_schema::SchemaRef) -> Option<RecordBatch> {
    let batch = message.header_as_record_batch()?;
    let is_ours = usize::try_from(batch.length()).is_ok_and(|rows| rows <= MOST_ROWS);
    for buffer in batch.buffers()? {
        let (offset, length) = (usize::try_from(buffer.offset()).ok()?, usize::try_from(buffer.length()).ok()?);
        let bytes = body.get(offset..offset.checked_add(length)?)?;
        // What is compressed begins with the length that it will have.
        let claimed = bytes.get(..8).and_then(|claim| claim.try_into().ok()).map_or(0, i64::from_le_bytes);
        if batch.compression().is_some() && claimed > MOST_BYTES {
            return None;
        }
    }
    if !is_ours {
        return None;
    }
    read_record_batch(body, batch, schema, &HashMap::new(), None, &message.version()).ok()
}
