//! `equal`: active lanes share power equally.
//!
//! With P(t) the power and n(t) the number of active lanes, the cost is S(t) = ∫ P/n dt over the instants with n > 0, and a
//! segment is charged S(end) − S(start). What falls where n = 0 is unattributed. Nothing is estimated, so a charge has no
//! standard error of its own.

use jouletree_model::OpId;

use super::{Active, Observed, Policy, Shares};

/// The policy.
#[derive(Debug, Clone, Copy, Default)]
pub struct Equal;

/// Equal shares of the lanes of one device.
#[derive(Debug, Clone)]
pub struct EqualShares {
    /// 1/n for n active lanes, 0 for none.
    reciprocals: Vec<f64>,
}

impl EqualShares {
    /// Equal shares of at most this many lanes.
    pub fn of(lanes: usize) -> EqualShares {
        EqualShares { reciprocals: (0..=lanes).map(|n| if n == 0 { 0.0 } else { 1.0 / n as f64 }).collect() }
    }
}

impl Policy for Equal {
    type Fit = ();
    type Shares = EqualShares;

    fn fit(&self, _device: &Observed<'_>) {}

    fn shares(&self, _fit: &(), part: &Observed<'_>) -> EqualShares {
        EqualShares::of(part.lanes.len())
    }
}

impl Shares for EqualShares {
    type Weight = ();
    type Load = ();
    type Cost = f64;

    #[inline]
    fn weight(&self, _lane: usize, _op: OpId) {}

    #[inline]
    fn begin(&self, _load: (), _weight: ()) {}

    #[inline]
    fn end(&self, _load: (), _weight: ()) {}

    #[inline]
    fn cost(&self, _span: usize, energy: f64, active: Active<()>) -> f64 {
        energy * self.reciprocals[active.lanes]
    }

    #[inline]
    fn charge(&self, cost: f64, _weight: ()) -> f64 {
        cost
    }

    #[inline]
    fn unattributed(&self, _span: usize, idle: f64, _busy: f64) -> f64 {
        idle
    }

    #[inline]
    fn alone(&self, _span: usize, energy: f64, _weight: ()) -> f64 {
        energy
    }
}
