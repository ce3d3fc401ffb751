//! One field of a table, in whatever form the file has it.

use std::borrow::Cow;

use jouletree_model::Nanos;

/// A field.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell<'a> {
    /// Nothing: an empty field, a null, no such column.
    Empty,
    /// Text, perhaps of a number.
    Text(Cow<'a, str>),
    /// A whole number.
    Integer(i64),
    /// A number that is not exact.
    Float(f64),
    /// A time stamp since the epoch.
    Instant(Nanos),
}

impl<'a> Cell<'a> {
    /// A field of a text file.
    pub(super) fn of_text(text: Cow<'a, str>) -> Cell<'a> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            Cell::Empty
        } else if trimmed.len() == text.len() {
            Cell::Text(text)
        } else {
            Cell::Text(trimmed.to_owned().into())
        }
    }

    /// The field as text; empty when there is nothing.
    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            Cell::Empty => "".into(),
            Cell::Text(text) => text.as_ref().into(),
            Cell::Integer(number) => number.to_string().into(),
            Cell::Float(number) => number.to_string().into(),
            Cell::Instant(instant) => instant.0.to_string().into(),
        }
    }
}
