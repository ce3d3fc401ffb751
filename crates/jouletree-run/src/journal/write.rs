//! Writing one file of the journal: an Arrow stream that is whole after every message, also when the disk is full.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_ipc::{CompressionType, MetadataVersion};
use arrow_schema::ArrowError;

use super::row::Row;
use crate::{RunError, files};

/// Rows in a message at most; a reader takes a longer one for damage.
pub(super) const MOST_ROWS: usize = 1 << 16;

/// A file of the journal that is being written.
pub(super) struct StreamOut<R> {
    path: PathBuf,
    file: File,
    /// The length up to which the file is whole.
    whole: u64,
    /// Makes messages of rows.
    messages: StreamWriter<Vec<u8>>,
    waiting: Vec<R>,
    written: u64,
}

impl<R: Row> StreamOut<R> {
    pub(super) fn create(run: &Path) -> Result<StreamOut<R>, RunError> {
        let path = R::file(run);
        let file = files::create_file(&path);
        StreamOut::over(file.map_err(RunError::io(&path, "create the file"))?, path)
    }

    fn over(file: File, path: PathBuf) -> Result<StreamOut<R>, RunError> {
        let encoding = |error: ArrowError| RunError::Inconsistent(format!("{}: {error}", path.display()));
        let options = IpcWriteOptions::try_new(64, false, MetadataVersion::V5)
            .and_then(|options| options.try_with_compression(Some(CompressionType::ZSTD)))
            .map_err(encoding)?;
        let messages = StreamWriter::try_new_with_options(Vec::new(), &R::schema(), options).map_err(encoding)?;
        let mut stream = StreamOut { path, file, whole: 0, messages, waiting: Vec::new(), written: 0 };
        // The schema.
        stream.pass_on()?;
        Ok(stream)
    }

    /// Adds rows to those that wait.
    pub(super) fn add(&mut self, rows: impl IntoIterator<Item = R>) {
        self.waiting.extend(rows);
    }

    /// How many rows wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// How many rows are in the file.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Hands the rows that wait to the system. Rows that cannot be written go on waiting, and the file stays whole.
    pub(super) fn flush(&mut self) -> Result<(), RunError> {
        while !self.waiting.is_empty() {
            let rows = self.waiting.len().min(MOST_ROWS);
            let columns = R::columns(&self.waiting[..rows]);
            let message = RecordBatch::try_new(R::schema(), columns).and_then(|batch| self.messages.write(&batch));
            if let Err(error) = message {
                self.messages.get_mut().clear();
                return Err(RunError::Inconsistent(format!("{}: {error}", self.path.display())));
            }
            self.pass_on()?;
            self.waiting.drain(..rows);
            self.written += rows as u64;
        }
        Ok(())
    }

    /// Sees to it that everything reaches the disk.
    pub(super) fn sync(&self) -> Result<(), RunError> {
        self.file.sync_data().map_err(RunError::io(&self.path, "write to the disk"))
    }

    fn pass_on(&mut self) -> Result<(), RunError> {
        let bytes = std::mem::take(self.messages.get_mut());
        let passed: io::Result<()> = self.file.write_all(&bytes);
        if passed.is_err() {
            // Half a message would hide whatever comes after it. What cannot be cut off either is torn, and a reader
            // knows how to go about it.
            let _ = self.file.set_len(self.whole);
        } else {
            self.whole += bytes.len() as u64;
        }
        passed.map_err(RunError::io(&self.path, "write the journal; free some space on its disk"))
    }
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
