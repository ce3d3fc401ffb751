//! Energy split by shares: who used what a socket or a GPU used. Nothing is lost: the parts make the whole.

mod book;
mod cut;
mod retention;
mod split;
#[cfg(test)]
mod split_tests;
mod waiting;

pub use book::{ShareBook, ShareReport};
pub use cut::Cut;
pub use retention::Retention;
pub use split::{Increment, Split, split};
pub use waiting::{AwaitingShares, Ends, SharesLate};
