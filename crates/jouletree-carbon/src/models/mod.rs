//! What other trackers assume where nothing is metered, for comparison with them. jouletree's own model of a machine
//! without meters is in `jouletree-meter`.

pub mod cpu;
pub mod ram;
