//! Where the joules go: aligns what ran with what was drawn, and views of the result.
//!
//! Pure mathematics over the types of `jouletree-model`; it knows nothing of where the data came from. The invariant
//! is conservation: attributed + unattributed = measured, for every device.

mod activity;
mod align;
pub mod attribution;
mod charges;
mod cursor;
mod energy_index;
mod merge;
mod own_ops;
mod paper;
mod parts;
mod rules;
mod self_time;
mod sweep;
mod tally;

pub use activity::{Activity, activity};
pub use align::{AccountError, Metered, account, account_by, account_with, on_host_of, tally_device};
pub use attribution::{Attribution, UnknownAttribution};
pub use charges::{Charge, ChargeVisitor, charge_events, charge_events_by, charge_events_with};
pub use energy_index::EnergyIndex;
pub use jouletree_model::{Rule, Semantics};
pub use rules::{RuleError, energy_series, rule_for_unit};
pub use tally::{OpTally, StepTally, Tally};

mod blocks;
pub mod calls;
mod flow;
mod hosting;
mod labels;
mod paths;
#[cfg(test)]
mod samples;
mod shares;
mod spreads;
mod summarize;
mod tef;
mod tree;

pub use flow::{Arrow, TensorEdge, is_earlier, numbered, tensor_edges};
pub use labels::{Labels, label, named};
pub use paths::components;
pub use shares::Shares;
pub use spreads::Spreads;
pub use summarize::{Folding, t2a};
pub use tef::{Tef, TefEntry, TypeEnergy};
pub use tree::{EnergyTree, t2e};
