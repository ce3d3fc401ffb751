//! The tests of this crate from outside, in one program: linking it is what takes time.

#![allow(clippy::panic, clippy::unwrap_used)]

mod common;
mod security;
mod sessions;
mod smaragdine;
mod users;
mod wire;
