//! The energy of single calls: what a call used beyond idling, what its tail used after it, what calls inside calls used,
//! and the statistics by which calls of many runs are compared.
//!
//! The exact rule ([`CallMeter`]) reads cumulative energy at the call's own times. [`fecom`] repeats the rule of the FECoM
//! study for comparison with its numbers, faults included.

pub mod compare;
pub mod fecom;
mod hypothesis;
mod nesting;
mod net;
mod noise;
mod quiet;
mod sampled;
mod shapiro;
mod sizes;
mod stability;
mod summary;
mod tail;
mod wilcoxon;

pub use hypothesis::{Correlation, TestError, pearson};
pub use nesting::{Nested, nested};
pub use net::{Baseline, BelowResolution, CallMeter, NetEnergy, NetRule};
pub use quiet::{occupied, quiet};
pub use sampled::{resampled, series_of};
pub use shapiro::{Normality, shapiro_wilk};
pub use sizes::{Line, line};
pub use stability::{
    Decision, IdleBand, Limits, StabilityCheck, StabilityLimits, Steadiness, Trace, Unstable, disjoint_variation,
    sliding_variation,
};
pub use summary::Summary;
pub use tail::{Tail, TailRule};
pub use wilcoxon::{SignedRank, wilcoxon_greater};
