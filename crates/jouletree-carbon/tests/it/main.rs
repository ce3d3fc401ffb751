//! The tests of this crate from outside, in one program: linking it is what takes time.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod reference;
