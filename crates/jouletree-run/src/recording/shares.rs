//! The shares that hold at some stretch of time: read on as far as needed, forgotten when they are past.

use std::path::Path;

use jouletree_model::Warning;
use jouletree_model::sampling::Mono;
use jouletree_series::share::{ShareBook, ShareReport};

use crate::journal::{Row, StreamIn};

/// The shares of each socket, or of each GPU, as a journal has them.
pub(super) struct Shares<R> {
    stream: StreamIn<R>,
    book: ShareBook,
}

impl<R: Row + ShareReport> Shares<R> {
    pub(super) fn open(run: &Path) -> Shares<R> {
        Shares { stream: StreamIn::open(run), book: ShareBook::default() }
    }

    /// Reads on until shares are known up to an instant, and forgets those that ended before another.
    pub(super) fn between(&mut self, oldest: Mono, newest: Mono) {
        self.book.forget_before(oldest);
        while self.book.reached().is_none_or(|reached| reached < newest) {
            let Some(rows) = self.stream.next() else { return };
            rows.iter().for_each(|row| self.book.note(row));
        }
    }

    pub(super) fn book(&self) -> &ShareBook {
        &self.book
    }

    /// What was lost of them, after all were read.
    pub(super) fn warning(&mut self, run: &Path) -> Option<Warning> {
        while self.stream.next().is_some() {}
        self.stream.warning(run)
    }
}
