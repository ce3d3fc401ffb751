//! The protocols: what `proto/` defines, and how it becomes what the meters speak.
//!
//! Whatever arrives is checked before it is believed: columns of unequal lengths, sensors beyond 16 bits or devices
//! that are none are errors, and never a panic.

mod batch;
mod columns;
mod incident;
mod info;
mod log;

pub use batch::{pack, unpack};
pub use incident::{anchor, anchor_from, incident, incident_from};
pub use info::{ending, ending_from, sensor, sensor_from, stats, stats_from};

/// The messages of `jouletree.v1`.
#[allow(missing_docs, clippy::all, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
pub mod v1 {
    include!("generated/jouletree.v1.rs");
}

/// The messages of the published Smaragdine daemon.
#[allow(missing_docs, clippy::all, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
pub mod smaragdine {
    include!("generated/smaragdine.protos.sample.rs");
}

/// A message that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// It is not even a message.
    #[error("it is no message of this protocol ({0}); use a client and a daemon of one version")]
    Encoding(#[from] prost::DecodeError),
    /// A column is shorter or longer than its neighbours.
    #[error("a column of {0} does not fit its neighbours; use a client and a daemon of one version")]
    Columns(&'static str),
    /// A value that cannot be.
    #[error("it has no sensible {0}; use a client and a daemon of one version")]
    Value(&'static str),
}
