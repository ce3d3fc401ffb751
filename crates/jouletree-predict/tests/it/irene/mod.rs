//! The predictors of measured trees, from outside.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod predicting;
mod published;
mod reading;
