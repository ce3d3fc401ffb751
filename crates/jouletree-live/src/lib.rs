//! What is recorded, shown while it goes on: to a Prometheus server that asks, or to an OpenTelemetry collector.
//!
//! A [`Publisher`] takes the batches of a session beside the recorder and pins a [`Snapshot`] to a [`Board`] once a second.
//! From there it is taken by an [`Endpoint`], which answers scrapes, and by a [`Pusher`], which posts to a collector. Both
//! work on threads of their own: however slow a client is and whatever a collector answers, recording goes on.
//! [`families`] says which metrics there are; both outputs have the same ones.

mod address;
mod board;
mod codecarbon;
mod endpoint;
mod family;
mod hosts;
pub mod otlp;
mod publisher;
mod snapshot;
#[cfg(test)]
mod tests;
mod text;

pub use address::{AddressError, ListenAddress};
pub use board::Board;
pub use endpoint::{Endpoint, EndpointError};
pub use family::{Family, Kind, Point, Unit, families};
pub use otlp::Pusher;
pub use publisher::{Publisher, Shown};
pub use snapshot::{CarbonIntensity, Snapshot};
pub use text::{Exposition, exposition};

/// Names of other tools under which figures are also shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aliases {
    /// `codecarbon_…`, in CodeCarbon's units.
    CodeCarbon,
}
