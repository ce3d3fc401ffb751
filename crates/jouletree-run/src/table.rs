//! Parquet tables as the run folder uses them: one way to write, one way to read and check.

mod reader;
mod writer;

use arrow_schema::{DataType, Field};

pub(crate) use reader::{Rows, Table};
pub(crate) use writer::{TableWriter, names};

/// A column of one of our tables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    pub(crate) nullable: bool,
}

/// What a column holds, and with that how it is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Time stamps and durations: delta-encoded, two to three bytes each where events follow each other.
    Time,
    /// Few distinct names: a dictionary, also for those who read it (pandas: categorical).
    Name,
    /// Text.
    Text,
    /// Numbers of operations, lanes and steps.
    Id,
    /// How often.
    Count,
    /// Bits.
    Flags,
    /// Yes or no.
    Truth,
    /// Energy: every bit is kept.
    Joules,
    /// Parts of one, and other numbers that are not energy.
    Number,
}

impl Column {
    pub(crate) const fn new(name: &'static str, form: Form) -> Column {
        Column { name, form, nullable: false }
    }

    pub(crate) const fn or_null(self) -> Column {
        Column { nullable: true, ..self }
    }

    fn field(self) -> Field {
        let data_type = match self.form {
            Form::Name => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
            form => form.read_as(),
        };
        Field::new(self.name, data_type, self.nullable)
    }
}

impl Form {
    /// The Arrow type we read it as, whatever program wrote it.
    fn read_as(self) -> DataType {
        match self {
            Form::Time => DataType::Int64,
            Form::Name | Form::Text => DataType::Utf8,
            Form::Id => DataType::UInt32,
            Form::Count => DataType::UInt64,
            Form::Flags => DataType::Int32,
            Form::Truth => DataType::Boolean,
            Form::Joules | Form::Number => DataType::Float64,
        }
    }
}
