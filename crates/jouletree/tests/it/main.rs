//! The tests of this crate from outside, in one program: linking it is what takes time.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod anonymous;
mod arrows;
mod bad_input;
mod calibrated;
mod called;
mod calls;
mod carbon;
mod card;
mod collector;
mod common;
mod daemon;
mod decoded;
mod doctor;
mod endings;
mod estimate;
mod expected;
mod export;
mod figures;
mod folders;
mod golden;
mod impact;
mod json_doc;
mod live;
mod logging;
mod patch;
mod predict;
mod predictor;
mod readme;
mod record;
mod recorded;
mod run;
mod sample;
mod serve;
mod show;
mod terminal;
mod top;
mod tradeoff;
mod version1;
mod whole;
mod windows;
