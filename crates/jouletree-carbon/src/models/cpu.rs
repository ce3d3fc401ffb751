//! Powers of processors from their thermal design power, as CodeCarbon 3 computes them.
//!
//! They are bad: on the loads and counters that CodeCarbon published itself, the cubic law is 46 % off in the mean, since
//! measured servers are concave where it is convex. They are here so that old numbers can be compared with new ones.

use jouletree_model::Watts;

use crate::tables::Processors;

/// Watts per hardware thread of a processor that is in no table.
const UNKNOWN_W_PER_THREAD: f64 = 4.0;
/// The part of its design power that a processor is taken to draw where its load is not known.
const CONSTANT_PART: f64 = 0.5;

/// The whole machine at a load from 0 to 1: a tenth always, the rest with the third power of the load.
pub fn machine(tdp: Watts, load: f64) -> Watts {
    Watts(tdp.0 * (0.1 + 0.9 * load.clamp(0.0, 1.0).powi(3)))
}

/// One process that has a share of all processors' time: linear and without an idle part, so that processes do not add
/// up to the machine.
pub fn process(tdp: Watts, share: f64) -> Watts {
    Watts(tdp.0 * share.clamp(0.0, 1.0))
}

/// A machine whose load is not known.
pub fn constant(tdp: Watts) -> Watts {
    Watts(tdp.0 * CONSTANT_PART)
}

/// The design power of a processor by its name, else by its threads; and by what.
pub fn design_power(brand: &str, threads: usize) -> (Watts, String) {
    match Processors::find(brand) {
        Some((name, watts)) => (Watts(watts), format!("design power of {name}")),
        None => {
            let watts = Watts(UNKNOWN_W_PER_THREAD * threads as f64);
            (watts, format!("4 W for each of {threads} threads, as `{brand}` is in no table"))
        }
    }
}
