//! The tests of this crate from outside, in one program: linking it is what takes time.

#![allow(clippy::expect_used, clippy::panic)]

mod chrome_other;
mod documents;
mod generic;
mod kineto;
mod model_file;
mod nsys;
mod onnxruntime;
mod onnxruntime_data;
mod readers;
mod run_metadata;
mod spaces;
mod tensorflow;
mod xplane;
mod xplane_damage;
mod xplane_data;
