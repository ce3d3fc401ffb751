//! Tables with one row for each event, so that any tool can feed us: CSV, JSON lines, Parquet.
//!
//! The columns are `start` and `end` (or `dur`), `device`, `lane` and `op`; `type`, `pass`, `step`, `name` and `host`
//! may be there. `columns` knows what a header means, `time` what its numbers mean, `events` makes the trace; `text`,
//! `csv`, `jsonl` and `parquet` only bring the rows. Where a guess could be wrong there is an error that says what to
//! write.

mod cell;
mod columns;
mod csv;
mod events;
mod jsonl;
mod parquet;
mod text;
mod time;

use crate::Format;
use crate::head::Head;

pub(crate) const PARQUET: Format =
    Format { name: "generic-parquet", recognises: recognises_parquet, read: parquet::read, is_fallback: false };
pub(crate) const CSV: Format =
    Format { name: "generic-csv", recognises: recognises_csv, read: csv::read, is_fallback: false };
pub(crate) const JSONL: Format =
    Format { name: "generic-jsonl", recognises: recognises_jsonl, read: jsonl::read, is_fallback: false };

fn recognises_parquet(head: &Head) -> bool {
    head.start.starts_with(parquet::MAGIC)
}

fn recognises_csv(head: &Head) -> bool {
    csv::delimiter(&head.line).is_some()
}

/// The first line is an object whose keys are columns of a table.
fn recognises_jsonl(head: &Head) -> bool {
    head.timed_events == 0 && columns::is_table(head.keys.iter().map(String::as_str))
}
