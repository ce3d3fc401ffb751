//! The tests of this crate from outside, in one program: linking it is what takes time.

#![allow(clippy::expect_used, clippy::panic)]

mod common;
mod constructs;
mod fecom;
mod generated;
mod generated_programs;
mod mutated_programs;
mod notebooks;
mod projects;
mod resolution;
