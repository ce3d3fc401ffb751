//! Tables as Parquet, as DuckDB, polars, pandas and Spark write it.

use std::fs::File;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, SchemaRef, TimeUnit};
use bytes::Bytes;
use jouletree_model::{Nanos, Trace, Warning};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use parquet::file::reader::ChunkReader;

use super::cell::Cell;
use super::columns::{Header, is_table};
use super::events::Events;
use crate::error::TraceError;
use crate::input::Progress;
use crate::options::ReadOptions;
use crate::source::Source;
use crate::unrecognised;

/// Rows are taken in batches of this size.
const BATCH: usize = 1 << 13;

/// How a Parquet file begins.
pub(super) const MAGIC: &[u8] = b"PAR1";

/// What the events of a run folder have and a table of events has not.
const RUN_FOLDER_COLUMN: &str = "op_id";

pub(super) fn read(source: &Source, options: &ReadOptions, progress: &Progress) -> Result<Trace, TraceError> {
    // A plain file is read where its columns lie; anything else is unpacked first.
    if let Some(path) = source.path() {
        let file = File::open(path).map_err(|error| TraceError::Io { file: source.name().to_owned(), error })?;
        if file.get_bytes(0, MAGIC.len()).is_ok_and(|start| start == MAGIC) {
            return read_from(file, source, options);
        }
    }
    let (bytes, _) = source.read_all(progress)?;
    read_from(Bytes::from(bytes.into_owned()), source, options)
}

/// Runs a piece of the Parquet reader.
fn guarded<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    let panicked = || Err(ParquetError::General("a page contradicts itself".to_owned()));
    jouletree_model::guarded(read).unwrap_or_else(panicked)
}

fn read_from(
    file: impl ChunkReader + 'static,
    source: &Source,
    options: &ReadOptions,
) -> Result<Trace, TraceError> {
    let damaged = |error: ParquetError| TraceError::Damaged {
        file: source.name().to_owned(),
        what: format!("{error}; write it again, as a whole and without compression or with zstd, Snappy or gzip"),
    };
    // The plain types are enough: the Arrow schema a writer leaves in the file may ask for dictionaries or views.
    let reader_options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let builder = guarded(|| ParquetRecordBatchReaderBuilder::try_new_with_options(file, reader_options));
    let builder = builder.map_err(damaged)?;
    let schema = builder.schema().clone();
    let header = header_of(&schema, source)?;
    let mut events = Events::new(source, header.clone(), "row", options.census);
    let mut batches = guarded(|| {
        let projection = ProjectionMask::roots(builder.parquet_schema(), header.indices());
        builder.with_projection(projection).with_batch_size(BATCH).build()
    })
    .map_err(damaged)?;
    let mut row = 0;
    let mut ending = None;
    loop {
        match guarded(|| batches.next().transpose().map_err(ParquetError::from)) {
            Ok(None) => break,
            Ok(Some(batch)) => {
                take(&batch, &schema, &header, row, &mut events)?;
                row += batch.num_rows() as u64;
            }
            Err(error) if row == 0 => return Err(damaged(error)),
            Err(error) => {
                let message = format!("the file is damaged after this row ({error}); the rows before are used");
                ending = Some(Warning::new(source.name(), message).at(format!("row {row}")));
                break;
            }
        }
    }
    let mut trace = events.finish(source, options, ending)?;
    for field in header.indices().filter_map(|index| schema.fields().get(index)) {
        if matches!(field.data_type(), DataType::Timestamp(_, None)) {
            let message = format!("column `{}` has no time zone: it is taken for UTC", field.name());
            trace.warnings.push(Warning::new(source.name(), message));
        }
    }
    Ok(trace)
}

fn header_of(schema: &SchemaRef, source: &Source) -> Result<Header, TraceError> {
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let columns_error = |what: String| TraceError::Columns { file: source.name().to_owned(), what };
    if !is_table(names.iter().copied()) {
        if names.contains(&RUN_FOLDER_COLUMN) && names.contains(&"start_ns") {
            let what = "these are the events of a run folder, and what ran is in ops.parquet beside them: give \
                        the folder (jouletree show FOLDER)";
            return Err(columns_error(what.to_owned()));
        }
        let shown = names.iter().take(12).copied().collect::<Vec<_>>().join(", ");
        return Err(unrecognised(source, format!("it is a Parquet table with the columns {shown}")));
    }
    let header = Header::of(names.iter().copied()).map_err(columns_error)?;
    for field in header.indices().filter_map(|index| schema.fields().get(index)) {
        if !is_readable(field.data_type()) {
            let what = format!(
                "column `{}` is {}; a column is of whole numbers, numbers, text or time stamps",
                field.name(),
                field.data_type()
            );
            return Err(columns_error(what));
        }
    }
    Ok(header)
}

fn is_readable(data_type: &DataType) -> bool {
    data_type.is_integer()
        || matches!(data_type, DataType::Float32 | DataType::Float64 | DataType::Timestamp(..))
        || matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null)
}

fn take(
    batch: &RecordBatch,
    schema: &SchemaRef,
    header: &Header,
    first_row: u64,
    events: &mut Events,
) -> Result<(), TraceError> {
    // Only the columns that are read are in the batch, under their names.
    let columns: Vec<_> = (0..schema.fields().len())
        .map(|index| batch.column_by_name(schema.field(index).name()).map(|array| cells(array.as_ref())))
        .collect();
    for row in 0..batch.num_rows() {
        events.row(first_row + row as u64, |column| {
            let cells = header.get(column).and_then(|place| columns.get(place.index)?.as_ref());
            cells.map_or(Cell::Empty, |cells| cells(row))
        })?;
    }
    Ok(())
}

type Cells<'a> = Box<dyn Fn(usize) -> Cell<'a> + 'a>;

/// The fields of a column.
fn cells(array: &dyn Array) -> Cells<'_> {
    use DataType::{
        Float32, Float64, Int8, Int16, Int32, Int64, LargeUtf8, Timestamp, UInt8, UInt16, UInt32, UInt64,
    };
    match array.data_type() {
        Int8 => numbers::<Int8Type>(array, |number| Cell::Integer(number.into())),
        Int16 => numbers::<Int16Type>(array, |number| Cell::Integer(number.into())),
        Int32 => numbers::<Int32Type>(array, |number| Cell::Integer(number.into())),
        Int64 => numbers::<Int64Type>(array, Cell::Integer),
        UInt8 => numbers::<UInt8Type>(array, |number| Cell::Integer(number.into())),
        UInt16 => numbers::<UInt16Type>(array, |number| Cell::Integer(number.into())),
        UInt32 => numbers::<UInt32Type>(array, |number| Cell::Integer(number.into())),
        UInt64 => numbers::<UInt64Type>(array, |number| match i64::try_from(number) {
            Ok(number) => Cell::Integer(number),
            Err(_) => Cell::Text(number.to_string().into()),
        }),
        Float32 => numbers::<Float32Type>(array, |number| Cell::Float(number.into())),
        Float64 => numbers::<Float64Type>(array, Cell::Float),
        Timestamp(TimeUnit::Second, _) => numbers::<TimestampSecondType>(array, |at| instant(at, 1_000_000_000)),
        Timestamp(TimeUnit::Millisecond, _) => {
            numbers::<TimestampMillisecondType>(array, |at| instant(at, 1_000_000))
        }
        Timestamp(TimeUnit::Microsecond, _) => numbers::<TimestampMicrosecondType>(array, |at| instant(at, 1_000)),
        Timestamp(TimeUnit::Nanosecond, _) => numbers::<TimestampNanosecondType>(array, |at| instant(at, 1)),
        LargeUtf8 => texts(array, array.as_string_opt::<i64>().map(|texts| move |row| texts.value(row))),
        DataType::Utf8View => texts(array, array.as_string_view_opt().map(|texts| move |row| texts.value(row))),
        _ => texts(array, array.as_string_opt::<i32>().map(|texts| move |row| texts.value(row))),
    }
}

fn instant(at: i64, length: i64) -> Cell<'static> {
    Cell::Instant(Nanos(at.saturating_mul(length)))
}

fn numbers<'a, T: ArrowPrimitiveType>(
    array: &'a dyn Array,
    cell: impl Fn(T::Native) -> Cell<'a> + 'a,
) -> Cells<'a> {
    match array.as_primitive_opt::<T>() {
        Some(numbers) => Box::new(move |row| match numbers.is_valid(row) {
            true => cell(numbers.value(row)),
            false => Cell::Empty,
        }),
        None => Box::new(|_| Cell::Empty),
    }
}

fn texts<'a>(array: &'a dyn Array, text: Option<impl Fn(usize) -> &'a str + 'a>) -> Cells<'a> {
    match text {
        Some(text) => Box::new(move |row| match array.is_valid(row) {
            true => Cell::of_text(text(row).into()),
            false => Cell::Empty,
        }),
        None => Box::new(|_| Cell::Empty),
    }
}
