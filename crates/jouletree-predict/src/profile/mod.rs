//! What one machine taught about energy, and what it says of models that never ran there.
//!
//! A [`Sketch`] is a model as prediction sees it: primitives and glue by path, with sizes. Measured ones, from
//! calibrations ([`calibration`]) or from footprints ([`measured`]), train a [`Profile`]; any sketch can be asked of it.

mod branch;
mod breakdown;
mod calibration;
mod footprint;
mod measured;
mod parts;
mod predicted;
mod sketch;
mod trained;

pub use branch::Branch;
pub use breakdown::{BreakdownRow, by_kind, by_module};
pub use calibration::{Calibration, CalibrationError, CalibrationProtocol, MeasuredNode, MeasuredTree, Standby};
pub use footprint::{add_optimizer, as_footprint};
pub use measured::{FootprintError, input_size, measured_passes, optimizer_per_parameter};
pub use parts::ModelPart;
pub use predicted::{PerMillion, Predicted, PredictedNode, Total};
pub use sketch::{AttentionForm, NodeEnergy, Sketch};
pub use trained::{DeviceConstants, Profile, ProfileError, TrainedOn, TrainingTree};
