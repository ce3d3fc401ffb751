//! Energy split by shares: who used what a socket or a GPU used. Nothing is lost: the parts make the whole.

mod book;
mod cut;
mod split;
#[cfg(test)]
mod split_tests;

pub use book::{ShareBook, ShareReport};
pub use cut::Cut;
pub use split::{Increment, Split, split};
