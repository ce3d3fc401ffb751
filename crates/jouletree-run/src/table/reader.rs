//! Reading a table: its columns are checked before a row is read, and damage is an error, never a panic.

use std::ops::Range;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, BooleanArray, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;

use super::Column;
use crate::{RunError, files};

/// Rows are handed on in batches of this size: five columns of it fit into a second-level cache.
const BATCH: usize = 1 << 15;

/// A table whose columns were found to be what they must be.
pub(crate) struct Table {
    path: PathBuf,
    columns: Vec<Column>,
    metadata: ArrowReaderMetadata,
}

/// Some consecutive rows of a table.
pub(crate) struct Rows<'a> {
    path: &'a Path,
    columns: &'a [Column],
    batch: RecordBatch,
    first: usize,
}

impl Table {
    /// Opens a table and checks the columns that will be read; others may be there.
    pub(crate) fn open(path: &Path, columns: &[Column]) -> Result<Table, RunError> {
        let file = files::open_file(path).map_err(RunError::io(path, "open the file"))?;
        // The Arrow schema a writer leaves in the file may ask for dictionaries or views; the plain one is enough.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = guarded(path, || ArrowReaderMetadata::load(&file, options))?;
        let mut table = Table { path: path.to_owned(), columns: Vec::new(), metadata };
        for column in columns {
            table = table.with_optional(*column)?;
            if !table.has(*column) {
                let problem = format!("column `{}` ({}) is missing", column.name, column.form.read_as());
                return Err(RunError::content(path, problem));
            }
        }
        Ok(table)
    }

    /// The same table with a column that will be read if it is there.
    pub(crate) fn with_optional(mut self, column: Column) -> Result<Table, RunError> {
        let wanted = column.form.read_as();
        match self.metadata.schema().field_with_name(column.name) {
            Ok(field) if *field.data_type() != wanted => {
                let problem = format!("column `{}` is {}, it must be {wanted}", column.name, field.data_type());
                Err(RunError::content(&self.path, problem))
            }
            Ok(_) => {
                self.columns.push(column);
                Ok(self)
            }
            Err(_) => Ok(self),
        }
    }

    /// Whether a column will be read.
    pub(crate) fn has(&self, column: Column) -> bool {
        self.columns.iter().any(|known| known.name == column.name)
    }

    /// How many row groups it has: the parts that can be read by threads of their own.
    pub(crate) fn row_groups(&self) -> usize {
        self.metadata.metadata().num_row_groups()
    }

    /// Hands all rows on.
    pub(crate) fn each(&self, take: impl FnMut(&Rows<'_>) -> Result<(), RunError>) -> Result<(), RunError> {
        self.each_in(0..self.row_groups(), take)
    }

    /// Hands the rows of some row groups on.
    pub(crate) fn each_in(
        &self,
        groups: Range<usize>,
        mut take: impl FnMut(&Rows<'_>) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        // A file of its own: clones of one file share their position, and threads would move it under each other.
        let file = files::open_file(&self.path).map_err(RunError::io(&self.path, "open the file"))?;
        let rows_in = |groups: Range<usize>| -> usize {
            let claimed = self.metadata.metadata().row_groups().iter().take(groups.end).skip(groups.start);
            claimed.map(|group| usize::try_from(group.num_rows()).unwrap_or(0)).fold(0, usize::saturating_add)
        };
        let mut first = rows_in(0..groups.start);
        let claimed_end = first.saturating_add(rows_in(groups.clone()));
        let mut batches = guarded(&self.path, || {
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
            let names = self.columns.iter().map(|column| column.name);
            let projection = ProjectionMask::columns(builder.parquet_schema(), names);
            builder.with_projection(projection).with_row_groups(groups.collect()).with_batch_size(BATCH).build()
        })?;
        while let Some(batch) = guarded(&self.path, || batches.next().transpose().map_err(ParquetError::from))? {
            let rows = Rows { path: &self.path, columns: &self.columns, batch, first };
            rows.check_nulls()?;
            take(&rows)?;
            first = first.saturating_add(rows.len());
        }
        if first != claimed_end {
            let problem = format!("rows are missing: {claimed_end} are announced, {first} are there");
            return Err(RunError::content(&self.path, problem));
        }
        Ok(())
    }
}

impl Rows<'_> {
    pub(crate) fn len(&self) -> usize {
        self.batch.num_rows()
    }

    pub(crate) fn times(&self, name: &str) -> Result<&[i64], RunError> {
        self.numbers::<Int64Type>(name)
    }

    pub(crate) fn ids(&self, name: &str) -> Result<&[u32], RunError> {
        self.numbers::<UInt32Type>(name)
    }

    pub(crate) fn counts(&self, name: &str) -> Result<&[u64], RunError> {
        self.numbers::<UInt64Type>(name)
    }

    pub(crate) fn flags(&self, name: &str) -> Result<&[i32], RunError> {
        self.numbers::<Int32Type>(name)
    }

    pub(crate) fn joules(&self, name: &str) -> Result<&[f64], RunError> {
        self.numbers::<Float64Type>(name)
    }

    pub(crate) fn optional_ids(&self, name: &str) -> Result<&UInt32Array, RunError> {
        self.array(name)?.as_primitive_opt().ok_or_else(|| self.changed(name))
    }

    pub(crate) fn optional_counts(&self, name: &str) -> Result<&UInt64Array, RunError> {
        self.array(name)?.as_primitive_opt().ok_or_else(|| self.changed(name))
    }

    pub(crate) fn optional_numbers(&self, name: &str) -> Result<&Float64Array, RunError> {
        self.array(name)?.as_primitive_opt().ok_or_else(|| self.changed(name))
    }

    pub(crate) fn texts(&self, name: &str) -> Result<&StringArray, RunError> {
        self.array(name)?.as_string_opt().ok_or_else(|| self.changed(name))
    }

    pub(crate) fn truths(&self, name: &str) -> Result<&BooleanArray, RunError> {
        self.array(name)?.as_boolean_opt().ok_or_else(|| self.changed(name))
    }

    /// A complaint about the `row`th of these rows.
    pub(crate) fn wrong(&self, row: usize, problem: impl std::fmt::Display) -> RunError {
        RunError::content(self.path, format!("row {}: {problem}", self.first.saturating_add(row)))
    }

    fn numbers<T: ArrowPrimitiveType>(&self, name: &str) -> Result<&[T::Native], RunError> {
        let array = self.array(name)?.as_primitive_opt::<T>().ok_or_else(|| self.changed(name))?;
        Ok(array.values())
    }

    fn array(&self, name: &str) -> Result<&dyn Array, RunError> {
        self.batch.column_by_name(name).map(AsRef::as_ref).ok_or_else(|| self.changed(name))
    }

    /// The type was checked on opening.
    fn changed(&self, name: &str) -> RunError {
        RunError::content(self.path, format!("column `{name}` is not what the file announced"))
    }

    fn check_nulls(&self) -> Result<(), RunError> {
        for column in self.columns.iter().filter(|column| !column.nullable) {
            let array = self.array(column.name)?;
            if let Some(row) = (array.null_count() > 0).then(|| (0..array.len()).find(|row| array.is_null(*row))) {
                return Err(self.wrong(row.unwrap_or(0), format_args!("column `{}` is empty", column.name)));
            }
        }
        Ok(())
    }
}

/// Runs a piece of the Parquet reader.
fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, RunError> {
    let panicked = || Err(ParquetError::General("a page contradicts itself".to_owned()));
    let read = jouletree_model::guarded(read).unwrap_or_else(panicked);
    read.map_err(|source| RunError::Damaged { path: path.to_owned(), source })
}
