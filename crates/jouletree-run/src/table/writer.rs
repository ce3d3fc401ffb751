//! Writing a table: zstd, delta-encoded times, and on the disk for certain when it is finished.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use super::{Column, Form};
use crate::{RunError, files};

/// Large enough to compress and to read in one sweep, small enough to give several threads something to do.
const ROW_GROUP: usize = 1 << 20;

/// A table that is being written.
pub(crate) struct TableWriter {
    path: PathBuf,
    schema: SchemaRef,
    writer: ArrowWriter<File>,
}

impl TableWriter {
    pub(crate) fn create(path: &Path, columns: &[Column]) -> Result<TableWriter, RunError> {
        let file = files::create_file(path).map_err(RunError::io(path, "create the file"))?;
        let fields: Vec<_> = columns.iter().map(|column| column.field()).collect();
        let schema: SchemaRef = Arc::new(Schema::new(fields));
        let failed = |source| RunError::Write { path: path.to_owned(), source };
        let properties = properties(columns).map_err(failed)?;
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties)).map_err(failed)?;
        Ok(TableWriter { path: path.to_owned(), schema, writer })
    }

    /// Appends rows, column by column in the order of the table.
    pub(crate) fn write(&mut self, columns: Vec<ArrayRef>) -> Result<(), RunError> {
        let batch = RecordBatch::try_new(self.schema.clone(), columns).map_err(ParquetError::from);
        batch.and_then(|batch| self.writer.write(&batch)).map_err(|source| self.failed(source))
    }

    pub(crate) fn finish(mut self) -> Result<(), RunError> {
        self.writer.finish().map_err(|source| self.failed(source))?;
        self.writer.inner().sync_all().map_err(RunError::io(&self.path, "write to the disk"))
    }

    fn failed(&self, source: ParquetError) -> RunError {
        RunError::Write { path: self.path.clone(), source }
    }
}

/// A column of few distinct names from the number of each row's name.
pub(crate) fn names<S: AsRef<str>>(
    keys: Vec<i32>,
    names: impl IntoIterator<Item = S>,
) -> Result<ArrayRef, RunError> {
    let names = StringArray::from_iter_values(names);
    let inconsistent = |error: ArrowError| RunError::Inconsistent(error.to_string());
    let array =
        DictionaryArray::<Int32Type>::try_new(Int32Array::from(keys), Arc::new(names)).map_err(inconsistent)?;
    Ok(Arc::new(array))
}

fn properties(columns: &[Column]) -> Result<WriterProperties, ParquetError> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .set_statistics_enabled(EnabledStatistics::Chunk);
    for column in columns {
        let path = ColumnPath::from(column.name);
        properties = match column.form {
            Form::Time => properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
            Form::Joules => properties.set_column_dictionary_enabled(path, false),
            _ => properties,
        };
    }
    Ok(properties.build())
}
