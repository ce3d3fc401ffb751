//! `regressed`: the power of operations that are far shorter than a reading of the meter.

mod classify;
mod columns;
mod errors;
mod estimate;
mod fit;
mod kernel;
mod linear;
mod noise;
mod options;
mod policy;
pub mod probe;
mod refine;
mod restore;
mod rows;
mod search;
mod shares;
mod statistics;
mod validate;
mod windows;

pub use policy::{Regressed, RegressedShares};

#[cfg(test)]
#[path = "golden_tests.rs"]
mod golden_tests;
