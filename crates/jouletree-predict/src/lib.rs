//! The energy of a model before it runs: what theory says of its operators, what measured layers say of others, and what
//! measured trees say of a tree that never ran here.
//!
//! Everything here is predicted, and says so; nothing of it is measured.

pub mod irene;
pub mod layers;
mod non_negative;
pub mod operators;
pub mod profile;
pub mod theory;
pub mod tradeoff;
