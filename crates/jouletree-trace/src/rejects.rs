//! Events that cannot be used: what is wrong with them, how many there are and where the first is.

use std::collections::BTreeMap;

use jouletree_model::{Nanos, Warning};

use crate::chrome::ChromeEvent;
use crate::json::nanos_from_micros;

/// The rejected events of a file.
#[derive(Debug, Default)]
pub(crate) struct Rejects {
    /// How many there are of each sort, and the byte at which the first begins.
    sorts: BTreeMap<&'static str, (u64, u64)>,
}

impl Rejects {
    /// Rejects the event at byte `offset`.
    pub(crate) fn note(&mut self, what: &'static str, offset: u64) {
        self.sorts.entry(what).or_insert((0, offset)).0 += 1;
    }

    /// When the event ran, by the file's own clock; `None` when it does not say, and then it is rejected.
    pub(crate) fn extent(&mut self, event: &ChromeEvent<'_>, offset: u64) -> Option<(Nanos, Nanos)> {
        let (Some(start), Some(duration)) = (nanos_from_micros(event.ts), nanos_from_micros(event.dur)) else {
            self.note("without a readable start and duration", offset);
            return None;
        };
        if duration < 0 {
            self.note("with a negative duration", offset);
            return None;
        }
        Some((Nanos(start), Nanos(start) + Nanos(duration)))
    }

    /// What the user should know about them.
    pub(crate) fn warnings(&self, file: &str) -> Vec<Warning> {
        let warning = |(what, (count, offset)): (&&'static str, &(u64, u64))| {
            let message = format!("{count} events {what} are left out; the first is here");
            Warning::new(file, message).at(format!("byte {offset}"))
        };
        self.sorts.iter().map(warning).collect()
    }
}
