//! The state behind `top`: [`Watching`] reads the meters, [`State`] makes a [`view::View`] of what they bring and knows
//! nothing of terminals.

mod command;
pub mod cpu_socket;
mod gauge;
pub mod history;
pub mod ledger;
mod state;
pub mod view;
mod watching;

pub use command::Command;
pub use state::{State, Subject};
pub use watching::Watching;
