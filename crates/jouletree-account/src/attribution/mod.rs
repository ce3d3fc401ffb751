//! Attribution: which policy decides what an operation is charged with, and what a policy is.
//!
//! The kernel (the sweep for footprints, the walk over events for timelines) goes through the lanes and the power of a device
//! in order of time. Between two boundaries the set of active lanes and the power are constant. For each such piece of time it
//! asks the policy for a *cost*, adds costs up, and hands the policy the difference between the end and the start of a
//! segment, which the policy turns into joules. So a policy is called for pieces and segments, never for pairs of them, and
//! the kernel stays linear in the number of boundaries.
//!
//! A policy works in three steps:
//! 1. [`Policy::fit`] sees all of a device's operations and power once. A policy that needs no data returns `()`.
//! 2. [`Policy::shares`] sees the part of it that is charged next: all, or one stage of the program.
//! 3. [`Shares`] prices pieces of time, turns costs into joules, says what is unattributed, and how uncertain a charge is.
//!
//! Beside this a policy may move energy in time where the sensor is late ([`Policy::series`]), say how the errors of its charges
//! go together ([`Policy::errors`]), and what it did and why ([`Policy::explanation`]).
//!
//! A policy conserves energy: for every span of power, what it charges and what it leaves unattributed is the energy of the
//! span. `tests/attribution.rs` checks that for every policy in [`Attribution::ALL`].
//!
//! To add a policy: write its file beside this one, add it to [`Attribution`] and to `with_policy!` here.

mod equal;
mod observed;
mod regressed;

use std::collections::BTreeMap;
use std::fmt::{self, Debug};
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;
use std::sync::Arc;

use jouletree_model::{DeviceErrors, EnergySeries, ErrorModel, ErrorSum, Explanation, Joules, OpError, OpId};

pub use equal::{Equal, EqualShares};
pub(crate) use observed::Numbers;
pub use observed::{Observed, Piece};
#[doc(hidden)]
pub use regressed::probe;
pub use regressed::{Regressed, RegressedShares};

use crate::OpTally;

/// The policies a user can choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Attribution {
    /// Active lanes share power equally, as in the Smaragdine paper.
    #[default]
    Equal,
    /// By powers of operations that are estimated from the readings of the run, where these support it.
    Regressed,
    /// [`Attribution::Regressed`] where it predicts left-out readings better, [`Attribution::Equal`] elsewhere.
    Auto,
}

/// Runs `$work` with `$policy` bound to the policy of that name: every policy has its own copy of the kernel.
macro_rules! with_policy {
    ($attribution:expr, $policy:ident => $work:expr) => {
        match $attribution {
            $crate::Attribution::Equal => {
                let $policy = &$crate::attribution::Equal;
                $work
            }
            $crate::Attribution::Regressed | $crate::Attribution::Auto => {
                let $policy = &$crate::attribution::Regressed;
                $work
            }
        }
    };
}
pub(crate) use with_policy;

impl Attribution {
    /// All of them.
    pub const ALL: &[Attribution] = &[Attribution::Equal, Attribution::Regressed, Attribution::Auto];

    /// Its name on the command line and in manifests.
    pub fn as_str(self) -> &'static str {
        match self {
            Attribution::Equal => "equal",
            Attribution::Regressed => "regressed",
            Attribution::Auto => "auto",
        }
    }
}

impl fmt::Display for Attribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A name that is not that of a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown attribution policy `{0}`; this version knows: {known}", known = known())]
pub struct UnknownAttribution(pub String);

fn known() -> String {
    Attribution::ALL.iter().map(|policy| policy.as_str()).collect::<Vec<_>>().join(", ")
}

impl FromStr for Attribution {
    type Err = UnknownAttribution;

    fn from_str(name: &str) -> Result<Attribution, UnknownAttribution> {
        let found = Attribution::ALL.iter().find(|policy| policy.as_str() == name);
        found.copied().ok_or_else(|| UnknownAttribution(name.to_owned()))
    }
}

/// A rule by which the energy of a device is charged to the operations that ran on it.
pub trait Policy: Sync {
    /// What it learns from all of a device's operations and power; `()` where it needs no data.
    type Fit: Send + Sync;
    /// How it shares the energy of one device during one part of the program.
    type Shares: Shares;

    /// Learns from one device. The spans are those of the whole series, not cut at stages.
    fn fit(&self, device: &Observed<'_>) -> Self::Fit;

    /// Prepares to charge the spans of `part`, to which [`Shares`] refers by their index.
    fn shares(&self, fit: &Self::Fit, part: &Observed<'_>) -> Self::Shares;

    /// The energy of the device when it was used, where the policy found that the sensor is late or blurs: the same energy in
    /// all, moved in time. It takes the place of what was read from then on; [`Policy::shares`] sees its spans.
    fn series<'f>(&self, _fit: &'f Self::Fit) -> Option<&'f EnergySeries> {
        None
    }

    /// How the errors of charges go together, where the policy knows it.
    fn errors(&self, _fit: &Self::Fit) -> Option<Errors> {
        None
    }

    /// What the policy did on the device and why, where there was a choice.
    fn explanation(&self, _fit: &Self::Fit) -> Option<Explanation> {
        None
    }
}

/// How the errors of what operations were charged with on a device go together.
#[derive(Debug, Clone, PartialEq)]
pub struct Errors {
    /// What the charge of each operation follows.
    pub ops: BTreeMap<OpId, OpError>,
    /// How powers go together.
    pub model: Arc<ErrorModel>,
}

impl Errors {
    /// The error of a charge of an operation; `None` where it is not known.
    pub fn of(&self, op: OpId, energy: Joules) -> Option<ErrorSum> {
        Some(self.model.charge(*self.ops.get(&op)?, energy))
    }

    /// The same as a footprint keeps it.
    pub(crate) fn on(self, device: usize) -> DeviceErrors {
        DeviceErrors { device, ops: self.ops, model: self.model }
    }
}

/// How the energy of one device is shared.
pub trait Shares: Send + Sync {
    /// What distinguishes one active operation from another: `()` where all are alike.
    type Weight: Copy + Default + Send;
    /// What the active lanes sum up to, beside their number; `()` where the number is all that counts. A sum of weights that
    /// are not whole numbers loses precision as lanes come and go.
    type Load: Copy + Default + Send;
    /// What being active costs, before it is known who is charged; in joules, or a vector of them.
    type Cost: Copy + Default + Send + AddAssign + Add<Output = Self::Cost> + Sub<Output = Self::Cost>;

    /// The weight of an operation on a lane, whose index is that in [`Observed::lanes`].
    fn weight(&self, lane: usize, op: OpId) -> Self::Weight;

    /// The load after an operation of this weight became active.
    fn begin(&self, load: Self::Load, weight: Self::Weight) -> Self::Load;

    /// The load after an operation of this weight ended.
    fn end(&self, load: Self::Load, weight: Self::Weight) -> Self::Load;

    /// The cost of a piece of time in which the device used `energy` joules; called with no active lane, too.
    fn cost(&self, span: usize, energy: f64, active: Active<Self::Load>) -> Self::Cost;

    /// The joules of an operation of this weight that was active while costs grew by `cost`.
    fn charge(&self, cost: Self::Cost, weight: Self::Weight) -> f64;

    /// What is charged to no operation of the `idle` joules that a span used without and the `busy` ones it used with an active
    /// lane. May be called several times for one span, each time with a part of it.
    fn unattributed(&self, span: usize, idle: f64, busy: f64) -> f64;

    /// The charge for a piece of time on a device with one lane only, where the kernel needs no sums of costs.
    #[inline]
    fn alone(&self, span: usize, energy: f64, weight: Self::Weight) -> f64 {
        let active = Active { lanes: 1, load: self.begin(Self::Load::default(), weight) };
        self.charge(self.cost(span, energy, active), weight)
    }

    /// The standard error of what an operation was charged with, apart from the common factor by which all energies of the
    /// device may be off; `None` where the policy does not know it.
    fn standard_error(&self, _op: OpId, _charged: &OpTally) -> Option<Joules> {
        None
    }
}

/// What is active on a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Active<L> {
    /// How many lanes.
    pub lanes: usize,
    /// What they sum up to, as the policy counts it.
    pub load: L,
}
