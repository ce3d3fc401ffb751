//! The tests of this crate from outside, in one program: linking it is what takes time.

#![allow(clippy::unwrap_used)]

mod alignment;
mod attribution;
mod charges;
mod simulated;
