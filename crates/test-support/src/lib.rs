//! What the tests of several crates share: the development data, made-up recordings, trees and machines, and programs to
//! test against. It is for tests alone and panics where a test would.

#![allow(missing_docs, clippy::expect_used, clippy::panic, clippy::unwrap_used)]

pub mod development;
pub mod made_trees;
#[cfg(feature = "powercap")]
pub mod powercap;
pub mod prometheus;
pub mod proto;
#[cfg(feature = "recordings")]
pub mod recordings;
#[cfg(feature = "simulator")]
pub mod simulator;
