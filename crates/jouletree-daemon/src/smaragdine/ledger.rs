//! How much memory all recordings take together: bounded, for all clients together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// All recordings together take no more: an hour of a process of 64 threads at 10 ms.
const MOST_BYTES: usize = 512 << 20;

/// The bytes of all recordings.
#[derive(Debug, Clone, Default)]
pub(super) struct Ledger(Arc<AtomicUsize>);

/// The bytes of one of them, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Account {
    ledger: Ledger,
    bytes: usize,
}

impl Ledger {
    pub(super) fn open(&self) -> Account {
        Account { ledger: self.clone(), bytes: 0 }
    }
}

impl Account {
    /// Whether so many bytes more may be used; if so, they are.
    pub(super) fn draw(&mut self, bytes: usize) -> bool {
        let more = |all: usize| all.checked_add(bytes).filter(|all| *all <= MOST_BYTES);
        let drawn = self.ledger.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok();
        self.bytes += if drawn { bytes } else { 0 };
        drawn
    }

    /// So many bytes are used no more.
    pub(super) fn give_back(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.ledger.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.ledger.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_can_be_drawn_again() {
        let ledger = Ledger::default();
        let (mut first, mut second) = (ledger.open(), ledger.open());
        assert!(first.draw(MOST_BYTES - 1) && second.draw(1));
        assert!(!second.draw(1) && !first.draw(usize::MAX));
        first.give_back(7);
        assert!(second.draw(7) && !second.draw(1));
        first.give_back(usize::MAX);
        drop(first);
        assert!(second.draw(MOST_BYTES - 8) && !second.draw(1));
    }
}
