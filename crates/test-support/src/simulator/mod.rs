//! Programs whose every operation has a known power, seen through realistic sensors: what an attribution policy is tried on.
//!
//! A [`Program`](program::Program) repeats a training step of a transformer. [`Device`](power::Drawn) power is that of the idle
//! device and of all that is active. A [`Sensor`](sensor::Sensor) reads its energy with lag, blur and noise.

pub mod power;
pub mod program;
pub mod random;
pub mod scenarios;
pub mod score;
pub mod sensor;
