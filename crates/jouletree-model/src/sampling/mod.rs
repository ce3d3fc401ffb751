//! The vocabulary of sampling: instants, sensors, samples, and everything that a session brings in a batch.
//!
//! These types are what meters produce, what the daemon sends, what a journal stores and what series are made of. None of
//! them reads anything: clocks are read in `jouletree-host`, sensors in `jouletree-meter`.

mod batch;
mod clock;
mod gpu;
mod incident;
mod resources;
mod sample;
mod sensor;
mod share;
mod stats;

pub use batch::{Batch, Ending};
pub use clock::{Anchor, Anchors, Mono, was_set};
pub use gpu::{GpuSample, GpuShare, GpuUse, ShareBasis};
pub use incident::{Incident, What};
pub use resources::ResourceSample;
pub use sample::{Flags, Sample, mark_gaps};
pub use sensor::{Bounds, Quality, SensorInfo};
pub use share::ShareSample;
pub use stats::{Class, Stats};
