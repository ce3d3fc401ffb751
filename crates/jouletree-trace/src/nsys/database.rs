//! A database that may be damaged or hostile, row by row.
//!
//! Only plain tables and plain columns are read: a view or a computed column could do anything. Rows come in the order
//! in which they are stored, so that everything before a damaged page is still had. A damaged tree of pages may lead
//! round in circles, so no more rows and no more text are taken than fit into the file.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;

use jouletree_model::Warning;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use crate::error::TraceError;
use crate::input::Progress;
use crate::source::Source;

/// No field is longer than this, in bytes.
const LONGEST_FIELD: i32 = 1 << 26;

pub(super) struct Database {
    file: String,
    connection: Connection,
    /// The columns of every table.
    tables: BTreeMap<String, BTreeSet<String>>,
    /// How many rows and how many bytes of text may still be taken.
    rows_left: Cell<u64>,
    text_left: Cell<u64>,
}

/// A row of a table, with the columns that were asked for.
pub(super) struct Row<'a>(&'a rusqlite::Row<'a>);

impl Row<'_> {
    /// The number in a column.
    pub(super) fn integer(&self, column: usize) -> Option<i64> {
        match self.0.get_ref(column) {
            Ok(ValueRef::Integer(number)) => Some(number),
            _ => None,
        }
    }

    /// The text in a column.
    pub(super) fn text(&self, column: usize) -> Option<String> {
        match self.0.get_ref(column) {
            Ok(ValueRef::Text(text)) => Some(String::from_utf8_lossy(text).into_owned()),
            _ => None,
        }
    }

    fn text_length(&self, columns: usize) -> u64 {
        let length = |column| match self.0.get_ref(column) {
            Ok(ValueRef::Text(text)) => text.len() as u64,
            _ => 0,
        };
        (0..columns).map(length).sum()
    }
}

impl Database {
    /// Opens it, and says if it was cut short while it was unpacked.
    pub(super) fn open(source: &Source, progress: &Progress) -> Result<(Database, Option<Warning>), TraceError> {
        let damaged = |error: rusqlite::Error| TraceError::Damaged {
            file: source.name().to_owned(),
            what: format!("{error}; export it again: nsys export --type sqlite REPORT.nsys-rep"),
        };
        let (connection, length, cut) = connect(source, progress, &damaged)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_FIELD).map_err(damaged)?;
        for (name, value) in [("trusted_schema", false), ("cell_size_check", true)] {
            connection.pragma_update(None, name, value).map_err(damaged)?;
        }
        let tables = tables_of(&connection).map_err(damaged)?;
        let budget = || Cell::new(length.saturating_mul(2));
        let file = source.name().to_owned();
        Ok((Database { file, connection, tables, rows_left: budget(), text_left: budget() }, cut))
    }

    pub(super) fn has(&self, table: &str) -> bool {
        self.tables.contains_key(table)
    }

    pub(super) fn has_column(&self, table: &str, column: &str) -> bool {
        self.tables.get(table).is_some_and(|columns| columns.contains(column))
    }

    pub(super) fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }

    /// Hands out the rows of a table with these columns; a column that is not there is empty, a table that is not
    /// there has no rows. What it returns says that the table is damaged.
    pub(super) fn each(&self, table: &str, columns: &[&str], mut take: impl FnMut(Row<'_>)) -> Option<Warning> {
        let known = self.tables.get(table)?;
        let selected: Vec<String> = columns
            .iter()
            .map(|column| if known.contains(*column) { format!("\"{column}\"") } else { "NULL".to_owned() })
            .collect();
        let mut taken = 0_u64;
        let mut read = || -> Result<(), String> {
            let query = format!("SELECT {} FROM \"{table}\"", selected.join(", "));
            let mut statement = self.connection.prepare(&query).map_err(|error| error.to_string())?;
            let mut rows = statement.query([]).map_err(|error| error.to_string())?;
            while let Some(row) = rows.next().map_err(|error| error.to_string())? {
                let row = Row(row);
                let text = row.text_length(columns.len());
                let left = (self.rows_left.get().checked_sub(1), self.text_left.get().checked_sub(text));
                let (Some(rows_left), Some(text_left)) = left else {
                    return Err("there is more in it than fits into the file".to_owned());
                };
                self.rows_left.set(rows_left);
                self.text_left.set(text_left);
                taken += 1;
                take(row);
            }
            Ok(())
        };
        let error = read().err()?;
        let message = format!(
            "the table {table} is damaged after {taken} rows ({error}); those are used, what came after is lost. Export \
             again: nsys export --type sqlite REPORT.nsys-rep"
        );
        Some(Warning::new(&self.file, message))
    }
}

/// The connection, how long the database is, and whether it was cut short.
fn connect(
    source: &Source,
    progress: &Progress,
    damaged: &impl Fn(rusqlite::Error) -> TraceError,
) -> Result<(Connection, u64, Option<Warning>), TraceError> {
    let io_error = |error| TraceError::Io { file: source.name().to_owned(), error };
    if let Some(path) = source.path() {
        let mut magic = [0; 2];
        let mut file = std::fs::File::open(path).map_err(io_error)?;
        let length = file.metadata().map_err(io_error)?.len();
        std::io::Read::read(&mut file, &mut magic).map_err(io_error)?;
        // Anything but gzip can be read where it lies.
        if magic != [0x1f, 0x8b] {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(path, flags).map_err(damaged)?;
            return Ok((connection, length, None));
        }
    }
    let (bytes, failure) = source.read_all(progress)?;
    let length = bytes.len();
    let cut = failure.map(|failure| {
        let message = format!("the file is cut short here ({failure}); what can still be found is used");
        Warning::new(source.name(), message).at(format!("byte {length}"))
    });
    let mut connection = Connection::open_in_memory().map_err(damaged)?;
    connection.deserialize_read_exact("main", Cursor::new(bytes), length, true).map_err(damaged)?;
    Ok((connection, length as u64, cut))
}

fn tables_of(connection: &Connection) -> rusqlite::Result<BTreeMap<String, BTreeSet<String>>> {
    const TABLES: &str = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'";
    let names: Vec<String> =
        connection.prepare(TABLES)?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut tables = BTreeMap::new();
    for name in names.into_iter().filter(|name| !name.contains('"')) {
        // Computed columns are not among these.
        let mut columns = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
        let columns = columns.query_map([&name], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        tables.insert(name, columns);
    }
    Ok(tables)
}
