//! The station: one sampler, and any number of sessions that are served from it.
//!
//! A recording, the live view and the daemon all read energy in this one way. A [`Session`] watches a process tree, or
//! just the machine, and gives [`Batch`]es. As long as there is no session, sensors are read once a second, so that no
//! counter wraps unseen; with sessions, as often as the most demanding one wants, and each gets what it asked for. A
//! session that nobody empties loses its oldest batches, is told how many, and holds up nobody.

mod batch;

pub use batch::{Batch, Ending, GpuSample};
