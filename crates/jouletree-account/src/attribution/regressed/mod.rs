//! `regressed`: the power of operations that are far shorter than a reading of the meter.

mod columns;
mod errors;
mod estimate;
mod fit;
mod kernel;
mod linear;
mod noise;
mod options;
mod refine;
mod rows;
mod search;
mod shares;
mod statistics;
mod validate;
mod windows;

#[cfg(test)]
#[path = "golden_tests.rs"]
mod golden_tests;
