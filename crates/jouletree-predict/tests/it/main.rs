//! The tests of this crate from outside, in one program: linking it is what takes time.

#![allow(clippy::panic, clippy::unwrap_used)]

mod documented;
mod irene;
mod layers;
mod profile;
mod synthetic_layers;
mod theory;
