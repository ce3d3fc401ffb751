//! A stand-in for NVIDIA's management library: **not a GPU**, and nothing it says is a measurement.
//!
//! As a shared library it has the functions that jouletree calls, and plays a [`Script`]: power over time, how often and
//! over what window it is shown, and what goes wrong when. As a Rust library it gives tests the script's types, the
//! energy that the script really uses in closed form, and a way to put a copy of the shared library with its script
//! where a test wants it.

mod abi;
mod install;
mod play;
mod power;
mod script;

pub use install::install;
pub use power::Power;
pub use script::{Busy, Gpu, Hang, Script};
