//! Rows of the journal: what each kind of row needs to be written as columns and read back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::JOURNAL;

/// One kind of row.
pub(crate) trait Row: Sized {
    /// The name of its file, without the ending.
    const NAME: &'static str;
    /// Its columns: name, type, and whether a cell may be empty.
    const COLUMNS: &'static [(&'static str, DataType, bool)];

    /// Rows as columns, in the order of [`Row::COLUMNS`].
    fn columns(rows: &[Self]) -> Vec<ArrayRef>;

    /// Columns as rows; those that cannot be, as no recorder writes them, are left out. `None` when the columns are
    /// not these.
    fn rows(columns: &Columns<'_>) -> Option<Vec<Self>>;

    fn schema() -> SchemaRef {
        let field = |(name, of, nullable): &(&str, DataType, bool)| Field::new(*name, of.clone(), *nullable);
        Arc::new(Schema::new(Self::COLUMNS.iter().map(field).collect::<Vec<_>>()))
    }

    /// Its file in the folder of a run.
    fn file(run: &Path) -> PathBuf {
        run.join(JOURNAL).join(format!("{}.arrows", Self::NAME))
    }
}

/// The columns of a message.
pub(crate) struct Columns<'a>(pub(crate) &'a RecordBatch);

impl<'a> Columns<'a> {
    pub(crate) fn len(&self) -> usize {
        self.0.num_rows()
    }

    /// A column without empty cells.
    pub(crate) fn numbers<T: ArrowPrimitiveType>(&self, column: usize) -> Option<&'a [T::Native]> {
        self.optional::<T>(column).map(|array| array.values().as_ref())
    }

    /// A column that may have empty cells.
    pub(crate) fn optional<T: ArrowPrimitiveType>(&self, column: usize) -> Option<&'a PrimitiveArray<T>> {
        self.0.columns().get(column)?.as_primitive_opt()
    }

    pub(crate) fn texts(&self, column: usize) -> Option<&'a StringArray> {
        self.0.columns().get(column)?.as_string_opt()
    }
}

/// A cell that may be empty.
pub(crate) fn cell<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    array.is_valid(row).then(|| array.value(row))
}

/// A column of what rows say.
pub(crate) fn column<T: ArrowPrimitiveType, R>(rows: &[R], get: impl Fn(&R) -> T::Native) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::from_iter_values(rows.iter().map(get)))
}

/// The same where a row may say nothing.
pub(crate) fn optional<T: ArrowPrimitiveType, R>(rows: &[R], get: impl Fn(&R) -> Option<T::Native>) -> ArrayRef {
    Arc::new(rows.iter().map(get).collect::<PrimitiveArray<T>>())
}

/// A part of one, and not something that a damaged file says.
pub(crate) fn is_part(value: f64) -> bool {
    (0.0..=1.0).contains(&value)
}
