//! The tests of this crate from outside, in one program: linking it is what takes time.

#![allow(clippy::unwrap_used)]

mod calls;
mod damage;
mod fecom;
mod power_csv;
mod recording;
mod recovery;
mod run_folder;
mod sample;
mod station;
