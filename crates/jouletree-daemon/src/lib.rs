//! The daemon: energy for those who may not read the meters themselves.
//!
//! One process with the right to read counters serves any number of clients over gRPC, from the one sampler of a
//! [`Station`](jouletree_meter::station::Station). [`serve`] is the daemon; [`client`] is the way to it. What a client
//! may see is decided in [`policy`] from what the kernel says of it. Batches wait until the client says that it has
//! them, so that a connection may break and nothing is lost; a client that does not keep up loses its own batches, is
//! receives the number of lost samples, and does not delay others.

mod accept;
pub mod client;
mod config;
mod connection;
mod connections;
pub mod nonsense;
mod owner;
pub mod policy;
mod serve;
mod service;
mod sessions;
mod smaragdine;
mod socket;
mod token;
pub mod wire;

pub use config::{Config, Limits, Tcp, Ways};
pub use serve::{ServeError, serve, serve_until};
pub use smaragdine::SmaragdineConfig;
pub use socket::{SocketError, SocketPlace};
pub use token::{Token, TokenError};
