//! What theory says of a model: four elementary operations, their costs, and memory traffic as a bracket.
//!
//! The conventions are `wh1` (docs/theory.md). Joules of theory are an order of magnitude and a ranking, never a
//! measurement; one measured run ties them to a machine ([`Calibration`]).

mod calibrate;
mod costs;
mod estimate;

pub use calibrate::{Calibration, CalibrationError};
pub use costs::{AccessCost, CostError, Costs, OperationCosts, Picojoules};
pub use estimate::{Bits, Bracket, Estimate, OperatorEstimate, Traffic, UnknownBits, estimate};
